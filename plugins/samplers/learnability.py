"""Learnability: draw tasks most often that are solved about half of the time.

    weight(task) = p (1 - p) + epsilon,   p = (sum of v score + 1) / (sum of v + 2),   v = decay ** (iterations since the attempt)

over the task's last W attempts. This is a curriculum to compare with (SFL, Rutherford et al. 2024), not a part of the paper. A task that
was never attempted has the largest possible weight, 1/4 + epsilon.
"""

import random
from collections.abc import Sequence
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import Attempt, History, Task, TaskPool, hookimpl

from .draws import in_passes, next_iteration, weighted


@frozen
class LearnabilityOptions:
    """Options of the learnability sampler."""

    epsilon: float = field(default=0.02, validator=validators.gt(0.0))
    """Smallest weight of a task, on the scale of p (1 - p), which is at most 1/4. It keeps mastered and impossible tasks in the draw."""
    window: int = field(default=5, validator=validators.ge(1))
    """W: how many of the task's last attempts count (one attempt an iteration). Short, since success changes during training."""
    decay: float = field(default=1.0, validator=[validators.gt(0.0), validators.le(1.0)])
    """Factor by which an attempt counts less for each iteration since it. Below 1, tasks that wait become uncertain, and so likelier to be
    drawn; 1 (the default) counts the attempts of the window alike."""


class Learnability:
    """Draws tasks by p (1 - p) of their recent success rate p."""

    name: ClassVar[str] = "learnability"
    Options: ClassVar[type] = LearnabilityOptions

    def __init__(self, options: LearnabilityOptions) -> None:
        self.options = options

    def weight(self, attempts: Sequence[Attempt], iteration: int) -> float:
        """The weight at `iteration` of a task with these attempts, in (0, 1/4 + epsilon]."""
        recent = attempts[-self.options.window :]
        values = [self.options.decay ** max(0, iteration - 1 - attempt.iteration) for attempt in recent]
        solved = sum(value * attempt.score for value, attempt in zip(values, recent, strict=True))
        rate = (solved + 1) / (sum(values) + 2)
        return rate * (1 - rate) + self.options.epsilon

    def pick(self, pool: TaskPool, history: History, count: int, rng: random.Random) -> list[Task]:
        now = next_iteration(history)
        weights = [self.weight(history.attempts.get(task.id, ()), now) for task in pool]
        return in_passes(pool.tasks, count, lambda some: weighted(pool.tasks, weights, some, rng))


@hookimpl
def coevolve_samplers() -> list[type[Learnability]]:
    return [Learnability]
