"""Learnability: draw tasks most often that are solved about half of the time.

    weight(task) = p (1 - p) + epsilon,   p = (sum of the last W scores + 1) / (attempts among them + 2)

This is a curriculum to compare with (SFL, Rutherford et al. 2024), not a part of the paper. A task that was never attempted has the largest
possible weight, 1/4 + epsilon. Tasks are drawn without replacement: each gets an exponential waiting time with its weight as the rate, and
the shortest times win.
"""

import random
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import History, Task, TaskPool, hookimpl


@frozen
class LearnabilityOptions:
    """Options of the learnability sampler."""

    epsilon: float = field(default=0.02, validator=validators.gt(0.0))
    """Smallest weight of a task, on the scale of p (1 - p), which is at most 1/4. It keeps mastered and impossible tasks in the draw."""
    window: int = field(default=5, validator=validators.ge(1))
    """W: how many of the task's last attempts count (one attempt an iteration). Short, since success changes during training."""


class Learnability:
    """Draws tasks by p (1 - p) of their recent success rate p."""

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
