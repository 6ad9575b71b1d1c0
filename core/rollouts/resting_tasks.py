"""Which tasks of D_t a batch is drawn from: tasks that stay solved or stay impossible rest, and come back when they regress.

    solved streak(task)      how many of its last attempts in a row have a mean score >= `solved`
    impossible streak(task)  how many of its last attempts in a row have a mean score of 0
    resting(task)            a streak >= its bound, and fewer than `rest` iterations since the last attempt

After `rest` iterations a task may be drawn again. An attempt that breaks the streak (a regression, a first success) makes it an ordinary
task; one that prolongs the streak lets it rest again. The history decides all of it, so a resumed run needs no further state. Nothing
leaves the store: the validators still compare with resting tasks and refuse their copies. The paper lets no task rest (bounds of 0).
"""

from collections.abc import Sequence

from ..model import Attempt, History, TaskPool
from ..settings.retirement import Retirement


def active_tasks(pool: TaskPool, history: History, iteration: int, settings: Retirement, batch: int) -> TaskPool:
    """The tasks of `pool` that the batch of `iteration` is drawn from, in the pool's order; at least `batch` while the pool has them."""
    if not (settings.solved_after or settings.impossible_after or settings.limit):
        return pool
    attempts = {task.id: history.attempts.get(task.id, ()) for task in pool}
    rested = {task.id: _resting(attempts[task.id], iteration, settings) for task in pool}
    # Resting tasks fill up a batch that would be too small without them, those first that have rested longest.
    order = sorted(enumerate(pool), key=lambda numbered: (rested[numbered[1].id], *_rank(numbered[0], attempts[numbered[1].id], settings)))
    awake = sum(rested[task.id] == 0 for task in pool)
    wanted = max(min(awake, settings.limit or awake), batch)
    chosen = {task.id for _, task in order[:wanted]}
    return TaskPool(tuple(task for task in pool if task.id in chosen), pool.version)


def _resting(attempts: Sequence[Attempt], iteration: int, settings: Retirement) -> int:
    """Iterations that the task has still to rest, 0 when it is awake."""
    for bound, streak in (
        (settings.solved_after, _streak(attempts, settings.solved, 1.0)),
        (settings.impossible_after, _streak(attempts, 0.0, 0.0)),
    ):
        if bound and streak >= bound:
            return max(0, settings.rest - (iteration - attempts[-1].iteration) + 1)
    return 0


def _streak(attempts: Sequence[Attempt], low: float, high: float) -> int:
    """How many of the last attempts in a row have a score in [low, high]."""
    return next((n for n, attempt in enumerate(reversed(attempts)) if not low <= attempt.score <= high), len(attempts))


def _rank(number: int, attempts: Sequence[Attempt], settings: Retirement) -> tuple[int, int]:
    if not attempts:
        kind = 0
    elif attempts[-1].score >= settings.solved:
        kind = 3
    else:
        kind = 2 if attempts[-1].score == 0 else 1
    return kind, -number
