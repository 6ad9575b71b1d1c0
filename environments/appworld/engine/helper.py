"""Processes that work for a session outside its world: evaluation on the root with the ground truth, synthesized tasks, copies."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import wire

if TYPE_CHECKING:
    from .session import Session

Message = dict[str, Any]


class Helper:
    """A process that works for a session; stands in the selector in its place."""

    def __init__(self, session: "Session", pid: int, channel: socket.socket, then: Callable[[Message], None]) -> None:
        self.session, self.number, self.pid, self.channel, self.then = session, session.number, pid, channel, then
        self.heard = bytearray()

    def ready(self, _source: Any, _events: int) -> None:
        try:
            data = self.channel.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.heard += data
        if data and not data.endswith(b"\n"):
            return
        self.session.drop_helper(self.pid)
        try:
            message = wire.decode(bytes(self.heard))
        except wire.BadLine:
            self.session.fail("infrastructure", "the helping process died")
            return
        if message.get("ok") is True:
            self.then(message)
        else:
            self.session.fail("helper", str(message.get("error")))


def work_for(channel: socket.socket, identity: Any, work: Callable[[], Any]) -> None:
    try:
        message = {"id": identity, "ok": True, "value": work()}
    except Exception as error:  # noqa: BLE001 - told to the client, whatever it is
        message = {"id": identity, "ok": False, "error": f"{type(error).__name__}: {error}"}
    channel.setblocking(True)
    channel.sendall(wire.encode(message))


def evaluated(full: Path, task: str, experiment: str) -> Message:
    """The engine's evaluation of what the world left on disk, on the root with the ground truth."""
    from appworld import evaluator, update_root

    os.environ["APPWORLD_ROOT"] = str(full)
    update_root(str(full))
    evaluator.build_fail_trace = _told(evaluator.build_fail_trace)
    tracker = evaluator.evaluate_task(task, experiment, save_report=False)
    found: Message = tracker.to_dict()
    return found


def _told(build: Callable[[Exception], str]) -> Callable[[Exception], str]:
    """The engine's words for a failed test; the plain ones where it cannot read the sources on the way to it (replaced meanwhile)."""

    def told(error: Exception) -> str:
        try:
            return build(error)
        except Exception:  # noqa: BLE001 - only the wording is at stake
            return f"{type(error).__name__}: {error}"

    return told


def reason(status: int) -> tuple[str, str]:
    """How a process ended that nobody here ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGKILL:
            return "killed", "its process was killed from outside (is there enough memory?)"
        return "died", f"the code ended the process with {signal.Signals(number).name}"
    return "died", f"the code ended the process with exit code {os.WEXITSTATUS(status)}"
