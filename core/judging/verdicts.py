"""Verdicts on tasks: read from JSON lines, checked against the tasks that they are about, and kept beside them.

    {"task": "operators-10-3", "verdict": "usable", "reasons": ["unnatural"], "note": "two errands in one", "judge": "anna"}

`digest`, where it is given, must be that of the task: ids such as "operators-10-3" occur in many runs.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from ..errors import UserError, did_you_mean
from ..model import Task
from .rubric import GRADES, reasons
from .sample import digest_of, read_lines

NOBODY = "unnamed"
KEYS = ("task", "digest", "verdict", "reasons", "note", "judge")


@frozen
class TaskVerdict:
    """A judge's verdict on one task. `verdict` is one of GRADES; `reasons` are codes of the rubric, in its order."""

    task: str
    digest: str
    verdict: str
    reasons: tuple[str, ...] = ()
    note: str = ""
    judge: str = NOBODY


def checked_verdict(values: Mapping[str, Any], tasks: Mapping[str, Task], judge: str = "") -> TaskVerdict:
    """The verdict that JSON values hold; ValueError, in words for whoever wrote them, for values that are not one."""
    task_id, grade, given, note = values.get("task"), values.get("verdict"), values.get("reasons", []), values.get("note", "")
    if not isinstance(task_id, str) or task_id not in tasks:
        raise ValueError(f"is about the task {task_id!r}, which is not there{did_you_mean(str(task_id), tasks)}")
    digest = digest_of(tasks[task_id])
    if values.get("digest", digest) != digest:
        raise ValueError(f"is about another task with the id {task_id!r}: its digest is {values['digest']!r}, this one's {digest!r}")
    if grade not in GRADES:
        raise ValueError(f'on {task_id!r} has the verdict {grade!r}: give "good", "usable" or "bad"')
    if isinstance(given, str):
        given = [code for code in given.replace(",", " ").split() if code]
    if not isinstance(given, list) or not isinstance(note, str):
        raise ValueError(f"on {task_id!r} must hold reasons as a list and the note as text")
    if unknown := [code for code in given if code not in reasons()]:
        raise ValueError(f"on {task_id!r} has the reason {unknown[0]!r}{did_you_mean(str(unknown[0]), reasons())}")
    if grade == "good" and given:
        raise ValueError(f"on {task_id!r} is good and has reasons: remove them, or call it usable or bad")
    if grade == "bad" and not given:
        raise ValueError(f"on {task_id!r} is bad without a reason: give at least one of {', '.join(reasons())}")
    name = judge or values.get("judge") or NOBODY
    if not isinstance(name, str):
        raise ValueError(f"on {task_id!r} must hold the judge's name as text")
    return TaskVerdict(task_id, digest, grade, tuple(code for code in reasons() if code in given), note, name)


def read_verdicts(file: Path, tasks: Sequence[Task]) -> list[TaskVerdict]:
    """The verdicts of a file on `tasks`; UserError that names the line for one that cannot be used."""
    known, found = {task.id: task for task in tasks}, []
    for number, values in read_lines(file):
        try:
            if unknown := [key for key in values if key not in KEYS and "turns" not in values]:
                raise ValueError(f"has the key {unknown[0]!r}{did_you_mean(unknown[0], KEYS)}")
            if "turns" in values and not values.get("verdict"):  # a line of --format jsonl that nobody has filled in
                continue
            found.append(checked_verdict(values, known))
        except ValueError as error:
            raise UserError(f"line {number} of {file} {error}") from None
    return found


def kept_verdicts(file: Path, tasks: Sequence[Task]) -> list[TaskVerdict]:
    """The verdicts that are kept for `tasks`, one of each judge on each task, the last one; none where nothing was judged yet."""
    return latest(read_verdicts(file, tasks)) if file.is_file() else []


def keep(file: Path, verdicts: Iterable[TaskVerdict]) -> None:
    """Append verdicts to the file, so that a judge who stops loses nothing."""
    try:
        with file.open("a", encoding="utf-8") as opened:
            for verdict in verdicts:
                opened.write(json.dumps(asdict(verdict), ensure_ascii=False) + "\n")
    except OSError as error:
        raise UserError(f"cannot keep the verdicts in {file}: {error.strerror}; make it and its folder writable") from error


def latest(verdicts: Iterable[TaskVerdict]) -> list[TaskVerdict]:
    """The last verdict of each judge on each task."""
    return list({(verdict.judge, verdict.task): verdict for verdict in verdicts}.values())
