"""Where tasks begin: the worlds that are the same before anybody acts."""

import hashlib
import json
from pathlib import Path
from typing import Any, Protocol

from coevolve import Task

from .engine.canonical import text_of


class RunsCode(Protocol):
    """The part of the world pool that is needed here: it executes code from a task's beginning, in a world of its own."""

    root: Path
    """The data root."""

    def trace(self, task: Task, code: list[str]) -> dict[str, Any]:
        """See `engine/synthesize.py`: ok, error, completed, status, answer, diff, calls, user."""


def start_of(task: Task) -> str:
    """The id of the engine's task that `task` begins as."""
    return str(task.payload.get("start", task.id))


def beginning(root: Path, task: Task) -> str:
    """A digest of the world that a task begins in: whose it is, when, and what its databases hold beyond the common ones.

    The instruction is not part of it. Raises LookupError when the data has no such task.
    """
    folder = root / "data" / "tasks" / start_of(task)
    try:
        specs = json.loads((folder / "specs.json").read_text(encoding="utf-8"))
        changes = [(file.name, _file_digest(file)) for file in sorted((folder / "dbs").glob("*.jsonl")) if file.stem != "supervisor"]
    except OSError as error:
        raise LookupError(f"there is no task {start_of(task)!r} in {root}") from error
    return digest([specs.get("supervisor") or specs.get("main_user"), specs.get("datetime"), changes])


def _file_digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def digest(value: Any) -> str:
    """A digest of a JSON value; equal numbers (0 and 0.0) are equal."""
    return hashlib.sha256(text_of(json.loads(json.dumps(value))).encode()).hexdigest()
