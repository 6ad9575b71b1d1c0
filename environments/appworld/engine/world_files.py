"""What a world has written, as the evaluation and the leaderboard take it: named plain files of bounded size, change logs checked.

The world's process may live on and owns the folder, so each file is opened once, without following a link at any step, and what
was read is checked and written anew where the process cannot reach it.
"""

import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .change_log import Forged, checked, tables

MAX_FILE = 32 * 2**20
"""Bytes of one file."""
LOGS = ("logs/api_calls.jsonl", "logs/environment_io.md", "version/code.txt", "version/data.txt")
"""Files beside the databases that the leaderboard's tools read."""
EMPTY = ("checkpoints", "misc")
"""Folders that the engine makes."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def plain_file(folder: Path, name: str) -> bytes | None:
    """The content of `folder`/`name`. None when there is no such file, or no plain one: a link on the way or at the end, a second name of a
    file elsewhere, a device, a pipe, or more than MAX_FILE bytes."""
    *above, last = name.split("/")
    try:
        here = os.open(folder, _FOLDER)
    except OSError:
        return None
    try:
        for part in above:
            below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        return _content(os.open(last, _FILE, dir_fd=here))
    except OSError:
        return None
    finally:
        os.close(here)


def _content(opened: int) -> bytes | None:
    with open(opened, "rb") as file:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_size > MAX_FILE:
            return None
        content = file.read(MAX_FILE + 1)
    return content if len(content) <= MAX_FILE else None


def databases(written: Path, task: Path, base: Path) -> dict[str, bytes]:
    """The checked files of the folder `written`/dbs, by name, for a task in the folder `task` over the base databases `base`.

    Raises Forged when a file is missing, is not plain, or is not what the engine writes.
    """
    found = {}
    for given in sorted((task / "dbs").glob("*.jsonl")):
        log = plain_file(written, f"dbs/{given.name}")
        if log is None:
            raise Forged(f"dbs/{given.name} is missing or not a plain file of at most {MAX_FILE} bytes")
        found[given.name] = checked(log, tables(base / f"{given.stem}.db"), given.read_bytes())
    found["model_hashes.json"] = _counts(plain_file(written, "dbs/model_hashes.json"))
    return found


def _counts(content: bytes | None) -> bytes:
    """The engine's counts of changes, {app: {model: number}}."""
    try:
        counts: Any = json.loads(content or b"null")
    except (ValueError, RecursionError):
        counts = None
    if not isinstance(counts, dict) or not all(
        isinstance(models, dict) and all(type(number) is int and abs(number) < 2**63 for number in models.values())
        for models in counts.values()
    ):
        raise Forged("dbs/model_hashes.json is missing or has something else than counts of changes")
    return json.dumps(counts, indent=4).encode()


def others(written: Path) -> dict[str, bytes]:
    """The plain files among LOGS, by name; others are left out."""
    return {name: content for name in LOGS if (content := plain_file(written, name)) is not None}


def write(folder: Path, files: dict[str, bytes], empty: Iterable[str] = ()) -> None:
    """Write files into the folder, which is made if missing."""
    for name in empty:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
