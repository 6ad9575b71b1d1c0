"""Learnability: tasks that are solved about half of the time are drawn most.

    weight(task) = p (1 - p) + epsilon,   p = (sum of the last W scores + 1) / (attempts among them + 2)

A curriculum to compare with (SFL, Rutherford et al. 2024), not part of the paper. A task never attempted gets the largest weight that
there is, 1/4 + epsilon. Drawn without replacement: the smallest of exponential waiting times with these rates.
"""

import random
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import History, Task, TaskPool, hookimpl


@frozen
class LearnabilityOptions:
    """Options of the learnability sampler."""

    epsilon: float = field(default=0.02, validator=validators.gt(0.0))
    """Weight that every task keeps, however well or badly it goes (same scale as p (1 - p), at most 1/4)."""
    window: int = field(default=5, validator=validators.ge(1))
    """W: how many of the last attempts count (iterations)."""


class Learnability:
    """Draws by p (1 - p) of each task's recent success."""

    name: ClassVar[str] = "learnability"
    Options: ClassVar[type] = LearnabilityOptions

    def __init__(self, options: LearnabilityOptions) -> None:
        self.options = options

    def weight(self, task: Task, history: History) -> float:
        """The task's weight, in (0, 1/4 + epsilon]."""
        scores = [attempt.score for attempt in history.attempts.get(task.id, ())[-self.options.window :]]
        rate = (sum(scores) + 1) / (len(scores) + 2)
        return rate * (1 - rate) + self.options.epsilon

    def pick(self, pool: TaskPool, history: History, count: int, rng: random.Random) -> list[Task]:
        picked: list[Task] = []
        weights = [self.weight(task, history) for task in pool]
        while weights and len(picked) < count:
            waits = [rng.expovariate(weight) for weight in weights]
            order = sorted(range(len(waits)), key=lambda index: waits[index])
            picked += [pool.tasks[index] for index in order[: count - len(picked)]]
        return picked


@hookimpl
def coevolve_samplers() -> list[type[Learnability]]:
    return [Learnability]
