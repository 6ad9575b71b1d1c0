"""Which rollout groups of an iteration the update trains on, where groups without variance are replaced (DAPO's dynamic sampling, bounded).

GRPO's advantages are zero in a group whose scores are all equal. DAPO (Yu et al. 2025, arXiv 2503.14476) samples further tasks until the
batch is full of groups that are mixed. With `refill` = R an iteration does so in at most R further waves, each of as many tasks as mixed
groups are missing, so no mixed group is thrown away:

    wave 0      the batch
    wave 1..R   B - (mixed groups so far) further tasks; none when there are none missing, or when every awake task had its turn

All groups are rollouts of the run: they are stored, and the history and the signals hold them. The trainer gets B of them.
"""

from collections.abc import Sequence

from ..model import RolloutGroup, Task, TaskPool


def is_mixed(group: RolloutGroup) -> bool:
    """Whether the group's scores differ, so that it gives a gradient."""
    return len(set(group.scores)) > 1


def missing(groups: Sequence[RolloutGroup], batch: int) -> int:
    """How many mixed groups a batch lacks; all of them before the first rollout."""
    return batch - sum(map(is_mixed, groups))


def trained(groups: Sequence[RolloutGroup], batch: int) -> list[RolloutGroup]:
    """The first `batch` groups when the mixed ones come first, each kind in the order of its rollouts."""
    return sorted(groups, key=lambda group: not is_mixed(group))[:batch]


def untouched(pool: TaskPool, groups: Sequence[RolloutGroup]) -> TaskPool:
    """The tasks of `pool` that none of `groups` is about."""
    done: set[str] = {group.task.id for group in groups}
    rest: tuple[Task, ...] = tuple(task for task in pool if task.id not in done)
    return TaskPool(rest, pool.version)
