"""The server's private folder: two data roots for the engine, one for worlds (no ground truth in it), one for evaluation.

run/            0700
  socket, lock
  open/data/    api_docs, base_dbs (links), tasks/<id>/{specs.json, dbs}: the files that a world may read
  open/experiments/outputs/<experiment>/: the files that worlds write
  full/data/    the same with every task's ground truth, and synthesized tasks
  full/experiments/outputs/<experiment>/: what was checked of them (world_files.py), for the evaluation
  rubbish/      files of worlds that have ended
  empty/        the working folder
"""

import contextlib
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from . import removal

YOUNG = 60.0
"""Age in seconds from which a folder whose lock nobody holds is removed."""
TIDY_SECONDS = 0.1
SHARED = ("api_docs", "base_dbs", "datasets")


def sweep(parent: Path) -> None:
    """Remove the folders of servers that have ended: those whose lock nobody holds."""
    for run in parent.glob("w-*"):
        try:
            if time.time() - run.stat().st_mtime < YOUNG:
                continue  # another server may be about to lock it
            with (run / "lock").open("r+b") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                removal.remove(run)
        except OSError:
            continue  # in use, not complete yet, or of another user


class Roots:
    """The two roots in `run`, over the user's data in `source` (a folder with `data` in it)."""

    def __init__(self, run: Path, source: Path) -> None:
        self.run, self.source = run, source / "data"
        self.open, self.full, self.empty = run / "open", run / "full", run / "empty"
        self.outputs, self.judged = self.open / "experiments" / "outputs", self.full / "experiments" / "outputs"
        self.rubbish, self.littered = run / "rubbish", False

    def make(self) -> None:
        """Create the folders and links; called once."""
        tasks = (self.open / "data" / "tasks", self.full / "data" / "tasks")
        for folder in (self.empty, self.outputs, self.judged, self.rubbish, *tasks, self.run / "home"):
            folder.mkdir(parents=True)
        for root in (self.open, self.full):
            for name in SHARED:
                if (self.source / name).exists():
                    (root / "data" / name).symlink_to(self.source / name)

    def task(self, task_id: str) -> None:
        """Add a task of the user's data to both roots, unless it is there. Raises LookupError when the data lacks it."""
        if "/" in task_id or task_id.startswith(".") or not (self.source / "tasks" / task_id / "specs.json").is_file():
            raise LookupError(f"there is no task {task_id!r} in {self.source}")
        full = self.full / "data" / "tasks" / task_id
        if not full.exists():
            full.symlink_to(self.source / "tasks" / task_id)
        self._publish(task_id)

    def synthesized(self, task_id: str, write: Callable[[Path], object]) -> None:
        """Add a synthesized task to both roots, unless it is there; `write` gets the folder of the full root's tasks to write it."""
        full = self.full / "data" / "tasks" / task_id
        if not full.exists():
            write(full.parent)
        self._publish(task_id)

    def holds(self, task_id: str) -> bool:
        """Whether worlds can open the task already."""
        return (self.open / "data" / "tasks" / task_id).exists()

    def _publish(self, task_id: str) -> None:
        public, full = self.open / "data" / "tasks" / task_id, self.full / "data" / "tasks" / task_id
        if not public.exists():
            part = public.with_name(f".{task_id}.{os.getpid()}")
            part.mkdir()
            shutil.copy(full / "specs.json", part / "specs.json")
            shutil.copytree(full / "dbs", part / "dbs")
            part.rename(public)

    def forget(self, experiment: str) -> None:
        """Have `tidy` remove the files that a world has written, and what was made of them."""
        for outputs in (self.outputs, self.judged):
            with contextlib.suppress(FileNotFoundError):
                (outputs / experiment).rename(self.rubbish / f"{experiment}-{outputs.parent.parent.name}")
                self.littered = True

    def tidy(self) -> None:
        """Remove forgotten files for TIDY_SECONDS at most, so that no number of them keeps the server from its work."""
        if self.littered:
            self.littered = not removal.empty(self.rubbish, TIDY_SECONDS)

    def readable(self, task_id: str) -> list[str]:
        """Paths that a world of the task must read: the engine, the databases that it starts from, the task's own folder."""
        return [*self._shared(), str(self.open / "data" / "tasks" / task_id)]

    def readable_with_truth(self, task_id: str, experiment: str) -> list[str]:
        """Paths that the evaluation of a world must read: the task with its ground truth, and what the world has written."""
        return [*self._shared(), str((self.full / "data" / "tasks" / task_id).resolve()), str(self.outputs / experiment)]

    def _shared(self) -> list[str]:
        return [
            *(str((self.open / "data" / name).resolve()) for name in ("api_docs", "base_dbs")),
            *(str(folder) for folder in (self.empty, self.run / "home", sys.prefix, sys.base_prefix, Path(__file__).parent)),
            *("/usr", "/lib", "/lib64", "/etc/localtime", "/etc/mime.types", "/dev/null", "/dev/urandom", "/dev/zero", "/proc/self"),
        ]
