"""A loop that only rolls out and records, and a trainer over a tiny random model."""

import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from coevolve import Outcome, RolloutGroup, Sampling, Task, Trajectory
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions


@pytest.fixture(scope="session")
def tiny() -> Any:
    path = Path(__file__).parent.parent / "policies" / "tiny_llama.py"
    spec = importlib.util.spec_from_file_location("tiny_llama", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TalkingLoop:
    """Rolls out random talk of one to four turns with random scores; a function of (seed, iteration) and the policy alone."""

    def __init__(self, words: list[str], batch: int, rollouts: int, steps: int) -> None:
        self.words, self.batch, self.rollouts, self.steps, self.iteration = words, batch, rollouts, steps, 0
        self.temperature, self.checkpoints = 1.0, {steps}
        self.groups: dict[int, list[RolloutGroup]] = {}
        self.metrics: dict[int, dict[str, float]] = {}
        self.committed: list[tuple[int, Path]] = []
        self.change: Callable[[int, list[Trajectory]], list[Trajectory]] = lambda iteration, made: made
        self.during: Callable[[int], None] = lambda iteration: None

    def rollout(self, policy: Any, iteration: int) -> list[RolloutGroup]:
        assert iteration == self.iteration + 1 and iteration not in self.groups
        rng = random.Random(iteration)
        rows = [(f"t{slot}", slot * self.rollouts + k) for slot in range(self.batch) for k in range(self.rollouts)]
        queries = {f"t{slot}": self.say(rng) for slot in range(self.batch)}
        talk = [policy.begin(Task(task, "none", "q"), [{"role": "user", "content": queries[task]}], None, row) for task, row in rows]
        live = list(talk)
        while live:
            policy.complete(live, Sampling(self.temperature, rng.randint(1, 6), iteration))
            live = [conversation for conversation in live if rng.random() < 0.6]
            for conversation in live:
                conversation.observe([{"role": "tool", "content": self.say(rng)}])
        made = [
            Trajectory(
                task, iteration, row % self.rollouts, tuple(c.messages), (), Outcome.COMPLETED, float(rng.random() < 0.5), tokens=c.tokens
            )
            for (task, row), c in zip(rows, talk, strict=True)
        ]
        made = self.change(iteration, made)
        k = self.rollouts
        groups = [RolloutGroup(Task(f"t{s}", "none", "q"), iteration, tuple(made[s * k : (s + 1) * k])) for s in range(self.batch)]
        self.groups[iteration] = groups
        return groups

    def say(self, rng: random.Random) -> str:
        return " ".join(rng.choice(self.words) for _ in range(rng.randint(1, 8)))

    def finish_iteration(self, iteration: int, metrics: dict[str, float]) -> bool:
        assert iteration == self.iteration + 1
        self.iteration, self.metrics[iteration] = iteration, metrics
        self.during(iteration)
        return iteration in self.checkpoints

    def commit(self, iteration: int, folder: Path) -> None:
        assert iteration == self.iteration and (folder / "trainer_state.json").is_file()
        self.committed.append((iteration, folder))


@pytest.fixture
def grpo(tiny: Any, tmp_path: Path) -> Callable[..., tuple[Grpo, TalkingLoop]]:
    """(trainer, loop) of `batch` tasks, `rollouts` each, for `steps` iterations; the rest are options of the trainer.

    `policy` makes the policy from its options; `dtype` is the policy's.
    """

    def make(
        batch: int = 2,
        rollouts: int = 4,
        steps: int = 1,
        temperature: float = 1.0,
        policy: Callable[[TransformersOptions], Any] = TransformersPolicy,
        dtype: str = "auto",
        **options: Any,
    ) -> tuple[Grpo, TalkingLoop]:
        path = tmp_path / "model"
        if not path.is_dir():
            tiny.save(path)
        trainer = Grpo(GrpoOptions(**options))
        run = SimpleNamespace(
            seed=5, steps=steps, batch=batch, rollouts=rollouts, temperature=temperature, folder=tmp_path / "run", planned=False
        )
        trainer.setup(policy(TransformersOptions(model=str(path), dtype=dtype)), run)
        loop = TalkingLoop(tiny.WORDS[:40], batch, rollouts, steps)
        loop.temperature = temperature
        return trainer, loop

    return make


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every micro-batch that the loss was computed of, with the loss under "loss" and the weights before it under "weights".

    There is no public way to see a batch as the loss sees it, so this wraps TRL's own method.
    """
    from coevolve.plugins.trainers.grpo.trl_trainer import PackedGrpoTrainer

    batches: list[dict[str, Any]] = []
    compute = PackedGrpoTrainer._compute_loss

    def spy(self: Any, model: Any, inputs: dict[str, Any]) -> Any:
        weights = {name: weight.detach().clone() for name, weight in model.state_dict().items()}
        loss = compute(self, model, inputs)
        batches.append({**inputs, "loss": loss.item(), "weights": weights})
        return loss

    monkeypatch.setattr(PackedGrpoTrainer, "_compute_loss", spy)
    return batches
