"""A run's folder, which one process at a time may write.

config.toml     the resolved configuration                             write_config
versions.json   Python, libraries, plugins, variables                  write_versions
run.sqlite      everything that happened                               record/store.py
checkpoints/    the trainer's files, sealed with their digests         the trainer, record/checkpoints.py
policy/         the trained policy                                     the trainer's save_policy
summary.json    the final table as data                                write_summary, record/summary.py
"""

import errno
import importlib.metadata
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..errors import CoevolveError, UserError, translated
from ..record.store import Store
from ..registry import Registry
from ..settings.config import Config, dump_toml
from ..text import command_line

VERSIONED = ("coevolve", "torch", "transformers", "trl", "peft", "accelerate", "datasets", "numpy", "safetensors", "attrs", "pluggy")

VARIABLES = ("ACCELERATE_", "FSDP_", "PARALLELISM_CONFIG_", "TORCH", "NVIDIA_TF32", "CUBLAS_", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Beginnings of the environment variables from which the libraries take how they compute."""

SMALL = 64 << 20
"""Fewer free bytes than this: a disk that may have been full when an error named no file."""
FULL = (os.strerror(errno.ENOSPC), "disk is full", "unexpected pos")
"""Words in the errors of libraries that meet a full disk; the last is that of torch's archive writer."""


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Lock the run's folder, so that two processes cannot write one run; UserError when it is locked."""
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise UserError(f"{folder} is in use by another coevolve process; wait for it, or choose another --out") from None
    try:
        yield
    finally:
        lock.release()


def check_new(folder: Path) -> None:
    """UserError where a run cannot begin in `folder`, which may be absent or empty."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:  # the libraries that save models cannot write there
        raise UserError(
            f"the name {folder} is not text in the locale's encoding: choose another --out, or set the variable LC_ALL=C.UTF-8"
        ) from None
    with disk_errors(folder):
        if folder.is_symlink() and not folder.exists():
            raise UserError(f"{folder} is a link to {os.readlink(folder)}, which is not there: choose another --out, or remove the link")
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder} is a file: choose another --out")
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"{folder} is not empty: choose another --out, or go on with it: {command_line('coevolve', 'resume', folder)}")


def open_store(folder: Path) -> Store:
    """The store of a run that resumes, made anew where the run stopped before it had one. UserError when it is lost."""
    path, checkpoints = folder / "run.sqlite", folder / "checkpoints"
    lost = not path.exists() or path.stat().st_size == 0
    if lost and checkpoints.is_dir() and any(checkpoints.iterdir()):
        again = command_line("coevolve", "run", "--config", folder / "config.toml", "--out", "OTHER")
        raise UserError(f"{folder} has checkpoints, but its {path.name} is lost: restore it from a copy, or begin again: {again}")
    return Store(path, create=True)


def write_versions(registry: Registry, folder: Path) -> None:
    """Write the versions of Python, the libraries and every working plugin to versions.json, and the variables that the libraries read."""
    found: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in VERSIONED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    found["plugins"] = [f"{record.name} ({record.distribution} {record.version})" for record in registry.records if not record.error]
    found["variables"] = {name: value for name, value in sorted(os.environ.items()) if name.startswith(VARIABLES)}
    (folder / "versions.json").write_text(json.dumps(found, indent=1), "utf-8")


def write_summary(summary: Mapping[str, Any], folder: Path) -> None:
    """Write the final table as data to summary.json."""
    (folder / "summary.json").write_text(json.dumps(summary, indent=1), "utf-8")


def write_config(config: Config, folder: Path) -> None:
    """Replace the run's config.toml in one step: killed anywhere, the run has the old one or the new one."""
    file, made = folder / "config.toml", folder / "config.toml.new"
    made.write_text(dump_toml(config), "utf-8")
    os.replace(made, file)


def disk_errors(folder: Path) -> AbstractContextManager[None]:
    """Turn errors of the disk (full, read-only) into one line; every other error keeps its traceback."""
    return translated(partial(_disk_fault, folder))


def _full(folder: Path, filename: object) -> str:
    """The place whose disk is full: the run's folder, or the one for temporary files, where libraries write too."""
    temporary = tempfile.gettempdir()
    if isinstance(filename, str) and filename.startswith(temporary) and not filename.startswith(str(folder.absolute())):
        return f"{temporary} (the variable TMPDIR)"
    free = {}
    for place in (str(folder), temporary):
        with suppress(OSError):
            free[place] = shutil.disk_usage(place).free
    fuller = free.get(temporary, 0) < free.get(str(folder), 0) and free.get(temporary, 0) < SMALL
    return f"{temporary} (the variable TMPDIR)" if fuller else str(folder)


def _disk_fault(folder: Path, error: Exception) -> CoevolveError | None:
    if isinstance(error, UserError):
        return None
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT) or any(words in str(error) for words in FULL):
        return CoevolveError(f"the disk of {_full(folder, getattr(error, 'filename', None))} is full: free space")
    if number in (errno.EACCES, errno.EROFS) and str(tempfile.gettempdir()) in str(getattr(error, "filename", "")):
        return UserError(f"cannot write in {tempfile.gettempdir()}: {os.strerror(number)}; set TMPDIR to a folder that is writable")
    denied = (errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOTDIR, errno.ENOENT, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL)
    if number in denied and str(folder) in str(getattr(error, "filename", "")):
        return UserError(f"cannot write the run in {folder}: {os.strerror(number)}; choose another --out")
    if number in (errno.EEXIST, errno.EISDIR) and str(folder) in str(getattr(error, "filename", "")):
        return UserError(f"cannot write {error.filename}: {os.strerror(number)}; move it away")  # type: ignore[attr-defined]  # an OSError has it
    return None
