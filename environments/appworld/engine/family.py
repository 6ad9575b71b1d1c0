"""Forked processes: how they are started, and how they and all their descendants are ended for certain."""

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from typing import NoReturn

from . import confine

ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR", "IPYTHONDIR", "APPWORLD_ROOT", "APPWORLD_CACHE", "COEVOLVE_EXPERIMENT")
"""The only environment variables of a forked process."""


def scrub() -> None:
    """Remove every environment variable that is not in ENVIRONMENT."""
    for name in set(os.environ) - set(ENVIRONMENT):
        del os.environ[name]


def fork(work: Callable[[socket.socket], None]) -> tuple[int, socket.socket]:
    """Run `work` in a child process; returns its id and a non-blocking socket to it.

    The child has the other end of the socket pair and no other open descriptor.
    """
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _child(work, theirs, parent)
    theirs.close()
    ours.setblocking(False)
    return pid, ours


def _child(work: Callable[[socket.socket], None], channel: socket.socket, parent: int) -> NoReturn:
    code = 1
    try:
        os.setsid()
        confine.die_with_parent(parent)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        kept = channel.fileno()
        os.closerange(3, kept)
        os.closerange(kept + 1, 65_536)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        work(channel)
        code = 0
    finally:
        sys.stdout = sys.stderr = None  # nothing is left to be written at the end
        os._exit(code)


def descendants(roots: Iterable[int]) -> dict[int, set[int]]:
    """For each of `roots` its descendants, read from /proc; empty sets where there is no /proc."""
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and (parent := _parent(int(name))) is not None:
                children.setdefault(parent, []).append(int(name))
    found: dict[int, set[int]] = {}
    for root in roots:
        below, open_ = set[int](), list(children.get(root, ()))
        while open_:
            pid = open_.pop()
            if pid not in below:
                below.add(pid)
                open_ += children.get(pid, ())
        found[root] = below
    return found


def _parent(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None


def cpu_seconds(pid: int) -> float:
    """Processor seconds of a process and of the children that it waited for; 0 where there is no /proc."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def kill_tree(pid: int) -> None:
    """Kill a child and all its descendants. They are stopped first, so that none of them forks in between."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for one in (pid, *descendants([pid])[pid]):
            _signal(one, number)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
