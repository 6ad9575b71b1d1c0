"""The system calls that a world may make: an allow-list as a seccomp filter (classic BPF) for Linux on x86-64 and 64-bit ARM.

Allowed is what an interpreter with databases in memory needs: memory, files (of which Landlock leaves it few), time, threads, waiting,
and the socket pair that it was born with. All other calls fail with EPERM, those that a future kernel adds as well. So there is no
new process, program, connection, mount, namespace, key, tracing, shared memory, message queue or timer that sends signals; no link,
device, change of modes, owners, times or attributes of files; no change of priorities, limits or processors, of itself or of others. Some
calls are allowed with certain arguments only (`_with_arguments`).
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

EPERM, ENOSYS = 1, 38
SIGKILL, SIGSTOP = 9, 19
Line = tuple[int, int, int, int]
"""Operation, lines to skip when the test holds, lines to skip when it does not, value."""


class Machine(NamedTuple):
    """Of one kind of processor: its number in the kernel's audit interface, and the numbers of the calls."""

    audit: int
    plain: dict[str, int]
    """Calls that are allowed whatever their arguments."""
    special: dict[str, int]
    """Calls of which the arguments decide."""


MACHINES = {
    "x86_64": Machine(
        0xC000003E,
        {
            "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
            "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "pread64": 17, "pwrite64": 18, "readv": 19, "writev": 20,
            "futex": 202, "clock_gettime": 228, "clock_nanosleep": 230, "nanosleep": 35, "newfstatat": 262,
            "getdents64": 217, "getpid": 39, "gettid": 186, "getcwd": 79, "recvfrom": 45, "ppoll": 271, "pselect6": 270,
            "epoll_create1": 291, "epoll_ctl": 233, "epoll_pwait": 281, "mremap": 25, "msync": 26, "mincore": 27, "sched_yield": 24,
            "dup": 32, "dup3": 292, "pipe2": 293, "getitimer": 36, "setitimer": 38, "exit": 60, "exit_group": 231, "uname": 63,
            "faccessat": 269, "faccessat2": 439, "readlinkat": 267, "statx": 332, "statfs": 137, "fstatfs": 138,
            "ftruncate": 77, "fallocate": 285, "fsync": 74, "fdatasync": 75, "fadvise64": 221, "chdir": 80, "mkdirat": 258, "unlinkat": 263,
            "renameat": 264, "renameat2": 316, "umask": 95, "getrusage": 98, "times": 100, "sysinfo": 99, "gettimeofday": 96,
            "clock_getres": 229, "getuid": 102, "geteuid": 107, "getgid": 104, "getegid": 108, "getppid": 110, "getpgid": 121,
            "getsid": 124, "getgroups": 115, "sched_getaffinity": 204, "sched_getparam": 143, "sched_getscheduler": 145,
            "sched_get_priority_max": 146, "sched_get_priority_min": 147, "getcpu": 309, "sigaltstack": 131, "rt_sigpending": 127,
            "rt_sigsuspend": 130, "rt_sigtimedwait": 128, "restart_syscall": 219, "set_tid_address": 218, "set_robust_list": 273,
            "get_robust_list": 274, "rseq": 334, "membarrier": 324, "getrandom": 318, "wait4": 61, "waitid": 247, "shutdown": 48,
            "getsockopt": 55, "getsockname": 51, "getpeername": 52, "eventfd2": 290, "close_range": 436, "getrlimit": 97,
            "stat": 4, "lstat": 6, "access": 21, "poll": 7, "select": 23, "pipe": 22, "dup2": 33, "getpgrp": 111, "getdents": 78,
            "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85, "unlink": 87, "readlink": 89, "time": 201, "epoll_create": 213,
            "epoll_wait": 232, "eventfd": 284, "arch_prctl": 158, "pause": 34,
        },
        {
            "clone": 56, "clone3": 435, "openat2": 437, "open": 2, "openat": 257, "kill": 62, "tgkill": 234, "prlimit64": 302, "fcntl": 72,
            "ioctl": 16, "prctl": 157, "madvise": 28, "socketpair": 53, "sendto": 44,
        },
    ),
    "aarch64": Machine(
        0xC00000B7,
        {
            "read": 63, "write": 64, "close": 57, "fstat": 80, "lseek": 62, "mmap": 222, "mprotect": 226, "munmap": 215, "brk": 214,
            "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "pread64": 67, "pwrite64": 68, "readv": 65, "writev": 66,
            "futex": 98, "clock_gettime": 113, "clock_nanosleep": 115, "nanosleep": 101, "newfstatat": 79, "getdents64": 61,
            "getpid": 172, "gettid": 178, "getcwd": 17, "recvfrom": 207, "ppoll": 73, "pselect6": 72, "epoll_create1": 20, "epoll_ctl": 21,
            "epoll_pwait": 22, "mremap": 216, "msync": 227, "mincore": 232, "sched_yield": 124, "dup": 23, "dup3": 24, "pipe2": 59,
            "getitimer": 102, "setitimer": 103, "exit": 93, "exit_group": 94, "uname": 160, "faccessat": 48, "faccessat2": 439,
            "readlinkat": 78, "statx": 291, "statfs": 43, "fstatfs": 44, "ftruncate": 46, "fallocate": 47, "fsync": 82,
            "fdatasync": 83, "fadvise64": 223, "chdir": 49, "mkdirat": 34, "unlinkat": 35, "renameat": 38, "renameat2": 276, "umask": 166,
            "getrusage": 165, "times": 153, "sysinfo": 179, "gettimeofday": 169, "clock_getres": 114, "getuid": 174, "geteuid": 175,
            "getgid": 176, "getegid": 177, "getppid": 173, "getpgid": 155, "getsid": 156, "getgroups": 158, "sched_getaffinity": 123,
            "sched_getparam": 121, "sched_getscheduler": 120, "sched_get_priority_max": 125, "sched_get_priority_min": 126, "getcpu": 168,
            "sigaltstack": 132, "rt_sigpending": 136, "rt_sigsuspend": 133, "rt_sigtimedwait": 137, "restart_syscall": 128,
            "set_tid_address": 96, "set_robust_list": 99, "get_robust_list": 100, "rseq": 293, "membarrier": 283, "getrandom": 278,
            "wait4": 260, "waitid": 95, "shutdown": 210, "getsockopt": 209, "getsockname": 204, "getpeername": 205, "eventfd2": 19,
            "close_range": 436, "getrlimit": 163,
        },
        {
            "clone": 220, "clone3": 435, "openat2": 437, "openat": 56, "kill": 129, "tgkill": 131, "prlimit64": 261, "fcntl": 25,
            "ioctl": 29, "prctl": 167, "madvise": 233, "socketpair": 199, "sendto": 206,
        },
    ),
}  # fmt: skip
"""By platform.machine(). Elsewhere there is no filter."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _REFUSE, _MISSING = 0x7FFF0000, 0x00050000 | EPERM, 0x00050000 | ENOSYS
_CALL, _AUDIT, _ARGUMENTS = 0, 4, 16
_CLONE_THREAD, _CLONE_NEW = 0x00010000, 0x7E020000
"""`clone` makes a thread; `clone` makes a namespace (any of these bits)."""
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 1030)
"""F_DUPFD, GETFD, SETFD, GETFL, SETFL, GETLK, SETLK, SETLKW, DUPFD_CLOEXEC. F_SETOWN and F_SETSIG would send any signal to any process."""
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
_PRCTL = (15, 16, 0x53564D41)
"""PR_SET_NAME, PR_GET_NAME, PR_SET_VMA (the C library names its memory)."""
_UNIX, _STREAM, _SOCKET_FLAGS = 1, 1, 0x80800
_TRUNC, _WRITES = 0o1000, 0b11
"""Flags of open: empty the file; its mode (1 and 2 write)."""
_HWPOISON = 100
"""The first advice on memory that breaks it."""


def program(machine: Machine, pid: int) -> list[Line]:
    """The filter for the process `pid`."""
    lines: list[Line] = [(_LOAD, 0, 0, _AUDIT), (_EQUAL, 1, 0, machine.audit), _refuse(), (_LOAD, 0, 0, _CALL)]
    for number in machine.plain.values():
        lines += [(_EQUAL, 0, 1, number), _allow()]
    for name, block in _with_arguments(machine.special, pid):
        lines += [(_EQUAL, 0, len(block), machine.special[name]), *block]
    return [*lines, _refuse()]


def _with_arguments(calls: Collection[str], pid: int) -> Iterator[tuple[str, list[Line]]]:
    """Calls with the lines that decide on them; each block ends with an answer."""
    # The flags of clone3 and the rules of openat2 are in memory, out of the filter's sight: the C library falls back to clone and openat.
    yield "clone3", [(_ANSWER, 0, 0, _MISSING)]
    yield "openat2", [(_ANSWER, 0, 0, _MISSING)]
    yield "clone", [_argument(0), (_ANY_BIT, 2, 0, _CLONE_NEW), (_ANY_BIT, 0, 1, _CLONE_THREAD), _allow(), _refuse()]
    for name, signal in (("kill", 1), ("tgkill", 2)):
        # Not SIGKILL even to itself: a world that is killed so passes for one that the system was short of memory for.
        own = [_argument(0), (_EQUAL, 0, 4, pid), _argument(signal)]
        yield name, [*own, (_EQUAL, 2, 0, SIGKILL), (_EQUAL, 1, 0, SIGSTOP), _allow(), _refuse()]
    if "open" in calls:
        yield "open", _open(1)
    yield "openat", _open(2)
    yield "prlimit64", [*_zero(0), *_zero(2), *_zero(2, high=True), _allow()]  # it may look at its own limits
    yield "fcntl", _one_of(1, _FCNTL)
    yield "ioctl", _one_of(1, _IOCTL)
    yield "prctl", _one_of(0, _PRCTL)
    yield "madvise", [_argument(2), (_AT_LEAST, 1, 0, _HWPOISON), _allow(), _refuse()]
    # A pair of datagram sockets could send to any socket that has a name; a stream stays with its other end.
    pair = [_argument(0), (_EQUAL, 0, 4, _UNIX), _argument(1), (_AND, 0, 0, 0xFFFFFFFF ^ _SOCKET_FLAGS), (_EQUAL, 0, 1, _STREAM)]
    yield "socketpair", [*pair, _allow(), _refuse()]
    yield "sendto", [*_zero(4), *_zero(4, high=True), _allow()]


def _argument(number: int, high: bool = False) -> Line:
    """Load half of an argument: the low 32 bits, or the high ones."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * number + 4 * high)


def _zero(number: int, high: bool = False) -> list[Line]:
    """Refuse unless this half of the argument is 0."""
    return [_argument(number, high), (_EQUAL, 1, 0, 0), _refuse()]


def _open(flags: int) -> list[Line]:
    """Refuse to empty a file that is not opened for writing: the first versions of Landlock do not see that (nor the call truncate)."""
    return [_argument(flags), (_AND, 0, 0, _TRUNC | _WRITES), (_EQUAL, 2, 0, _TRUNC), (_EQUAL, 1, 0, _TRUNC | _WRITES), _allow(), _refuse()]


def _one_of(number: int, values: tuple[int, ...]) -> list[Line]:
    tests = [line for value in values for line in ((_EQUAL, 0, 1, value), _allow())]
    return [_argument(number), *tests, _refuse()]


def _allow() -> Line:
    return (_ANSWER, 0, 0, _ALLOW)


def _refuse() -> Line:
    return (_ANSWER, 0, 0, _REFUSE)
