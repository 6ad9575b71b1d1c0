"""What the samplers share: draws without replacement, passes over a small pool, and the iteration that a batch is for."""

import math
import random
from collections.abc import Callable, Sequence

from coevolve import History, Task


def next_iteration(history: History) -> int:
    """The iteration after the latest attempt of any task; 1 for an empty history."""
    return 1 + max((attempts[-1].iteration for attempts in history.attempts.values() if attempts), default=0)


def in_passes(tasks: Sequence[Task], count: int, choose: Callable[[int], list[Task]]) -> list[Task]:
    """`count` of `tasks`, none of them twice before all of them came once. `choose` gives as many distinct tasks as it is asked for."""
    picked: list[Task] = []
    while tasks and len(picked) < count:
        picked += choose(min(count - len(picked), len(tasks)))
    return picked


def weighted(tasks: Sequence[Task], weights: Sequence[float], count: int, rng: random.Random) -> list[Task]:
    """`count` distinct tasks, drawn one after the other in proportion to their weights; those of weight 0 come last, in random order.

    Each task gets an exponential waiting time with its weight as the rate, and the shortest times win: that is the same distribution.
    """
    waits = [(rng.expovariate(weight), 0.0) if weight > 0 else (math.inf, rng.random()) for weight in weights]
    return [tasks[place] for place in sorted(range(len(waits)), key=waits.__getitem__)[:count]]
