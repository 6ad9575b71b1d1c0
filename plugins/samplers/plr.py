"""Prioritized level replay (PLR; Jiang et al. 2021, arXiv 2010.03934), with tasks as the levels.

Each place of the batch goes to a tried task with the probability n_tried / n (the paper's proportionate schedule), else to an untried one,
uniformly. Tried tasks are drawn by

    P = (1 - staleness) P_score + staleness P_stale,   P_score ~ rank ** (-1 / temperature),   P_stale ~ iterations since the last attempt

where rank 1 is the highest score. The paper's score is the mean |return - value|. GRPO has no value function; its baseline is the mean of
the group, and for returns of 0 and 1 the mean |return - p| is 2 p (1 - p). So the score is p (1 - p) of the last attempt's mean score p;
equal ones are ranked at random. The batch is drawn without replacement.
"""

import random
from collections.abc import Sequence
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import History, Task, TaskPool, hookimpl

from .draws import in_passes, next_iteration, weighted


@frozen
class PlrOptions:
    """Options of the plr sampler."""

    temperature: float = field(default=0.1, validator=[validators.ge(0.01), validators.le(100.0)])
    """How evenly the ranks are drawn: the paper's beta. Small values draw the highest scores alone."""
    staleness: float = field(default=0.1, validator=[validators.ge(0.0), validators.le(1.0)])
    """Share of the draw that goes by the time since a task's last attempt: the paper's rho."""


class Plr:
    """Draws tasks by the rank of their score and by the time since their last attempt."""

    name: ClassVar[str] = "plr"
    Options: ClassVar[type] = PlrOptions

    def __init__(self, options: PlrOptions) -> None:
        self.options = options

    def pick(self, pool: TaskPool, history: History, count: int, rng: random.Random) -> list[Task]:
        fresh = [task for task in pool if not history.attempts.get(task.id)]
        tried = [task for task in pool if history.attempts.get(task.id)]

        def choose(some: int) -> list[Task]:
            wanted = sum(rng.random() * len(pool) < len(tried) for _ in range(some))
            replayed = min(max(wanted, some - len(fresh)), len(tried))
            return weighted(tried, self._weights(tried, history, rng), replayed, rng) + rng.sample(fresh, some - replayed)

        return in_passes(pool.tasks, count, choose)

    def _weights(self, tried: Sequence[Task], history: History, rng: random.Random) -> list[float]:
        now = next_iteration(history)
        last = [history.attempts[task.id][-1] for task in tried]
        places = list(range(len(tried)))
        rng.shuffle(places)
        places.sort(key=lambda place: -last[place].score * (1 - last[place].score))
        score = [0.0] * len(tried)
        for rank, place in enumerate(places, 1):
            score[place] = float(rank) ** (-1 / self.options.temperature)
        stale = [float(now - attempt.iteration) for attempt in last]
        share, scores, waits = self.options.staleness, sum(score), sum(stale)
        return [(1 - share) * one / scores + share * other / waits for one, other in zip(score, stale, strict=True)]


@hookimpl
def coevolve_samplers() -> list[type[Plr]]:
    return [Plr]
