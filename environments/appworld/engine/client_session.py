"""One client's connection: its world's process, the current request, and the answer when that process dies.

The requests:

    open     task, interactions, block_seconds, output, memory, [synthesized]     a world of its own, forked now
    execute  code, cpu            run a block in it, for at most `cpu` seconds of processor time
    diff                          the canonical difference to the world's beginning
    score                         the engine's own evaluation, in another process, of the files that the world has written
    export   to                   copy the world's files, as the engine's leaderboard tools expect them
    trace    task, code, [synthesized]     run blocks in a fresh world and report everything
    ping
"""

import os
import selectors
import shutil
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import confine, family, wire
from .helper import Helper, evaluated, reason, work_for
from .roots import Roots
from .synthesize import write_task
from .world_process import serve

Message = dict[str, Any]
MEMORY = 1_024
"""MiB that a world may need beyond what the warm server has."""
SECONDS = 60.0
NEVER = float("inf")
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class ClientSession:
    """`number` is unique in the server's life and names the experiment folder; `kernel`: confine worlds by the kernel's means.

    `on_end` is called with the number once the session has ended.
    """

    def __init__(
        self,
        selector: selectors.BaseSelector,
        roots: Roots,
        kernel: bool,
        on_end: Callable[[int], object],
        number: int,
        client: socket.socket,
    ) -> None:
        self.selector, self.roots, self.kernel, self.on_end = selector, roots, kernel, on_end
        self.number, self.client = number, client
        client.setblocking(False)
        selector.register(client, READ, self)
        self.ended = False
        self.experiment = f"episode-{number}"
        self.task = ""
        self.pid = 0
        self.channel: socket.socket | None = None
        self.helpers: dict[int, socket.socket] = {}
        self.request: Message | None = None
        self.then: Callable[[Message], None] | None = None
        self.due = self.cpu_due = NEVER
        self.inbox, self.outbox, self.received = bytearray(), bytearray(), bytearray()
        self.cause: tuple[str, str] | None = None

    # What comes in

    def ready(self, source: Any, events: int) -> None:
        """Read from or write to `source`, which the selector found ready."""
        if source is self.client:
            if events & WRITE:
                self._flush()
            if events & READ:
                self._client()
        elif source is self.channel:
            self._world()

    def _client(self) -> None:
        try:
            data = self.client.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.inbox += data
        if not data or len(self.inbox) > wire.MAX_LINE:
            self.end()
            return
        self._next()

    def _next(self) -> None:
        """Begin the next request unless one is in progress. A malformed request is answered with an error, and the connection stays."""
        while self.request is None and (cut := self.inbox.find(b"\n")) >= 0:
            line, self.inbox = bytes(self.inbox[:cut]), self.inbox[cut + 1 :]
            try:
                request = wire.decode(line)
            except wire.BadLine as error:
                self.send({"id": None, "ok": False, "error": {"kind": "request", "text": str(error)}})
                continue
            self.request = request
            self.due = time.monotonic() + float(request.get("seconds", SECONDS))
            try:
                self._begin(request)
            except (LookupError, TypeError, ValueError, OSError) as error:
                self.fail("request", f"{type(error).__name__}: {error}")

    def _begin(self, request: Message) -> None:
        operation = request.get("op")
        if operation == "ping":
            self.reply(None)
        elif operation in ("open", "trace"):
            if self.pid:
                raise ValueError("this connection has a world already; open another connection")
            self._prepare(request)
        elif operation in ("execute", "diff", "score", "export"):
            if not self.pid and self.cause:
                self._gone(*self.cause)
            elif not self.pid:
                raise ValueError(f"{operation} needs a world; open one first")
            elif operation == "execute":
                self.cpu_due = family.cpu_seconds(self.pid) + float(request.get("cpu", NEVER)) + 1.0
                self._ask(request, self._pass_on)
            elif operation == "score":
                self._ask({**request, "op": "save"}, self._evaluate)
            elif operation == "export":
                self._ask({**request, "op": "save"}, self._export)
            else:
                self._ask(request, self._pass_on)
        else:
            raise ValueError(f"unknown operation {operation!r}")

    # Worlds

    def _prepare(self, request: Message) -> None:
        self.task = str(request["task"])
        made = request.get("synthesized")
        if made is None:
            self.roots.task(self.task)
            self._open(request)
        elif self.roots.holds(self.task):
            self._open(request)
        else:
            self._help(lambda: self._write(made), lambda _: self._open(request))

    def _write(self, made: Mapping[str, Any]) -> None:
        self.roots.task(made["start"])
        self.roots.synthesized(
            self.task,
            lambda into: write_task(self.roots.full, made["start"], self.task, made["query"], made["code"], made["reference"], into=into),
        )

    def _open(self, request: Message) -> None:
        memory = int(request.get("memory", MEMORY)) * 2**20
        self.pid, self.channel = family.fork(lambda channel: self._become(channel, memory))
        self.selector.register(self.channel, READ, self)
        self._ask(request, self._pass_on)

    def _become(self, channel: socket.socket, memory: int) -> None:
        """In the forked process: turn into a world."""
        os.environ["COEVOLVE_EXPERIMENT"] = self.experiment
        written = self.roots.outputs / self.experiment
        written.mkdir()
        os.environ["TMPDIR"] = str(written)
        python = (sys.prefix, sys.base_prefix, os.path.dirname(__file__))
        on = confine.confine(memory, [*self.roots.readable(), *python], [str(written), "/dev/null"], self.kernel)
        serve(channel, on)

    def _ask(self, request: Message, then: Callable[[Message], None]) -> None:
        """Send a request to the world; `then` gets its answer."""
        self.then = then
        assert self.channel is not None
        self.channel.setblocking(True)
        self.channel.settimeout(5.0)  # a world reads whenever no request is in progress; only a broken one does not
        try:
            self.channel.sendall(wire.encode(request))
        except OSError:
            self.look(time.monotonic())
        else:
            self.channel.setblocking(False)

    def _world(self) -> None:
        assert self.channel is not None
        try:
            data = self.channel.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._died()
            return
        self.received += data
        if len(self.received) > wire.MAX_LINE or (self.received.count(b"\n") and self.request is None):
            self.kill("garbage", "its process wrote something that is not an answer")
            return
        if self.received.endswith(b"\n"):
            self._received()

    def _received(self) -> None:
        line, self.received = bytes(self.received), bytearray()
        try:
            message = wire.decode(line)
            if self.request is None or self.then is None or message.get("id") != self.request.get("id"):
                raise wire.BadLine("an answer to another request")
        except wire.BadLine:
            self.kill("garbage", "its process wrote something that is not an answer")
            return
        then, self.then = self.then, None
        then(message)

    def _pass_on(self, message: Message) -> None:
        if message.get("ok") is True:
            self.reply(message.get("value"))
        else:
            error = message.get("error")
            self.fail("engine", str(error.get("text")) if isinstance(error, dict) else "no reason given")

    # Evaluation and files

    def _evaluate(self, saved: Message) -> None:
        if saved.get("ok") is not True:
            self._pass_on(saved)
            return
        self._help(lambda: evaluated(self.roots.full, self.task, self.experiment), self._pass_on)

    def _export(self, saved: Message) -> None:
        if saved.get("ok") is not True:
            self._pass_on(saved)
            return
        assert self.request is not None
        folder, target = self.roots.outputs / self.experiment / "tasks" / self.task, Path(self.request["to"])
        self._help(lambda: shutil.copytree(folder, target, dirs_exist_ok=True) and None, self._pass_on)

    def _help(self, work: Callable[[], Any], then: Callable[[Message], None]) -> None:
        """Run `work` in a forked process that may read everything, within the request's deadline; `then` gets its answer."""
        identity = self.request["id"] if self.request else None
        pid, channel = family.fork(lambda channel: work_for(channel, identity, work))
        self.helpers[pid] = channel

        def finish(message: Message) -> None:
            self.drop_helper(pid)
            then(message)

        def fail(kind: str, text: str) -> None:
            self.drop_helper(pid)
            self.fail(kind, text)

        self.selector.register(channel, READ, Helper(self.number, channel, finish, fail))

    # How it ends

    def look(self, now: float, thorough: bool = True) -> None:
        """Enforce the request's deadline; `thorough`: also check that the world lives, and its CPU time for the block."""
        if self.request is not None and now > self.due:
            seconds = self.request.get("seconds", SECONDS)
            for pid in list(self.helpers):
                self.drop_helper(pid)
            if self.pid:
                self.kill("deadline", f"no end within {seconds:g} s")
            else:
                self.fail("infrastructure", f"no answer within {seconds:g} s")
        elif thorough and self.pid and self.channel is not None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self._died(status)
            elif self.request is not None and family.cpu_seconds(self.pid) > self.cpu_due:
                self.kill("deadline", f"no end within {self.request['cpu']:g} s of CPU time")

    def kill(self, why: str, text: str) -> None:
        """Kill the world; the current request, if any, is answered with the reason."""
        self.cause = (why, text)
        family.kill_tree(self.pid)
        self._died()

    def _died(self, status: int | None = None) -> None:
        """Clean up after the world's process, which has ended or is being killed, and answer the current request."""
        pid, self.pid = self.pid, 0
        if self.channel is not None:
            self.selector.unregister(self.channel)
            self.channel.close()
            self.channel = None
        if status is None:
            family.kill_tree(pid)
            status = os.waitpid(pid, 0)[1]
        why, text = self.cause or reason(status)
        self.cause = (why, text)
        self.received.clear()
        if self.request is not None and self.then is not None:
            self._gone(why, text)

    def _gone(self, why: str, text: str) -> None:
        self.fail("infrastructure" if why == "killed" else "world", text, why)

    def drop_helper(self, pid: int) -> None:
        """End a helping process and forget it."""
        channel = self.helpers.pop(pid)
        self.selector.unregister(channel)
        channel.close()
        family.kill_tree(pid)
        os.waitpid(pid, 0)

    def end(self) -> None:
        """End the session because the client has gone or the server ends: its processes, its files and its connection."""
        self.request = self.then = None
        for pid in list(self.helpers):
            self.drop_helper(pid)
        if self.pid:
            family.kill_tree(self.pid)
            self._died()
        self.selector.unregister(self.client)
        self.client.close()
        self.ended = True
        self.on_end(self.number)
        self.roots.forget(self.experiment)

    # What goes out

    def reply(self, value: Any) -> None:
        """Answer the current request with a value."""
        self._answer({"ok": True, "value": value})

    def fail(self, kind: str, text: str, why: str = "") -> None:
        """Answer the current request with an error (kinds: docs/appworld.md)."""
        self._answer({"ok": False, "error": {"kind": kind, "reason": why, "text": text}})

    def _answer(self, answer: Message) -> None:
        request, self.request, self.then = self.request, None, None
        self.due = self.cpu_due = NEVER
        self.send({"id": request.get("id") if request else None, **answer})
        self._next()

    def send(self, message: Message) -> None:
        """Send a message as soon as the client takes it."""
        self.outbox += wire.encode(message)
        self._flush()

    def _flush(self) -> None:
        try:
            while self.outbox:
                del self.outbox[: self.client.send(self.outbox)]
        except BlockingIOError:
            pass
        except OSError:
            self.outbox.clear()  # the client has gone, which the next read finds
        if not self.ended:
            self.selector.modify(self.client, READ | WRITE if self.outbox else READ, self)
