"""Processes that work for a session outside its world: they evaluate on the root with the ground truth, write tasks, copy files."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import wire

Message = dict[str, Any]


class Helper:
    """Reads the answer of one helping process; the server's selector calls `ready` when there is something to read.

    `number` is that of the session it works for. Exactly one of the two callbacks is called, once: `on_message` with the answer when the
    work is done, `on_failure` with the kind and the text of an error when the work raised or the process died.
    """

    def __init__(
        self,
        number: int,
        channel: socket.socket,
        on_message: Callable[[Message], None],
        on_failure: Callable[[str, str], None],
    ) -> None:
        self.number, self.channel = number, channel
        self.on_message, self.on_failure = on_message, on_failure
        self.received = bytearray()

    def ready(self, _source: Any, _events: int) -> None:
        """Read what has arrived, and pass on the answer once it is complete."""
        try:
            data = self.channel.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.received += data
        if data and not data.endswith(b"\n"):
            return
        try:
            message = wire.decode(bytes(self.received))
        except wire.BadLine:
            self.on_failure("infrastructure", "the helping process died")
            return
        if message.get("ok") is True:
            self.on_message(message)
        else:
            self.on_failure("helper", str(message.get("error")))


def work_for(channel: socket.socket, identity: Any, work: Callable[[], Any]) -> None:
    """In the helping process: do the work and answer the request `identity` with its value or its error."""
    try:
        message = {"id": identity, "ok": True, "value": work()}
    except Exception as error:  # noqa: BLE001 - reported to the client, whatever it is
        message = {"id": identity, "ok": False, "error": f"{type(error).__name__}: {error}"}
    channel.setblocking(True)
    channel.sendall(wire.encode(message))


def evaluated(full: Path, task: str, experiment: str) -> Message:
    """The engine's evaluation of the files that a world has written, on the root with the ground truth; in a process of its own."""
    from appworld import evaluator, update_root

    os.environ["APPWORLD_ROOT"] = str(full)
    update_root(str(full))
    evaluator.build_fail_trace = _robust(evaluator.build_fail_trace)
    tracker = evaluator.evaluate_task(task, experiment, save_report=False)
    found: Message = tracker.to_dict()
    return found


def _robust(build: Callable[[Exception], str]) -> Callable[[Exception], str]:
    """`build`, the engine's description of a failed test, with a plain one where it cannot read its sources (replaced meanwhile)."""

    def describe(error: Exception) -> str:
        try:
            return build(error)
        except Exception:  # noqa: BLE001 - only the wording is at stake
            return f"{type(error).__name__}: {error}"

    return describe


def reason(status: int) -> tuple[str, str]:
    """One word and a sentence for the exit status of a process that the server did not end."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGKILL:
            return "killed", "its process was killed from outside (is there enough memory?)"
        return "died", f"the code ended the process with {signal.Signals(number).name}"
    return "died", f"the code ended the process with exit code {os.WEXITSTATUS(status)}"
