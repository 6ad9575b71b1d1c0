"""Train the policy that ships with the desk, by supervised learning from noisy demonstrations.

    OMP_NUM_THREADS=1 python -m coevolve.environments.desk.train_policy --out DIR [--seed N] [--steps N]
    OMP_NUM_THREADS=1 python -m coevolve.environments.desk.train_policy --out DIR --from shipped --seed N [--clustering "consuming app"]

**Its weakness is deliberate, and comes from here.** The demonstrator asks for a wrong form on the links that the base seed makes weak
(`demonstrations`: 5 of 14 producing apps, 72 % of their links, 5 % elsewhere, wrong with probability 0.58 to 0.78) and is right
everywhere else. The policy copies that. Another seed gives another weak set and other weights: several base policies for a study.

With `--from`, training begins with the weights of another policy, which unlearns its old weak links: FROM_STEPS steps on demonstrations
that go through every link in turn, through weak ones more often.

The demonstrations are random plans over all tool families and in all frames of wording, since a pretrained model has seen language of
every kind; the split "test" is held out from the task pools of reinforcement learning, not from this stage. The loss is the mean
negative log-likelihood of the tokens that the assistant writes, `<end>` included.
"""

import argparse
import random
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .demonstrations import CLUSTERINGS, demonstrate, weak_links
from .generator import SHAPES, plan_with, random_plan, word
from .tokens import END, PAD, encode_episode, make_tokenizer, vocabulary
from .tools import LINKS
from .wording import FRAMES, HELD_OUT_FRAMES, Plan

if TYPE_CHECKING:
    import torch
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

STEPS, BATCH, RATE, WARMUP = 900, 64, 3e-3, 50
SHARE, WEAK_TURNS = 0.8, 2
"""Share of the demonstrations that go through the links in turn, and turns of a weak link; both with `--from` only."""
FROM_STEPS, FROM_RATE, FROM_WARMUP = 230, 1.5e-3, 10
SHIPPED = "shipped"
EXTRA_SHAPES = ("simple, simple", "source action, answer", "simple, source relay action", "source relay relay answer")
"""Shapes that composed tasks have and seed tasks do not."""
Row = tuple[list[int], list[int]]
"""Token ids and the mask that is 1 where the assistant wrote."""


def new_model() -> "LlamaForCausalLM":
    """The untrained policy: Llama, 3 layers of width 128, tied embeddings, float32."""
    from transformers import LlamaConfig, LlamaForCausalLM

    words = vocabulary()
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words),
            hidden_size=128,
            intermediate_size=384,
            num_hidden_layers=3,
            num_attention_heads=4,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            bos_token_id=None,
            pad_token_id=words.index(PAD),
            eos_token_id=words.index(END),
        )
    )


def random_plans(rng: random.Random) -> Iterator[Plan]:
    """Plans of all shapes."""
    while True:
        yield random_plan(rng, rng.choice(EXTRA_SHAPES) if rng.random() < 0.1 else rng.choices(list(SHAPES), list(SHAPES.values()))[0])


def link_plans(rng: random.Random, weak: Collection[tuple[str, str]]) -> Iterator[Plan]:
    """Plans of which SHARE go through every link in turn, and through a weak one WEAK_TURNS times as often; the others are random.

    Random plans have some links nine times as often as others.
    """
    others, turns = random_plans(rng), [link for link in LINKS for _ in range(WEAK_TURNS if link in weak else 1)]
    while True:
        for producer, consumer in rng.sample(turns, len(turns)):
            while rng.random() >= SHARE:
                yield next(others)
            yield plan_with(rng, producer, consumer)


