"""Limits on a world's process that the Linux kernel enforces; they need no privileges.

Three layers: resource limits (memory, core files, open files), Landlock (files outside a list do not exist for it) and a seccomp filter (no
new process, no program, no signal to another process, no connection). None of them can be undone by the process. A layer that the
kernel does not have is skipped; `confine` returns those that are on. The code still runs in the interpreter of the simulated apps.
"""

import ctypes
import os
import platform
import resource
import signal
import struct
from collections.abc import Iterable, Sequence

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 1, 38, 22
PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE = 36, 4
CLONE_THREAD = 0x00010000
EPERM, ENOSYS = 1, 38
FILES = 256
"""Open files of one world."""

_LANDLOCK = (444, 445, 446)
_READ = 0b1 << 2 | 0b1 << 3 | 0b1 << 0  # read a file, list a folder, execute (mapping a library needs it not; harmless without execve)
_WRITE = 0b1 << 1 | 0b11111111 << 4 | 0b1 << 12  # write, make and remove files and folders
_TRUNCATE, _REFER = 0b1 << 14, 0b1 << 13

_SYSCALLS: dict[str, dict[str, int]] = {
    "x86_64": {
        "arch": 0xC000003E, "clone": 56, "clone3": 435, "kill": 62, "tgkill": 234, "tkill": 200,
        "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "ptrace": 101, "socket": 41, "connect": 42,
        "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_open": 434, "pidfd_send_signal": 424, "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297, "setsid": 112, "setpgid": 109, "io_uring_setup": 425,
    },
    "aarch64": {
        "arch": 0xC00000B7, "clone": 220, "clone3": 435, "kill": 129, "tgkill": 131, "tkill": 130,
        "execve": 221, "execveat": 281, "ptrace": 117, "socket": 198, "connect": 203,
        "process_vm_readv": 270, "process_vm_writev": 271, "pidfd_open": 434, "pidfd_send_signal": 424, "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240, "setsid": 157, "setpgid": 154, "io_uring_setup": 425,
    },
}  # fmt: skip
_SPECIAL = ("arch", "clone", "clone3", "kill", "tgkill")
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent`, which forked it, dies; exit at once if it is dead already."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Make descendants whose parents die children of this process, so that none can hide."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def confine(memory: int, readable: Sequence[str], writable: Sequence[str], kernel: bool = True) -> list[str]:
    """Limit this process to `memory` more bytes of address space than it has now, and to these paths, for good.

    `kernel=False` sets resource limits only. Returns the names of the layers that are on: rlimit, landlock, seccomp.
    """
    grown = _address_space() + memory
    for what, limit in ((resource.RLIMIT_AS, grown), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, FILES)):
        resource.setrlimit(what, (limit, limit))
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
    rules = struct.pack("Q", handled)
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
    numbers = _SYSCALLS.get(platform.machine())
    if numbers is None:
        return False
    program = b"".join(struct.pack("HBBI", *line) for line in _filter(numbers, os.getpid()))
    buffer = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    wanted = Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    return bool(_libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(wanted), 0, 0) == 0)


def _filter(numbers: dict[str, int], pid: int) -> list[tuple[int, int, int, int]]:
    """Classic BPF: allow all but the listed calls; `clone` only for threads, `kill` and `tgkill` only to this process."""
    load, equal, bits, answer = 0x20, 0x15, 0x45, 0x06
    allow, refuse, missing = 0x7FFF0000, 0x00050000 | EPERM, 0x00050000 | ENOSYS
    call, architecture, first = 0, 4, 16
    lines = [(load, 0, 0, architecture), (equal, 1, 0, numbers["arch"]), (answer, 0, 0, refuse), (load, 0, 0, call)]
    if numbers["arch"] == 0xC000003E:
        lines += [(0x35, 0, 1, 0x40000000), (answer, 0, 0, refuse)]  # the x32 numbers of the same calls
    for name, number in numbers.items():
        if name not in _SPECIAL:
            lines += [(equal, 0, 1, number), (answer, 0, 0, refuse)]
    lines += [(equal, 0, 1, numbers["clone3"]), (answer, 0, 0, missing)]  # its flags are in memory: the C library falls back to clone
    lines += [
        (equal, 0, 4, numbers["clone"]),
        (load, 0, 0, first),
        (bits, 0, 1, CLONE_THREAD),
        (answer, 0, 0, allow),
        (answer, 0, 0, refuse),
    ]
    for name in ("kill", "tgkill"):
        lines += [(equal, 0, 4, numbers[name]), (load, 0, 0, first), (equal, 0, 1, pid), (answer, 0, 0, allow), (answer, 0, 0, refuse)]
    return [*lines, (answer, 0, 0, allow)]
