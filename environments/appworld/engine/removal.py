"""Removes folders that hostile code has filled: nested as deep as it likes, with any names and modes, without recursion.

`shutil.rmtree` calls itself once for each level, so 1,000 nested folders end the program that removes them, and a path may be at most 4,096
bytes long. Here one folder is open beside the top; the way back up is `..`; what lies deeper than LEVELS is moved to the top first.
"""

import contextlib
import itertools
import math
import os
import time
from pathlib import Path

LEVELS = 200
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_numbers = itertools.count()


def remove(folder: Path) -> None:
    """Remove the folder and all that is in it; links are removed, not followed. What cannot be removed stays; nothing is raised."""
    empty(folder)
    with contextlib.suppress(OSError):
        folder.unlink() if folder.is_symlink() else folder.rmdir()


def empty(folder: Path, seconds: float = math.inf) -> bool:
    """Remove what is in the folder, for about `seconds` and one entry at least; returns whether nothing that can be removed is left."""
    try:
        top = os.open(folder, _OPEN)
    except OSError:
        return True
    try:
        walk = _Walk(top, time.monotonic() + seconds)
        while walk.pass_over():
            continue
        return not walk.out
    finally:
        os.close(top)


class _Walk:
    """Goes through all that is below `top`, an open folder, depth first."""

    def __init__(self, top: int, until: float) -> None:
        self.top, self.until, self.removed = top, until, 0
        self.here, self.names = os.dup(top), [_names(top)]
        self.above: list[tuple[str, tuple[int, int]]] = []
        """The name of each folder that was entered, and what identifies the folder that it is in."""
        self.stuck: set[str] = set()

    @property
    def out(self) -> bool:
        """Whether the time is over."""
        return self.removed > 0 and time.monotonic() > self.until

    def pass_over(self) -> bool:
        """Remove everything once; returns whether something was moved to the top meanwhile, so that another pass is needed."""
        moved = False
        while not self.out:
            if self.names[-1]:
                moved |= self._entry(self.names[-1].pop())
            elif not self.above or not self._up():
                break
        os.close(self.here)
        self.here, self.above = os.dup(self.top), []
        self.names = [[name for name in _names(self.top) if name not in self.stuck]] if moved else [[]]
        return moved and not self.out

    def _entry(self, name: str) -> bool:
        """Remove an entry of the folder that is open, or enter it, or move it to the top, which is returned."""
        if self._unlinked(name):
            return False
        with contextlib.suppress(OSError):
            os.chmod(name, 0o700, dir_fd=self.here)  # a folder (anything else would be gone) that may be closed to everyone
        if len(self.above) >= LEVELS:
            with contextlib.suppress(OSError):
                os.rename(name, f"{os.getpid()}-{next(_numbers)}", src_dir_fd=self.here, dst_dir_fd=self.top)
                return True
            return False
        try:
            inside = os.open(name, _OPEN, dir_fd=self.here)
        except OSError:
            return False
        self.above.append((name, _identity(self.here)))
        self.names.append(_names(inside))
        os.close(self.here)
        self.here = inside
        return False

    def _up(self) -> bool:
        """Go back to the folder above and remove the one that was emptied; False when the way up leads elsewhere."""
        name, identity = self.above.pop()
        self.names.pop()
        try:
            above = os.open("..", _OPEN, dir_fd=self.here)
        except OSError:
            return False
        os.close(self.here)
        self.here = above
        if _identity(above) != identity:
            return False
        if not self._unlinked(name) and not self.above:
            self.stuck.add(name)
        return True

    def _unlinked(self, name: str) -> bool:
        """Remove a file, a link or an empty folder."""
        for remove_one in (os.unlink, os.rmdir):
            try:
                remove_one(name, dir_fd=self.here)
            except FileNotFoundError:
                return True
            except OSError:
                continue
            self.removed += 1
            return True
        return False


def _identity(opened: int) -> tuple[int, int]:
    found = os.fstat(opened)
    return found.st_dev, found.st_ino


def _names(opened: int) -> list[str]:
    try:
        with os.scandir(opened) as entries:
            return [entry.name for entry in entries]
    except OSError:
        return []
