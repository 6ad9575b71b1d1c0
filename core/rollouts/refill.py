"""Which rollout groups of an iteration the update trains on, where groups without variance are replaced (DAPO's dynamic sampling, bounded).

GRPO's advantages are zero in a group whose rewards are all equal. DAPO (Yu et al. 2025, arXiv 2503.14476) samples further tasks until the
batch is full of groups that are mixed. With `refill` = R an iteration does so in at most R rounds, each of as many further tasks as mixed
groups are missing, so no mixed group is thrown away:

    the batch     B tasks
    round 1..R    B - (mixed groups so far) further tasks; none when there are none missing, or when every awake task had its turn

All groups are rollouts of the run: they are stored, and the history and the signals hold them. The trainer gets B of them. What a reward is
says the trainer (rewards.py).
"""

from collections.abc import Callable, Sequence

from attrs import frozen

from ..model import RolloutGroup, Task, TaskPool
from .rewards import Reward, is_mixed, score

RollOut = Callable[[TaskPool, int, int], list[RolloutGroup]]
"""Rolls out tasks of a pool: so many of them, in the round of this number."""


@frozen
class Refill:
    """The rule for batches of `batch` tasks and at most `rounds` rounds of further ones."""

    batch: int
    rounds: int
    reward: Reward = score

    def groups(self, pool: TaskPool, roll_out: RollOut) -> list[RolloutGroup]:
        """Roll out a batch of tasks of `pool`, in round 0, and what the rule adds to it. All groups, in the order of their rollouts."""
        groups = roll_out(pool, self.batch, 0)
        for number in range(1, self.rounds + 1):
            left = untouched(pool, groups)
            wanted = min(self.missing(groups), len(left))
            if not wanted:
                break
            groups = [*groups, *roll_out(left, wanted, number)]
        return groups

    def trained(self, groups: Sequence[RolloutGroup]) -> list[RolloutGroup]:
        """The groups of the update: the first `batch` when the mixed ones come first, each kind in order. Without a refill all of them."""
        if not self.rounds:
            return list(groups)
        return sorted(groups, key=lambda group: not is_mixed(group, self.reward))[: self.batch]

    def missing(self, groups: Sequence[RolloutGroup]) -> int:
        """How many mixed groups the batch lacks."""
        return self.batch - sum(is_mixed(group, self.reward) for group in groups)


def untouched(pool: TaskPool, groups: Sequence[RolloutGroup]) -> TaskPool:
    """The tasks of `pool` that none of `groups` is about."""
    done: set[str] = {group.task.id for group in groups}
    rest: tuple[Task, ...] = tuple(task for task in pool if task.id not in done)
    return TaskPool(rest, pool.version)
