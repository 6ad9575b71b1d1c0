"""The tasks to judge: drawn from a run, or from a file that `coevolve judge RUN --export FILE` wrote.

The file holds JSON lines: first the environment's settings, then a task a line as the run's store writes it, with what its door said.

    {"format": "coevolve tasks 1", "environment": {"name": "bfcl", "release": "2026.3.23", ...}}
    {"task": {"id": "operators-10-3", "environment": "bfcl", "query": "...", "solution": [...], ...}, "door": "2 of 2 attempts solved it"}
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ..errors import UserError, did_you_mean
from ..model import Task
from ..randomness import generator
from ..record.run_check import run_file
from ..record.store import Store, from_json, to_json
from ..registry import Registry
from ..run.prepare import prepare
from ..settings.config import Config
from ..settings.sources import SettingSource, setting_sources
from ..text import command_line, read_text

FORMAT = "coevolve tasks 1"


@frozen
class Sample:
    """Tasks of one source, with what is needed to carry them out."""

    source: Path
    tasks: tuple[Task, ...]
    config: Config
    registry: Registry
    doors: Mapping[str, str]
    """What the door said of a task, by its id."""
    whole: tuple[Task, ...]
    """All tasks of the source; `tasks` are drawn from them."""

    @property
    def kept(self) -> Path:
        """Where the verdicts on this source's tasks are kept."""
        return self.source / "judged.jsonl" if self.source.is_dir() else self.source.with_suffix(".verdicts.jsonl")


def digest_of(task: Task) -> str:
    """Twelve hexadecimal digits that tell the task from others of the same id."""
    return hashlib.sha256(to_json(task).encode()).hexdigest()[:12]


def label_of(task: Task, by: str | None = None) -> str:
    """Where the task came from: the kind of its origin, or what its synthesizer noted under `by` (a goal, an operator)."""
    if by is None:
        return task.origin.kind
    noted = task.origin.detail.get(by)
    return "-" if noted is None else str(noted)


def read_sample(source: Path, block: Sequence[str] = ()) -> Sample:
    """All tasks of a run's pool, or of a file; UserError in one line for what is neither."""
    if source.is_dir():
        return _of_run(source, block)
    if not source.is_file():
        quoted = command_line(source)
        raise UserError(f"{source} is neither a run's folder nor a file of tasks; write one: coevolve judge RUN --export {quoted}")
    return _of_file(source, block)


def drawn(sample: Sample, origin: str | None, count: int, seed: int) -> Sample:
    """`count` of the tasks (0: all) with origin `origin`, the same ones each time, in the source's order.

    Without an origin the benchmark's own tasks are left out, unless there are no others. UserError where nothing is left.
    """
    there = sorted({label_of(task) for task in sample.whole})
    made = [task for task in sample.whole if task.origin.kind != "seed"] or list(sample.whole)
    found = made if origin is None else [task for task in sample.whole if label_of(task) == origin]
    if not found and origin is not None and sample.whole:
        raise UserError(f"{sample.source} holds no task of origin {origin!r}{did_you_mean(origin, there)}")
    if not found:
        raise UserError(f"{sample.source} holds no tasks, so there is nothing to judge; name a run that has begun")
    if 0 < count < len(found):
        chosen = set(generator(seed, "judge").sample(range(len(found)), count))
        found = [task for number, task in enumerate(found) if number in chosen]
    return evolve(sample, tasks=tuple(found))


def export(sample: Sample, file: Path) -> None:
    """Write the sample's tasks to a file that `read_sample` reads back."""
    lines = [json.dumps({"format": FORMAT, "environment": sample.config.as_dict()["environment"]}, ensure_ascii=False)]
    for task in sample.tasks:
        row = {"task": json.loads(to_json(task))} | ({"door": sample.doors[task.id]} if sample.doors.get(task.id) else {})
        lines.append(json.dumps(row, ensure_ascii=False))
    write(file, "\n".join(lines) + "\n")


def write(file: Path, text: str) -> None:
    """Write a file of the user's; UserError in one line where that fails."""
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}; name another file") from error


def read_lines(file: Path) -> list[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file of JSON lines, each with its line's number; UserError that names the line which is not one."""
    try:
        texts = read_text(file).split("\n")  # splitlines also splits at characters that JSON leaves as they are, such as U+2028
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UserError(f"cannot read {file}: {why}; name a file of JSON lines") from error
    found = []
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise UserError(f"line {number} of {file} is not JSON: mend or remove it") from None
        if not isinstance(value, dict):
            raise UserError(f"line {number} of {file} is not a JSON object: mend or remove it")
        found.append((number, value))
    return found


def _of_run(folder: Path, block: Sequence[str]) -> Sample:
    config, registry = prepare(setting_sources(None, run_file(folder), ()), block)
    with closing(Store(folder / "run.sqlite")) as store:
        tasks = store.pool().tasks
        rows = store.rows(
            "SELECT c.task_id, v.detail FROM verdicts v JOIN candidates c ON c.number = v.candidate_number "
            "WHERE v.accepted ORDER BY c.number"
        )
    return Sample(folder, tasks, config, registry, {task_id: detail for task_id, detail in rows if detail}, tasks)


def _of_file(file: Path, block: Sequence[str]) -> Sample:
    lines = read_lines(file)
    head = lines[0][1] if lines else {}
    if head.get("format") != FORMAT or not isinstance(head.get("environment"), dict):
        raise UserError(f'{file} is not a file of tasks: its first line must be {{"format": "{FORMAT}", "environment": ...}}')
    config, registry = prepare([*setting_sources("desk", None, ()), SettingSource(str(file), {"environment": head["environment"]})], block)
    tasks: dict[str, Task] = {}
    doors = {}
    for number, row in lines[1:]:
        try:
            task = from_json(json.dumps(row.get("task")), Task)
        except ValueError:
            raise UserError(f'line {number} of {file} is not a task: it needs {{"task": {{"id": ..., "query": ..., ...}}}}') from None
        if task.id in tasks:
            raise UserError(f"line {number} of {file} holds the task {task.id!r} a second time: give it another id or remove it")
        if task.environment != config.environment.name:
            where = f"of environment {task.environment!r}, the file is of {config.environment.name!r}"
            raise UserError(f"line {number} of {file} holds the task {task.id!r} {where}: move it to a file of its own")
        tasks[task.id] = task
        if isinstance(row.get("door"), str):
            doors[task.id] = row["door"]
    found = tuple(tasks.values())
    return Sample(file, found, config, registry, doors, found)
