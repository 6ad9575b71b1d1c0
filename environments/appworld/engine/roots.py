"""The server's private folder: two data roots for the engine, one for worlds (no ground truth in it), one for evaluation.

run/            0700
  socket, lock
  open/data/    api_docs, base_dbs (links), tasks/<id>/{specs.json, dbs}: the files that a world may read
  open/experiments/outputs/<experiment>/: the files that worlds write
  full/data/    the same with every task's ground truth, and synthesized tasks
  full/experiments -> open/experiments
  empty/        the working folder
"""

import fcntl
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

YOUNG = 60.0
"""Age in seconds from which a folder whose lock nobody holds is removed."""
SHARED = ("api_docs", "base_dbs", "datasets")


def sweep(parent: Path) -> None:
    """Remove the folders of servers that have ended: those whose lock nobody holds."""
    for run in parent.glob("w-*"):
        try:
            if time.time() - run.stat().st_mtime < YOUNG:
                continue  # another server may be about to lock it
            with (run / "lock").open("r+b") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(run, ignore_errors=True)
        except OSError:
            continue  # in use, not complete yet, or of another user


class Roots:
    """The two roots in `run`, over the user's data in `source` (a folder with `data` in it)."""

    def __init__(self, run: Path, source: Path) -> None:
        self.run, self.source = run, source / "data"
        self.open, self.full, self.empty = run / "open", run / "full", run / "empty"
        self.outputs = self.open / "experiments" / "outputs"

    def make(self) -> None:
        """Create the folders and links; called once."""
        for folder in (self.empty, self.outputs, self.open / "data" / "tasks", self.full / "data" / "tasks", self.run / "home"):
            folder.mkdir(parents=True)
        for root in (self.open, self.full):
            for name in SHARED:
                if (self.source / name).exists():
                    (root / "data" / name).symlink_to(self.source / name)
        (self.full / "experiments").symlink_to(self.open / "experiments")

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
        """Remove the files that a world has written."""
        shutil.rmtree(self.outputs / experiment, ignore_errors=True)

    def readable(self) -> list[str]:
        """Paths that a world's process must read: system libraries, the databases that it starts from, its own root."""
        return [
            *(str((self.open / "data" / name).resolve()) for name in ("api_docs", "base_dbs")),
            *(str(folder) for folder in (self.open, self.empty, self.run / "home")),
            *("/usr", "/lib", "/lib64", "/etc/localtime", "/etc/mime.types", "/dev/null", "/dev/urandom", "/dev/zero", "/proc/self"),
        ]
