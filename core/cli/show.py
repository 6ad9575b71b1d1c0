"""`coevolve show RUN [TASK]`: a run's figures, newest signals, refusals and weakest tasks; or one task's attempts and transcripts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UserError, did_you_mean
from ..model import Trajectory
from ..record.store import Store
from ..record.summary import COUNTS, REPAIRS, attempts, overlap, overlap_text
from ..rollouts.evaluation_report import transcript
from ..text import one_line, terminal_text

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 10
"""Largest number of signals, and of refusals."""
WEAKEST = 30
"""Largest number of tasks of the pool."""


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
    for iteration, split, mode, success, progress, tasks in store.rows(
        "SELECT iteration, split, mode, success, progress, tasks FROM evaluations ORDER BY mode, iteration"
    ):
        known = "" if progress is None else f", progress {progress:.3f}"
        console.print(terminal_text(f"after {iteration:>4} iterations, {split} {mode:8} success {success:.3f}{known} of {tasks} tasks"))
    if count := overlap(store):
        (split,) = store.rows("SELECT split FROM evaluations LIMIT 1")[0]
        console.print(terminal_text(overlap_text(count, split), "yellow"))
    for name, sql in (*COUNTS.items(), ("repaired candidates", REPAIRS)):
        console.print(terminal_text(f"{name}: {', '.join(f'{key} {count}' for key, count in store.rows(sql)) or 'none'}"))
    console.print(terminal_text(f"attempts at the door: {attempts(store)}"))
    _table(
        console,
        f"The newest signals ({SHOWN} at most)",
        ("task", "iteration", "kind", "strength", "evidence"),
        store.rows("SELECT task_id, iteration, kind, strength, evidence FROM signals ORDER BY number DESC LIMIT ?", SHOWN),
    )
    _table(
        console,
        f"The newest refusals ({SHOWN} at most)",
        ("task", "iteration", "reason", "detail"),
        store.rows(
            "SELECT c.task_id, v.iteration, v.reason, v.detail FROM verdicts v JOIN candidates c ON c.number = v.candidate_number "
            "WHERE NOT v.accepted ORDER BY v.candidate_number DESC LIMIT ?",
            SHOWN,
        ),
    )
    _table(
        console,
        f"The weakest tasks of the pool ({WEAKEST} at most)",
        ("task", "since", "groups", "first", "last", "query"),
        store.rows(
            "SELECT t.id, t.iteration, count(g.mean), "
            "(SELECT mean FROM groups WHERE task_id = t.id AND mean IS NOT NULL ORDER BY number LIMIT 1), "
            "(SELECT mean FROM groups WHERE task_id = t.id AND mean IS NOT NULL ORDER BY number DESC LIMIT 1) AS latest, t.query "
            "FROM tasks t LEFT JOIN groups g ON g.task_id = t.id GROUP BY t.id ORDER BY latest IS NULL, latest, t.number LIMIT ?",
            WEAKEST,
        ),
    )


def _table(console: "Console", title: str, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Print a table, or nothing without rows. The last column is cut to the width; the first, an id for `coevolve show`, never is."""
    from rich.table import Table

    if not rows:
        return
    table = Table(title=title, box=None, pad_edge=False, expand=True)
    for name in names[:-1]:
        table.add_column(name, no_wrap=True, min_width=console.width // 4 if name == "task" else None)
    table.add_column(names[-1], no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        table.add_row(*[terminal_text("-" if v is None else f"{v:.2f}" if isinstance(v, float) else one_line(v)) for v in row])
    console.print(table)


def _show_task(store: Store, task_id: str, console: "Console") -> None:
    found = {task.id: task for task in store.pool()}
    if task_id not in found:
        refused = store.rows(
            "SELECT v.reason, v.detail FROM candidates c JOIN verdicts v ON v.candidate_number = c.number WHERE c.task_id = ?", task_id
        )
        if refused:
            console.print(terminal_text(f"{task_id} was refused: {refused[-1][0]}: {refused[-1][1]}"))
            made = _show_attempts(store, task_id, console)
            _show_transcripts(made, "of the attempts at the door", console)
            return
        raise UserError(f"unknown task {task_id!r}{did_you_mean(task_id, found)}")
    task = found[task_id]
    console.print(terminal_text(f"{task.id}: {task.query}\nintent: {task.intent}\norigin: {task.origin}"))
    for action in task.solution:
        console.print(terminal_text(f"  {action.name} {json.dumps(dict(action.arguments))}"))
    made = _show_attempts(store, task_id, console)
    groups = list(store.groups(task_id=task_id))
    for group in groups:
        known = "" if group.progress is None else f", progress {group.progress:.2f}"
        console.print(terminal_text(f"iteration {group.iteration}: scores {list(group.scores)}{known}"))
    if groups:
        _show_transcripts(groups[-1].trajectories, f"of iteration {groups[-1].iteration}", console)
    else:
        _show_transcripts(made, "of the attempts at the door", console)


def _show_attempts(store: Store, task_id: str, console: "Console") -> tuple[Trajectory, ...]:
    made = store.attempts(task_id)
    if made:
        scores, broken = [round(t.score, 3) for t in made if t.score is not None], sum(t.score is None for t in made)
        console.print(terminal_text(f"at the door: scores {scores}" + (f", {broken} broke off" if broken else "")))
    return made


def _show_transcripts(trajectories: Sequence[Trajectory], where: str, console: "Console") -> None:
    for trajectory in trajectories:
        console.print(terminal_text(f"\nrollout {trajectory.index} {where}\n{transcript(trajectory)}"))
