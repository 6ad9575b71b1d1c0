"""Learning progress: draw the tasks whose score changes fastest, up or down.

Teacher-student curriculum learning (Matiisen et al. 2017, arXiv 1707.00183; the idea is Oudeyer and Kaplan's, 2007) draws tasks by the
absolute slope of their learning curves: those that improve are practised, and so are those that are being forgotten. The slope is read
off two exponential averages of the scores, as Kanitscheider et al. (2021, arXiv 2106.14876) do it:

    average <- average + rate (score - average), at each attempt, from the first score on
    progress(task) = |fast average - slow average|
    P = (1 - uniform) progress / sum of progress + uniform / n

Tasks with fewer than two attempts have no slope; they count as the task of the greatest progress does.
"""

import random
from collections.abc import Sequence
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import Attempt, History, Task, TaskPool, UserError, hookimpl

from .draws import in_passes, weighted

_RATE = (validators.gt(0.0), validators.le(1.0))


@frozen
class LearningProgressOptions:
    """Options of the learning_progress sampler."""

    fast: float = field(default=0.5, validator=_RATE)
    """Rate of the fast average: the share of the newest score in it."""
    slow: float = field(default=0.2, validator=_RATE)
    """Rate of the slow average; smaller than `fast`."""
    uniform: float = field(default=0.2, validator=[validators.gt(0.0), validators.le(1.0)])
    """Share of the draw that is the same for all tasks. It finds tasks that begin to change."""


class LearningProgress:
    """Draws tasks by the absolute difference of a fast and a slow average of their scores."""

    name: ClassVar[str] = "learning_progress"
    Options: ClassVar[type] = LearningProgressOptions

    def __init__(self, options: LearningProgressOptions) -> None:
        if options.slow >= options.fast:
            raise UserError(f"sampler.slow is {options.slow:g}, which must be below sampler.fast, {options.fast:g}")
        self.options = options

    def progress(self, attempts: Sequence[Attempt]) -> float | None:
        """The absolute slope of the learning curve, in [0, 1]; None with fewer than two attempts."""
        if len(attempts) < 2:
            return None
        fast = slow = attempts[0].score
        for attempt in attempts[1:]:
            fast += self.options.fast * (attempt.score - fast)
            slow += self.options.slow * (attempt.score - slow)
        return abs(fast - slow)

    def pick(self, pool: TaskPool, history: History, count: int, rng: random.Random) -> list[Task]:
        found = [self.progress(history.attempts.get(task.id, ())) for task in pool]
        greatest = max((one for one in found if one is not None), default=0.0) or 1.0
        slopes = [greatest if one is None else one for one in found]
        total, share = sum(slopes) or 1.0, self.options.uniform
        weights = [(1 - share) * slope / total + share / len(pool) for slope in slopes]
        return in_passes(pool.tasks, count, lambda some: weighted(pool.tasks, weights, some, rng))


@hookimpl
def coevolve_samplers() -> list[type[LearningProgress]]:
    return [LearningProgress]