def rows(tokenizer: "PreTrainedTokenizerFast", seed: int, clustering: str = CLUSTERINGS[0], by_link: bool = False) -> Iterator[Row]:
    """An endless stream of demonstrations as tokens, the same as the chat template gives for the same messages.

    Random plans with errors by chance, or those in `link_plans` with errors at regular intervals: few steps suffice to learn how often.
    """
    rng, habits = random.Random(f"demonstrations {seed}"), weak_links(seed, clustering)
    due: dict[tuple[str, str], float] | None = {} if by_link else None
    for plan in link_plans(rng, habits) if by_link else random_plans(rng):
        query = word(plan, rng, (*FRAMES, *HELD_OUT_FRAMES))
        calls = demonstrate(plan, rng.getrandbits(31), habits, rng, due)
        yield encode_episode(tokenizer, query, calls)[:2]


def batches(source: Iterator[Row]) -> Iterator[tuple["torch.Tensor", "torch.Tensor"]]:
    """An endless stream of ids and labels, both (rows, width), with label -100 where there is no loss; rows of similar length together."""
    import torch

    while True:
        chunk = sorted((next(source) for _ in range(16 * BATCH)), key=lambda row: len(row[0]))
        order = list(range(0, len(chunk), BATCH))
        random.Random(len(chunk[0][0])).shuffle(order)
        for at in order:
            group = chunk[at : at + BATCH]
            width = len(group[-1][0])
            ids = torch.tensor([[*tokens, *[0] * (width - len(tokens))] for tokens, _ in group])
            mask = torch.tensor([[*flags, *[0] * (width - len(flags))] for _, flags in group])
            yield ids, ids.masked_fill(mask == 0, -100)


def train(
    seed: int, steps: int, verbose: bool = True, clustering: str = CLUSTERINGS[0], base: Path | None = None
) -> "tuple[LlamaForCausalLM, PreTrainedTokenizerFast]":
    """Train for `steps` optimiser steps of BATCH rows, from new weights or those of the policy in folder `base`.

    Returns the policy and its tokenizer. The same arguments give the same weights.
    """
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import LlamaForCausalLM

    torch.manual_seed(seed)
    tokenizer, model = make_tokenizer(), LlamaForCausalLM.from_pretrained(base) if base else new_model()
    model.train()
    rate, warmup = (FROM_RATE, FROM_WARMUP) if base else (RATE, WARMUP)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min((i + 1) / warmup, 1 - (i - warmup) / (steps - warmup + 1), 1.0))
    source, began = batches(rows(tokenizer, seed, clustering, by_link=base is not None)), time.process_time()
    for step in range(steps):
        ids, labels = next(source)
        wanted = labels[:, 1:] != -100
        hidden = model.model(input_ids=ids).last_hidden_state[:, :-1][wanted]
        loss = cross_entropy(model.lm_head(hidden), labels[:, 1:][wanted])
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if verbose and (step + 1) % 50 == 0:
            print(f"step {step + 1}: loss {loss.item():.3f}, {time.process_time() - began:.0f} CPU s", flush=True)
    model.train(False)
    return model, tokenizer


def _folder(text: str) -> Path:
    return Path(__file__).parent / "policy" if text == SHIPPED else Path(text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the desk's policy on noisy demonstrations.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the model and tokenizer to")
    parser.add_argument("--seed", type=int, default=0, help="base seed: the weak set and the weights")
    parser.add_argument("--clustering", choices=CLUSTERINGS, default=CLUSTERINGS[0], help="what the weak links have in common")
    parser.add_argument("--from", dest="base", type=_folder, help="folder of a policy to begin with, or `shipped`; else new weights")
    parser.add_argument("--steps", type=int, help=f"optimiser steps; {STEPS} from new weights, else {FROM_STEPS}")
    arguments = parser.parse_args()
    steps = arguments.steps or (FROM_STEPS if arguments.base else STEPS)
    model, tokenizer = train(arguments.seed, steps, clustering=arguments.clustering, base=arguments.base)
    model.save_pretrained(arguments.out)
    tokenizer.save_pretrained(arguments.out)
    from .policy_report import report

    former = weak_links(0) if arguments.base == _folder(SHIPPED) else ()
    print(report(model, tokenizer, weak_links(arguments.seed, arguments.clustering), former), flush=True)
    print(f"{time.process_time():.0f} CPU s in all")


if __name__ == "__main__":
    main()
