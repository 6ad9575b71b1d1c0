"""Checkpoints are sealed with their files' digests, so that a resume skips one with a lost or truncated file."""

import hashlib
import json
from pathlib import Path

from ..errors import UserError
from ..text import command_line
from .permissions import share
from .store import Store

SEAL = "sealed.json"


def seal(folder: Path) -> None:
    """Write down the SHA-256 of every file of a complete checkpoint, and let others read it as far as the umask does."""
    digests = {str(file.relative_to(folder)): _digest(file) for file in _files(folder)}
    (folder / SEAL).write_text(json.dumps(digests, indent=1), "utf-8")
    share(folder)


def damage(folder: Path) -> str | None:
    """What is wrong with a sealed checkpoint, for the user; None when it is whole."""
    try:
        sealed = json.loads((folder / SEAL).read_text("utf-8"))
        for name, digest in sealed.items():
            if not (folder / name).is_file():
                return f"{name} is missing"
            if _digest(folder / name) != digest:
                return f"{name} is not what was written"
    except FileNotFoundError:
        return f"{SEAL} is missing" if folder.is_dir() else "its folder is missing"
    except (OSError, ValueError, AttributeError) as error:
        return f"it cannot be read: {error}"
    return None


def newest_whole(store: Store, folder: Path) -> tuple[tuple[int, str] | None, str | None]:
    """The checkpoint that the run in `folder` goes on from (None: it has none yet), and a note when a newer one is damaged.

    UserError when there were checkpoints and none is whole.
    """
    found = store.checkpoints()
    first = None
    for iteration, name in found:
        why = damage(folder / name)
        if why is None:
            note = f"{first}; going on from iteration {iteration}, the last whole one" if first else None
            return (iteration, name), note
        first = first or f"the checkpoint of iteration {iteration}, {folder / name}, is damaged ({why})"
    if first:
        again = command_line("coevolve", "run", "--config", folder / "config.toml", "--out", "OTHER")
        raise UserError(f"{first} and no earlier one is whole: restore the checkpoints from a copy, or begin again: {again}")
    return None, None


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file() and file.name != SEAL)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
