"""Uniform: pass over the pool again and again, each time in a new order, so that every task is drawn equally often.

A pass needs no state. Tasks that were never attempted come first, then those whose last attempt is longest ago; among equals those with
fewer attempts, then in random order. If only attempts were counted, newly admitted tasks would fill every batch until they had caught up.
"""

import random
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import History, Task, TaskPool, hookimpl

from .draws import in_passes


@frozen
class UniformOptions:
    """Options of the uniform sampler."""

    fresh_share: float = field(default=1.0, validator=[validators.ge(0.0), validators.le(1.0)])
    """Largest share of a batch for tasks that were never attempted, as long as others can fill the rest. 1 (the default) sets no limit."""


class Uniform:
    """Draws every task equally often, the least recently attempted first."""

    name: ClassVar[str] = "uniform"
    Options: ClassVar[type] = UniformOptions

    def __init__(self, options: UniformOptions) -> None:
        self.options = options

    def pick(self, pool: TaskPool, history: History, count: int, rng: random.Random) -> list[Task]:
        return in_passes(pool.tasks, count, lambda some: self._pass(pool, history, some, rng))

    def _pass(self, pool: TaskPool, history: History, count: int, rng: random.Random) -> list[Task]:
        order = list(pool)
        rng.shuffle(order)
        attempts = history.attempts
        fresh = [task for task in order if not attempts.get(task.id)]
        tried = [task for task in order if attempts.get(task.id)]
        old = sorted(tried, key=lambda task: (attempts[task.id][-1].iteration, len(attempts[task.id])))
        room = max(int(self.options.fresh_share * count), count - len(old))
        chosen = fresh[:room]
        return chosen + old[: count - len(chosen)]


@hookimpl
def coevolve_samplers() -> list[type[Uniform]]:
    return [Uniform]
