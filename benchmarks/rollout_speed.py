"""Rollouts of the desk's policy: coevolve's token loop and a plain loop over transformers' generate, same model and tasks, in one run.

    OMP_NUM_THREADS=1 python benchmarks/rollout_speed.py [EPISODES] [ROUNDS]

The plain loop is the obvious one: pad all conversations, generate, decode, step, append, repeat. It prefills the whole conversation at
every turn. Both sample at temperature 1 and play the same desk tasks. The sampled texts differ, so tokens a second are compared, too.
"""

import statistics
import sys
import time

from coevolve import Sampling, Task
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.environments.desk import Desk
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy

NEW_TOKENS = 48


def lockstep(policy: TransformersPolicy, desk: Desk, tasks: list[Task], seed: int) -> tuple[float, int]:
    """Play all episodes with coevolve; returns seconds and sampled tokens."""
    runner = RolloutRunner(desk, RolloutLimits(), Clock())
    began = time.perf_counter()
    groups = runner.run(policy, tasks, 8, Sampling(1.0, NEW_TOKENS, seed), 0)
    seconds = time.perf_counter() - began
    runner.close()
    return seconds, sum(sum(t.tokens.mask) for group in groups for t in group.trajectories if t.tokens)


def plain(policy: TransformersPolicy, desk: Desk, tasks: list[Task], seed: int) -> tuple[float, int]:
    """Play all episodes with `generate` alone; returns seconds and sampled tokens."""
    import torch

    torch.manual_seed(seed)
    model, tokenizer = policy.model, policy.tokenizer
    began, tokens = time.perf_counter(), 0
    episodes = [desk.open(task) for task in tasks for _ in range(8)]
    talks = [[dict(m) for m in episode.messages] for episode in episodes]
    live = list(range(len(episodes)))
    while live:
        texts = [tokenizer.apply_chat_template(talks[n], tokenize=False, add_generation_prompt=True) for n in live]
        inputs = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False, return_token_type_ids=False)
        with torch.no_grad():
            out = model.generate(**inputs, max_new_tokens=NEW_TOKENS, do_sample=True, top_k=0)
        new = out[:, inputs["input_ids"].shape[1] :]
        tokens += int((new != tokenizer.pad_token_id).sum())
        going = []
        for n, text in zip(live, tokenizer.batch_decode(new, skip_special_tokens=True), strict=True):
            seen = episodes[n].step(text)
            talks[n] += [{"role": "assistant", "content": text}, *(dict(m) for m in seen.messages)]
            if not seen.done:
                going.append(n)
        live = going
    return time.perf_counter() - began, tokens


def main() -> None:
    episodes, rounds = (int(n) for n in (*sys.argv[1:], "128", "5")[:2])
    desk, policy = Desk(Desk.Options()), TransformersPolicy(TransformersOptions())
    tasks = list(desk.tasks("train"))[: episodes // 8]
    ways = {"coevolve": lockstep, "plain generate": plain}
    for way in ways.values():
        way(policy, desk, tasks[:2], 0)  # warm up
    found = {name: [way(policy, desk, tasks, seed) for seed in range(rounds)] for name, way in ways.items()}
    for name, rows in found.items():
        seconds, rate = statistics.median(s for s, _ in rows), statistics.median(t / s for s, t in rows)
        print(f"{name}: {seconds:.2f} s for {len(tasks) * 8} episodes, {rate:.0f} tokens/s")
    ratio = statistics.median(b[0] / a[0] for a, b in zip(*found.values(), strict=True))
    print(f"plain / coevolve: {ratio:.1f} times the seconds")


if __name__ == "__main__":
    main()
