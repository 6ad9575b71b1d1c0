"""`coevolve show RUN [TASK]`: a run's figures, or one task's whole story as text to read."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import UserError, did_you_mean
from .evaluation_report import transcript
from .store import Store
from .summary import COUNTS

if TYPE_CHECKING:
    from rich.console import Console


def show(folder: Path, task: str | None, console: "Console") -> None:
    """Print the run's summary so far, or the task's query, origin, attempts and newest rollouts."""
    store = Store(folder / "run.sqlite")
    try:
        if task is None:
            _show_run(store, console)
        else:
            _show_task(store, task, console)
    finally:
        store.close()


def _show_run(store: Store, console: "Console") -> None:
    from rich.table import Table

    for iteration, split, mode, success, tasks in store.rows(
        "SELECT iteration, split, mode, success, tasks FROM evaluations ORDER BY mode, iteration"
    ):
        console.print(f"after {iteration:>4} iterations, {split} {mode:8} success {success:.3f} of {tasks} tasks", highlight=False)
    for name, sql in COUNTS.items():
        console.print(f"{name}: {', '.join(f'{key} {count}' for key, count in store.rows(sql)) or 'none'}", highlight=False, markup=False)
    table = Table(title="The weakest tasks of the pool (30 at most)", box=None, pad_edge=False, expand=True)
    for name in ("task", "since", "groups", "first", "last"):  # the id is what `coevolve show RUN TASK` takes: never cut
        table.add_column(name, no_wrap=True, min_width=console.width // 4 if name == "task" else None)
    table.add_column("query", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in store.rows(
        "SELECT t.id, t.iteration, count(g.mean), "
        "(SELECT mean FROM groups WHERE task_id = t.id AND mean IS NOT NULL ORDER BY number LIMIT 1), "
        "(SELECT mean FROM groups WHERE task_id = t.id AND mean IS NOT NULL ORDER BY number DESC LIMIT 1) AS latest, t.query "
        "FROM tasks t LEFT JOIN groups g ON g.task_id = t.id GROUP BY t.id ORDER BY latest IS NULL, latest, t.number LIMIT 30"
    ):
        table.add_row(*["-" if v is None else f"{v:.2f}" if isinstance(v, float) else str(v) for v in row])
    console.print(table)


def _show_task(store: Store, task_id: str, console: "Console") -> None:
    found = {task.id: task for task in store.pool()}
    if task_id not in found:
        refused = store.rows(
            "SELECT v.reason, v.detail FROM candidates c JOIN verdicts v ON v.candidate_number = c.number WHERE c.task_id = ?", task_id
        )
        if refused:
            console.print(f"{task_id} was refused: {refused[-1][0]}: {refused[-1][1]}", highlight=False, markup=False)
            return
        raise UserError(f"unknown task {task_id!r}{did_you_mean(task_id, found)}")
    task = found[task_id]
    console.print(f"{task.id}: {task.query}\nintent: {task.intent}\norigin: {task.origin}", highlight=False, markup=False)
    for action in task.solution:
        console.print(f"  {action.name} {json.dumps(dict(action.arguments))}", highlight=False, markup=False)
    groups = list(store.groups(task_id=task_id))
    for group in groups:
        console.print(f"iteration {group.iteration}: scores {list(group.scores)}", highlight=False)
    for trajectory in groups[-1].trajectories if groups else ():
        console.print(f"\nrollout {trajectory.index} of iteration {trajectory.iteration}\n{transcript(trajectory)}", markup=False)
