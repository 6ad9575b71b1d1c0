"""A policy's success on the desk by the number of weak links that a task needs, for whoever trains the shipped policy.

    OMP_NUM_THREADS=1 python -m coevolve.environments.desk.policy_report runs/worlds/RUN/policy --seed 33 --clustering "consuming app"

`--seed` and `--clustering` are those of the base policy that the run began with: they say which links were weak.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from coevolve import Message, Task, perform, printable

from .compose import plan_of
from .demonstrations import CLUSTERINGS, Habit, demonstrate, links_of, weak_links
from .environment import Desk, DeskOptions
from .episode import DeskEpisode
from .generator import plan_with, word
from .tokens import encode_episode
from .tools import LINKS
from .wording import HELD_OUT_FRAMES

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

LONGEST = 14
"""Most tokens in a completion."""
REQUESTS = 8
"""Requests for each link in `link_rates`."""


def successes(
    model: "LlamaForCausalLM", tokenizer: "PreTrainedTokenizerFast", desk: Desk, tasks: Sequence[Task], sampled: bool = False
) -> list[float]:
    """The score of one rollout of each task, in [0, 1]; greedy, or sampled at temperature 1 (seed torch before)."""
    import torch

    episodes = [desk.open(task) for task in tasks]
    texts = [_render(tokenizer, e.messages) for e in episodes]
    live, sampling = list(range(len(tasks))), {"do_sample": True, "top_k": 0} if sampled else {"do_sample": False}
    while live:
        inputs = tokenizer([texts[i] for i in live], return_tensors="pt", padding=True, return_token_type_ids=False)
        with torch.no_grad():
            out = model.generate(**inputs, max_new_tokens=LONGEST, **sampling)
        written = tokenizer.batch_decode(out[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        live = [i for i, text in zip(live, written, strict=True) if not _advance(episodes[i], texts, i, text)]
    return [episode.score() for episode in episodes]


def _render(tokenizer: "PreTrainedTokenizerFast", messages: Sequence[Message]) -> str:
    return str(tokenizer.apply_chat_template([dict(m) for m in messages], tokenize=False, add_generation_prompt=True))


def _advance(episode: DeskEpisode, texts: list[str], i: int, text: str) -> bool:
    observation = episode.step(text)
    texts[i] += f"{text}<end>" + "".join(f"<{m['role']}>{m['content']}<end>" for m in observation.messages) + "<assistant>"
    return observation.done


def weak_in(desk: Desk, task: Task, habits: Mapping[tuple[str, str], Habit]) -> int:
    """How many weak links the task's solution needs."""
    with desk.open(task) as episode:
        steps = [step for seen in perform(episode, desk.script(task.solution)) for step in seen.steps]
    return sum(link in habits for link in links_of(plan_of(steps)))


def link_rates(model: "LlamaForCausalLM", tokenizer: "PreTrainedTokenizerFast") -> dict[tuple[str, str], tuple[float, bool]]:
    """For each link: the probability that the lookup's call is right when the calls before it are, the mean over REQUESTS requests, and
    whether greedy decoding writes it in most of them."""
    import torch

    rng, found = random.Random(0), dict[tuple[str, str], tuple[float, bool]]()
    for producer, consumer in LINKS:
        episodes = []
        for _ in range(REQUESTS):
            plan = plan_with(rng, producer, consumer)
            calls = demonstrate(plan, rng.getrandbits(31), {}, rng)
            tokens, _, places = encode_episode(tokenizer, word(plan, rng, HELD_OUT_FRAMES), calls)
            episodes.append((tokens, places[next(i for i, (call, _) in enumerate(calls) if call.split()[0] == producer)]))
        width = max(len(tokens) for tokens, _ in episodes)
        ids = torch.tensor([[*tokens, *[0] * (width - len(tokens))] for tokens, _ in episodes])
        with torch.no_grad():
            logs = model(input_ids=ids).logits.log_softmax(-1)
        written = [
            (logs[row, place.start - 1 : place.stop - 1], ids[row, place.start : place.stop]) for row, (_, place) in enumerate(episodes)
        ]
        right = [float(of.gather(1, tokens[:, None]).sum().exp()) for of, tokens in written]
        greedy = [bool((of.argmax(-1) == tokens).all()) for of, tokens in written]
        found[producer, consumer] = sum(right) / REQUESTS, 2 * sum(greedy) > REQUESTS
    return found


def link_report(rates: Mapping[tuple[str, str], tuple[float, bool]], name: str, links: Collection[tuple[str, str]]) -> str:
    """One line about some links: how often the lookup is right when sampled (mean, tenth and ninetieth percentile), and greedily."""
    sampled = sorted(rates[link][0] for link in links)
    low, high = (sampled[min(len(sampled) - 1, int(len(sampled) * share))] for share in (0.1, 0.9))
    greedy = sum(rates[link][1] for link in links)
    return f"{name}: sampled {sum(sampled) / len(sampled):.3f} ({low:.2f} to {high:.2f}), greedy right on {greedy} of {len(links)}"


def report(
    model: "LlamaForCausalLM",
    tokenizer: "PreTrainedTokenizerFast",
    habits: Mapping[tuple[str, str], Habit],
    former: Collection[tuple[str, str]] = (),
) -> str:
    """Success on the weak links, the others, and those that are weak no longer (`former`); greedy and sampled success on "train", "dev" and
    "test", overall and by number of weak links. One line each."""
    import torch

    torch.manual_seed(0)
    desk, rates = Desk(DeskOptions()), link_rates(model, tokenizer)
    kinds = {"weak links": habits, "other links": set(LINKS) - set(habits), "weak before": set(former) - set(habits)}
    lines = [link_report(rates, kind, links) for kind, links in kinds.items() if links]
    for split in desk.splits():
        tasks = desk.tasks(split)
        weak = [weak_in(desk, task, habits) for task in tasks]
        for sampled in (False, True):
            scores, by_weak = successes(model, tokenizer, desk, tasks, sampled), defaultdict[int, list[float]](list)
            for count, score in zip(weak, scores, strict=True):
                by_weak[count].append(score)
            parts = "  ".join(f"{n} weak {sum(s) / len(s):.3f} of {len(s)}" for n, s in sorted(by_weak.items()))
            how = "sampled" if sampled else "greedy"
            lines.append(f"{split} {how}: {sum(scores) / len(scores):.3f}  ({parts})")
    return "\n".join(lines)


def main() -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    parser = argparse.ArgumentParser(description="Report a policy's success on the desk by weak links.")
    parser.add_argument("policy", help="folder of the policy")
    parser.add_argument("--seed", type=int, default=0, help="base seed, which draws the weak links")
    parser.add_argument("--clustering", choices=CLUSTERINGS, default=CLUSTERINGS[0], help="what the weak links have in common")
    given = parser.parse_args()
    model: Any = AutoModelForCausalLM
    tokenizer: Any = AutoTokenizer
    policy = model.from_pretrained(given.policy, local_files_only=True).float().eval()
    text = report(policy, tokenizer.from_pretrained(given.policy, local_files_only=True), weak_links(given.seed, given.clustering))
    for line in text.splitlines():
        print(printable(line))


if __name__ == "__main__":
    main()
