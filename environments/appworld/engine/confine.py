"""Limits on a world's process that the Linux kernel enforces; they need no privileges.

Three layers: resource limits (memory, processor time, size and number of files), Landlock (files outside a list do not exist for it, nor do
signals and sockets of others where the kernel's version knows them) and a filter that allows listed system calls alone (system_calls.py).
None of them can be undone by the process. A layer that the kernel does not have is skipped; `confine` returns those that are on. The code
still runs in the interpreter of the simulated apps.
"""

import ctypes
import os
import platform
import resource
import signal
import struct
from collections.abc import Iterable, Sequence

from . import system_calls

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 1, 38, 22
PR_SET_CHILD_SUBREAPER = 36
FILES = 256
"""Open files of one world."""
FILE_BYTES = 256 * 2**20
"""Size of the largest file that it may write."""

_LANDLOCK = (444, 445, 446)
_READ = 0b1 << 2 | 0b1 << 3 | 0b1 << 0  # read a file, list a folder, execute (mapping a library needs it not; harmless without execve)
_WRITE = 0b1 << 1 | 0b11111111 << 4 | 0b1 << 12  # write, make and remove files and folders
_TRUNCATE, _REFER = 0b1 << 14, 0b1 << 13

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent`, which forked it, dies; exit at once if it is dead already."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Make descendants whose parents die children of this process, so that none can hide."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def confine(memory: int, readable: Sequence[str], writable: Sequence[str], kernel: bool = True, cpu: int = 0) -> list[str]:
    """Limit this process to `memory` more bytes of address space than it has now, and to these paths, for good.

    `kernel=False` sets resource limits only. After `cpu` seconds of processor time (0: any number) it is ended by SIGXCPU. Returns the
    names of the layers that are on: rlimit, landlock, seccomp.
    """
    sizes = ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, FILES), (resource.RLIMIT_FSIZE, FILE_BYTES))
    for what, limit in ((resource.RLIMIT_AS, _address_space() + memory), *sizes):
        resource.setrlimit(what, (limit, limit))
    if cpu:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    if not kernel or _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return ["rlimit"]
    on = ["rlimit"]
    if _landlock(readable, writable):
        on.append("landlock")
    if _seccomp():
        on.append("seccomp")
    return on


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _landlock(readable: Iterable[str], writable: Iterable[str]) -> bool:
    create, add, restrict = _LANDLOCK
    abi = _libc.syscall(create, None, ctypes.c_size_t(0), 1)
    if abi < 1:
        return False
    handled = _READ | _WRITE | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    network, scoped = (0b11 if abi >= 4 else 0), (0b11 if abi >= 6 else 0)  # TCP; abstract sockets and signals outside this process
    rules = struct.pack("QQQ", handled, network, scoped)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    ruleset = _libc.syscall(create, rules, ctypes.c_size_t(len(rules)), 0)
    if ruleset < 0:
        return False
    try:
        for paths, access in ((readable, _READ), (writable, handled)):
            for path in paths:
                _allow(add, ruleset, path, access)
        return bool(_libc.syscall(restrict, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _allow(add: int, ruleset: int, path: str, access: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a path that does not exist needs no rule
    try:
        if not os.path.isdir(path):
            access &= 0b111 | _TRUNCATE  # the kernel refuses a folder's rights on a file
        beneath = struct.pack("<Qi", access, opened)
        _libc.syscall(add, ruleset, 1, beneath, 0)
    finally:
        os.close(opened)


def _seccomp() -> bool:
    machine = system_calls.MACHINES.get(platform.machine())
    if machine is None:
        return False
    program = b"".join(struct.pack("HBBI", *line) for line in system_calls.program(machine, os.getpid()))
    buffer = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    wanted = Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    return bool(_libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(wanted), 0, 0) == 0)
