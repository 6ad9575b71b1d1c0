"""Thompson: draw each task's success rate from what is known of it, and take the tasks with the largest p (1 - p).

    p ~ Beta(1 + successes, 1 + failures),   each counted with the factor discount ** (iterations since the attempt)

Success changes during training, so old rollouts are discounted (discounted Thompson sampling, Raj and Kalyani 2017, arXiv 1707.09727): a
task that was not tried for long is uncertain again, and drawn as an untried one. Choosing the tasks of a batch by a posterior of their
success rates, nearest to one half, is MoPPS (Qu et al. 2025, arXiv 2507.04632). A mean score s of K rollouts counts as s K successes and
(1 - s) K failures, as one rollout where the attempt does not say how many there were.
"""

import random
from collections.abc import Sequence
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import Attempt, History, Task, TaskPool, hookimpl

from .draws import in_passes, next_iteration


@frozen
class ThompsonOptions:
    """Options of the thompson sampler."""

    discount: float = field(default=0.9, validator=[validators.gt(0.0), validators.le(1.0)])
    """Factor by which a rollout counts less for each iteration since it; 1 forgets nothing."""


class Thompson:
    """Takes the tasks with the largest p (1 - p), p drawn from the discounted posterior of each task's success rate."""

    name: ClassVar[str] = "thompson"
    Options: ClassVar[type] = ThompsonOptions

    def __init__(self, options: ThompsonOptions) -> None:
        self.options = options

    def posterior(self, attempts: Sequence[Attempt], iteration: int) -> tuple[float, float]:
        """The two parameters, each at least 1, of the Beta distribution of a task's success rate at `iteration`."""
        solved = failed = 1.0
        for attempt in attempts:
            counted = max(1, attempt.rollouts) * self.options.discount ** max(0, iteration - 1 - attempt.iteration)
            solved += counted * attempt.score
            failed += counted * (1 - attempt.score)
        return solved, failed

    def pick(self, pool: TaskPool, history: History, count: int, rng: random.Random) -> list[Task]:
        now = next_iteration(history)
        known = [self.posterior(history.attempts.get(task.id, ()), now) for task in pool]

        def choose(some: int) -> list[Task]:
            distances = [abs(rng.betavariate(*both) - 0.5) for both in known]  # the smallest has the largest p (1 - p)
            return [pool.tasks[place] for place in sorted(range(len(pool)), key=distances.__getitem__)[:some]]

        return in_passes(pool.tasks, count, choose)


@hookimpl
def coevolve_samplers() -> list[type[Thompson]]:
    return [Thompson]
