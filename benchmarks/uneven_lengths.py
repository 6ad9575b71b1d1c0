"""Texts of uneven lengths: passes and micro-batches of similar lengths, compared with one pass and mixed micro-batches, in one run.

    OMP_NUM_THREADS=1 python benchmarks/uneven_lengths.py [ROUNDS] [TASKS] [STYLE]

Needs BFCL's data (`coevolve env setup bfcl`). STYLE is the style of its documents, "compact" or "official". The texts come from train
tasks of all categories, tokenised for SmolLM2-135M: the prompts, then the environment's answers to the first two texts of the solution.
The model has SmolLM2's vocabulary, two layers of width 192 and random weights. A completion is one token, because the prefill is measured.
The update (compact documents only) has 4 rows for each of half the tasks, whose tokens are prompt, solution and results, in micro-batches
of 8. Times are CPU seconds; rounds alternate.
"""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from coevolve import Outcome, RolloutGroup, Sampling, Task, Tokens, Trajectory
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.plugins.policies import lockstep
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions, trl_trainer

ROWS, MICRO = 4, 8
ONE_PASS = 10**12


def small(folder: Path) -> TransformersPolicy:
    """A policy with SmolLM2's tokenizer and a small random model."""
    whole = TransformersPolicy(TransformersOptions(model="smollm2-135m-instruct"))
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 192, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 6}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(whole.tokenizer), max_position_embeddings=16384, **sizes)).save_pretrained(folder)
    whole.tokenizer.save_pretrained(folder)
    return TransformersPolicy(TransformersOptions(model=str(folder)))


def read(policy: TransformersPolicy, bfcl: Bfcl, tasks: list[Task], pads: int) -> list[float]:
    """CPU seconds to prefill the prompts, and to prefill the results of the first two texts, in passes with at most `pads` pad tokens."""
    lockstep.PADS = pads
    talks, episodes = [], [bfcl.open(task) for task in tasks]
    scripts = [iter(bfcl.script(task.solution)) for task in tasks]
    talks = [policy.begin(t, e.messages, e.tools, n) for n, (t, e) in enumerate(zip(tasks, episodes, strict=True))]
    seconds = []
    for _ in range(3):
        began = time.process_time()
        policy.complete(talks, Sampling(1.0, 1, 0))
        seconds.append(time.process_time() - began)
        for talk, episode, script in zip(talks, episodes, scripts, strict=True):
            talk.observe(episode.step(next(script, "")).messages or [{"role": "user", "content": ""}])
    policy.release()
    return [seconds[0], seconds[1] + seconds[2]]


def whole_rows(policy: TransformersPolicy, bfcl: Bfcl, tasks: list[Task]) -> list[Tokens]:
    """Solutions as if they had been sampled, each up to another turn."""
    rows = []
    for n, task in enumerate(tasks * ROWS):
        episode, ids, mask = bfcl.open(task), list[int](), list[int]()
        prompt = policy.chat.prompt(episode.messages, episode.tools)
        for text in bfcl.script(task.solution)[: random.Random(n).randint(2, 12)]:
            written = policy.tokenizer.encode(text)
            seen = policy.chat.suffix(episode.step(text).messages, episode.tools, -1, False)
            ids += [*written, *seen]
            mask += [1] * len(written) + [0] * len(seen)
        rows.append(Tokens(prompt, tuple(ids), tuple(mask), (0.0,) * len(ids)))
    return [rows[n + len(tasks) * k] for n in range(len(tasks)) for k in range(ROWS)]


class Given:
    """A loop that returns given rollouts."""

    def __init__(self, rows: list[Tokens]) -> None:
        self.rows, self.steps, self.iteration, self.seconds = rows, 2, 0, list[float]()

    def rollout(self, policy: Any, iteration: int) -> list[RolloutGroup]:
        made = [
            Trajectory(f"t{n // ROWS}", iteration, n % ROWS, (), (), Outcome.COMPLETED, n % 2, tokens=t) for n, t in enumerate(self.rows)
        ]
        groups = [RolloutGroup(Task(made[n].task_id, "none", "q"), iteration, tuple(made[n : n + ROWS])) for n in range(0, len(made), ROWS)]
        self.began = time.process_time()
        return groups

    def finish_iteration(self, iteration: int, metrics: dict[str, float]) -> bool:
        self.seconds.append(time.process_time() - self.began)
        self.iteration = iteration
        return False


def update(model: str, rows: list[Tokens], arrange: Callable[[Any], Any]) -> float:
    """CPU seconds of an iteration's update, the reference included."""
    trl_trainer.by_length = arrange
    with tempfile.TemporaryDirectory() as folder:
        trainer, loop = Grpo(GrpoOptions(micro_batch=MICRO, max_gap=1e9)), Given(rows)
        run: Any = SimpleNamespace(
            seed=0, steps=2, batch=len(rows) // ROWS, rollouts=ROWS, temperature=1.0, folder=Path(folder), planned=False
        )
        trainer.setup(TransformersPolicy(TransformersOptions(model=model)), run)
        trainer.train(loop, None)  # type: ignore[arg-type]
    return loop.seconds[-1]


def report(what: str, found: list[tuple[float, float]]) -> None:
    ratios = [a / b for a, b in found]
    before, after = (statistics.median(side) for side in zip(*found, strict=True))
    print(f"{what}: {before:.2f} and {after:.2f} CPU s, ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def main() -> None:
    given = (*sys.argv[1:], *("3", "16", "compact")[len(sys.argv) - 1 :])
    rounds, count, style = int(given[0]), int(given[1]), given[2]
    arranged, pads = trl_trainer.by_length, lockstep.PADS
    with tempfile.TemporaryDirectory() as folder:
        policy, bfcl = small(Path(folder)), Bfcl(BfclOptions(category="all", doc_style=style))
        tasks = random.Random(0).sample(list(bfcl.tasks("train")), count)
        lengths = [len(policy.chat.prompt(e.messages, e.tools)) for e in map(bfcl.open, tasks)]
        parts = [[lengths[n] for n in part] for part in lockstep.in_passes(lengths)]
        padded = sum(max(part) * len(part) for part in parts)
        print(f"{count} prompts of {min(lengths)} to {max(lengths)} tokens, {sum(lengths)} in all;", end=" ")
        print(f"{max(lengths) * count} with pads in one pass, {padded} in {len(parts)} passes", flush=True)
        found = [(read(policy, bfcl, tasks, ONE_PASS), read(policy, bfcl, tasks, pads)) for _ in range(rounds)]
        for n, what in enumerate(("prompts, in one pass and in passes", "results, in one pass and in passes")):
            report(what, [(a[n], b[n]) for a, b in found])
        if style == "official":
            return
        rows = whole_rows(policy, bfcl, tasks[: count // 2])
        report("update, rows mixed and by length", [(update(folder, rows, list), update(folder, rows, arranged)) for _ in range(rounds)])


if __name__ == "__main__":
    main()
