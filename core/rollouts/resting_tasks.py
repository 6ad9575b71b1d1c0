"""Which tasks of D_t a batch is drawn from: tasks that stay solved or stay impossible rest, and come back when they regress.

    solved streak(task)      how many of its last attempts in a row have a mean score >= `solved`
    impossible streak(task)  how many of its last attempts in a row have a mean score of 0
    resting(task)            a streak >= its bound, and at most `rest` iterations since the last attempt

Then a task may be drawn again. An attempt that breaks the streak (a regression, a first success) makes it an ordinary task; one that
prolongs the streak lets it rest again. The history decides all of it, so a resumed run needs no further state. Nothing leaves the store:
the validators still compare with resting tasks and refuse their copies. The paper lets no task rest (bounds of 0).
"""

from collections.abc import Sequence

from ..model import Attempt, History, TaskPool
from ..settings.retirement import Retirement


def active_tasks(pool: TaskPool, history: History, iteration: int, settings: Retirement, batch: int) -> TaskPool:
    """The tasks of `pool` that the batch of `iteration` is drawn from, in the pool's order; at least `batch` while the pool has them.

    A pure function. It reads no more of a task's attempts than its bounds name, and the pool may have many thousands of tasks.
    """
    if not (settings.solved_after or settings.impossible_after or settings.limit):
        return pool
    attempts = [history.attempts.get(task.id, ()) for task in pool]
    rested = [_resting(of_task, iteration, settings) for of_task in attempts]
    awake = rested.count(0)
    wanted = max(min(awake, settings.limit or awake), batch)
    if wanted == awake:
        return TaskPool(tuple(task for task, left in zip(pool, rested, strict=True) if not left), pool.version)
    # Resting tasks fill up a batch that would be too small without them, those first that have rested longest.
    order = sorted(range(len(pool)), key=lambda number: (rested[number], *_rank(number, attempts[number], settings)))
    return TaskPool(tuple(pool.tasks[number] for number in sorted(order[:wanted])), pool.version)


def _resting(attempts: Sequence[Attempt], iteration: int, settings: Retirement) -> int:
    """Iterations that the task has still to rest, 0 when it is awake."""
    for bound, low, high in ((settings.solved_after, settings.solved, 1.0), (settings.impossible_after, 0.0, 0.0)):
        if bound and len(attempts) >= bound and all(low <= attempt.score <= high for attempt in attempts[-bound:]):
            return max(0, settings.rest - (iteration - attempts[-1].iteration) + 1)
    return 0


def _rank(number: int, attempts: Sequence[Attempt], settings: Retirement) -> tuple[int, int]:
    if not attempts:
        kind = 0
    elif attempts[-1].score >= settings.solved:
        kind = 3
    else:
        kind = 2 if attempts[-1].score == 0 else 1
    return kind, -number
