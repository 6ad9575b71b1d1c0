"""Mixed: draw tasks whose last group had successes and failures; the others are tried again once they have waited.

GRPO's advantages are zero in a group whose scores are all equal, so its rollouts teach nothing. DAPO (Yu et al. 2025, arXiv 2503.14476,
dynamic sampling) rolls out more tasks and drops such groups. This sampler goes by the last group instead, and costs no further rollouts:

    first        tasks without an attempt; tasks with 0 < last mean score < 1; tasks whose last attempt is `retry` or more iterations ago
    then         the others, those first that have waited longest

The first ones are drawn uniformly. If mixed tasks came before those that have waited, a pool with enough mixed tasks would never notice
that a solved task is forgotten, or that an impossible one has come within reach.
"""

import random
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import History, Task, TaskPool, hookimpl

from .draws import in_passes, next_iteration


@frozen
class MixedOptions:
    """Options of the mixed sampler."""

    retry: int = field(default=15, validator=validators.ge(1))
    """Iterations after its last attempt from which on a task whose last group was all solved, or all failed, is drawn like the others."""


class Mixed:
    """Draws the tasks whose last group was mixed, those not tried yet, and those that have waited long enough."""

    name: ClassVar[str] = "mixed"
    Options: ClassVar[type] = MixedOptions

    def __init__(self, options: MixedOptions) -> None:
        self.options = options

    def pick(self, pool: TaskPool, history: History, count: int, rng: random.Random) -> list[Task]:
        now = next_iteration(history)

        def rank(task: Task) -> int:
            """0 for the tasks that come first; else how late among the others, by the last attempt."""
            if not (attempts := history.attempts.get(task.id)):
                return 0
            last = attempts[-1]
            return 0 if 0 < last.score < 1 or now - last.iteration >= self.options.retry else 1 + last.iteration

        def choose(some: int) -> list[Task]:
            order = list(pool)
            rng.shuffle(order)
            return sorted(order, key=rank)[:some]

        return in_passes(pool.tasks, count, choose)


@hookimpl
def coevolve_samplers() -> list[type[Mixed]]:
    return [Mixed]
