"""What the kernel refuses to a confined process, without the engine: one process confines itself, tries everything and reports."""

import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from coevolve.environments.appworld.engine import confine, system_calls

ENGINE = Path(confine.__file__).parent.parent
SCRIPT = Path(__file__).with_name("confined_process.py")
X86 = {
    **{"ptrace": 101, "prlimit on another process": 302, "setpriority": 141, "sched_setaffinity": 203, "sched_setscheduler": 144},
    **{"shmget": 29, "semget": 64, "msgget": 68, "add_key": 248, "request_key": 249, "keyctl": 250, "mq_open": 240, "mq_notify": 244},
    **{"process_vm_readv": 310, "process_vm_writev": 311, "pidfd_open": 434, "pidfd_getfd": 438, "pidfd_send_signal": 424},
    **{"io_uring_setup": 425, "userfaultfd": 323, "bpf": 321, "perf_event_open": 298, "memfd_create": 319, "timer_create": 222},
    **{"mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "fsopen": 430, "open_tree": 428, "unshare": 272, "setns": 308},
    **{"chmod": 90, "fchmodat": 268, "fchmodat2": 452, "chown": 92, "fchownat": 260, "utimensat": 280, "setxattr": 188, "removexattr": 197},
    **{"link": 86, "linkat": 265, "symlinkat": 266, "mknodat": 259, "truncate": 76, "flock": 73, "name_to_handle_at": 303},
    **{"open_by_handle_at": 304, "fanotify_init": 300, "inotify_init1": 294, "tkill": 200, "rt_sigqueueinfo": 129, "setsid": 112},
    **{"fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "socket": 41, "connect": 42, "bind": 49, "sendmsg": 46, "setuid": 105},
    **{"capset": 126, "personality": 135, "sethostname": 170, "reboot": 169, "init_module": 175, "kexec_load": 246, "syslog": 103},
    **{"swapon": 167, "quotactl": 179, "ioprio_set": 251, "mbind": 237, "move_pages": 279, "process_madvise": 440, "kcmp": 312},
    **{"landlock_create_ruleset": 444, "seccomp": 317, "a call that does not exist yet": 999},
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    """What each attempt led to; `tmp_path/foreign/secret` must be as it was."""
    folder = tmp_path_factory.mktemp("confined")
    own, foreign = folder / "own", folder / "foreign" / "secret"
    own.mkdir()
    foreign.parent.mkdir()
    foreign.write_text("secret")
    numbers = X86 if platform.machine() == "x86_64" else {}
    command = [sys.executable, str(SCRIPT), str(ENGINE), str(own), str(foreign), json.dumps(numbers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    on, found = json.loads(done.stdout)
    if on != ["rlimit", "landlock", "seccomp"]:
        pytest.skip(f"this kernel has {on} alone; docs/security.md lists what is left")
    assert foreign.read_text() == "secret"
    return dict(found)


@pytest.mark.parametrize("call", X86)
def test_a_system_call_that_is_not_listed_is_refused(outcome: Mapping[str, object], call: str) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("the numbers are those of x86-64")
    assert outcome[call] == "EPERM"


@pytest.mark.parametrize(
    "attempt", ["signal another", "kill itself", "stop itself", "signal by a descriptor", "own a descriptor's signals", "own them by ioctl"]
)
def test_no_signal_leaves_the_process_and_none_kills_it_unnoticed(outcome: Mapping[str, object], attempt: str) -> None:
    assert outcome[attempt] == "PermissionError"


@pytest.mark.parametrize(
    "attempt",
    [
        *("read a foreign file", "write a foreign file", "remove a foreign file", "list a foreign folder", "list processes"),
        *("empty a file that is read", "a pair of datagram sockets"),
    ],
)
def test_nothing_outside_its_own_folder_is_read_or_changed(outcome: Mapping[str, object], attempt: str) -> None:
    assert outcome[attempt] == "PermissionError"


def test_limits_hold(outcome: Mapping[str, object]) -> None:
    assert outcome["change its limits"] in ("PermissionError", "ValueError") and outcome["a large file"] == "OSError"


def test_what_a_world_needs_is_allowed(outcome: Mapping[str, object]) -> None:
    expected = {"thread": [1], "database": [[1]], "file": "text", "pair": "x", "new_pair": "y", "limits": [0, 0]}
    assert {name: outcome[f"may {name}"] for name in expected} == expected


@pytest.mark.parametrize("name", system_calls.MACHINES)
def test_the_filter_is_sound(name: str) -> None:
    """Every jump stays inside, every path ends with an answer, no call is both plain and special, no number is there twice."""
    machine = system_calls.MACHINES[name]
    lines = system_calls.program(machine, 4711)
    for place, (operation, if_true, if_false, _) in enumerate(lines):
        if operation in (0x15, 0x35, 0x45):
            assert place + 1 + max(if_true, if_false) < len(lines)
    assert lines[-1][0] == 0x06 and len(lines) < 4096
    numbers = [*machine.plain.values(), *machine.special.values()]
    assert len(set(numbers)) == len(numbers) and not set(machine.plain) & set(machine.special)
