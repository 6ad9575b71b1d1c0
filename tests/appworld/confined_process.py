"""A process that confines itself, tries what it may and what it must not, and prints what came of it, for test_confinement.py.

confined_process.py PACKAGE_PARENT OWN_FOLDER FOREIGN_FILE NUMBERS. Prints [layers that are on, {attempt: result or the error's name}].
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, sys.argv[1])
from engine import confine  # type: ignore[import-not-found]

OWN, FOREIGN, NUMBERS = sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
libc = ctypes.CDLL(None, use_errno=True)
left, right = socket.socketpair()
parent = os.getpid()
child = os.fork()
if child == 0:  # another process of the same user, to be left alone
    confine.die_with_parent(parent)
    for standard in range(3):
        os.close(standard)
    time.sleep(60)
    os._exit(0)
on = confine.confine(2**29, ["/usr", "/lib", "/lib64", sys.base_prefix, "/dev/null", "/proc/self"], [OWN, "/dev/null"])
found: dict[str, Any] = {}


def attempt(name: str, work: Callable[[], Any]) -> None:
    try:
        found[name] = work()
    except Exception as error:  # noqa: BLE001 - its name is the result
        found[name] = type(error).__name__


def raw(number: int, first: int) -> str:
    given = [ctypes.c_long(value) for value in (number, first, 0, 0, 0, 0, 0)]
    return errno.errorcode[ctypes.get_errno()] if libc.syscall(*given) == -1 else "done"


def thread() -> list[int]:
    seen: list[int] = []
    worker = threading.Thread(target=lambda: seen.append(1))
    worker.start()
    worker.join()
    return seen


def database() -> list[Any]:
    opened = sqlite3.connect(f"{OWN}/x.db")
    opened.execute("CREATE TABLE t (a)")
    opened.execute("INSERT INTO t VALUES (1)")
    opened.commit()
    return opened.execute("SELECT * FROM t").fetchall()


def file() -> str:
    with open(f"{OWN}/y", "w") as made:
        made.write("text")
    os.rename(f"{OWN}/y", f"{OWN}/z")
    with open(f"{OWN}/z") as made:
        text = made.read()
    os.remove(f"{OWN}/z")
    os.mkdir(f"{OWN}/d")
    os.rmdir(f"{OWN}/d")
    return text


def pair() -> str:
    left.sendall(b"x")
    return right.recv(9).decode()


def new_pair() -> str:
    one, other = socket.socketpair()
    one.sendall(b"y")
    return other.recv(9).decode()


def limits() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_CORE)


def large_file() -> None:
    with open(f"{OWN}/big", "wb") as made:
        made.seek(confine.FILE_BYTES)
        made.write(b"x")


for work in (thread, database, file, pair, new_pair, limits):
    attempt(f"may {work.__name__}", work)
if "seccomp" in on:
    for name, number in NUMBERS.items():
        attempt(name, lambda: raw(number, child if "another" in name else 0))  # noqa: B023 - called at once
REFUSED: dict[str, Callable[[], Any]] = {
    "read a foreign file": lambda: Path(FOREIGN).read_text(),
    "write a foreign file": lambda: Path(FOREIGN).write_text("changed"),
    "remove a foreign file": lambda: os.remove(FOREIGN),
    "list a foreign folder": lambda: os.listdir(os.path.dirname(FOREIGN)),
    "list processes": lambda: os.listdir("/proc"),
    "empty a file that is read": lambda: os.open(f"{OWN}/x.db", os.O_RDONLY | os.O_TRUNC),
    "signal another": lambda: os.kill(child, signal.SIGTERM),
    "kill itself": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop itself": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "signal by a descriptor": lambda: fcntl.fcntl(left, fcntl.F_SETSIG, signal.SIGKILL),
    "own a descriptor's signals": lambda: fcntl.fcntl(left, fcntl.F_SETOWN, child),
    "own them by ioctl": lambda: fcntl.ioctl(left, 0x8901, child.to_bytes(4, sys.byteorder)),
    "change its limits": lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, 1)),
    "a pair of datagram sockets": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
    "a large file": large_file,
}
for name, work_ in REFUSED.items():
    attempt(name, work_)
print(json.dumps([on, found], default=str))
