"""An OpenAI-like server over real sockets that answers what a test tells it to, politely or not.

rude.answer = lambda request: "the reply's text"                      # request: the body as it came
rude.answer = lambda request: rude.Reply("...", status=429, headers={"Retry-After": "3"})
rude.script("first", rude.Reply(drop="before"), "third")              # one after the other, the last one for ever
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Literal

from attrs import define, field, frozen

Request = dict[str, Any]


@frozen
class Reply:
    """One answer. `raw` stands for the whole body; else a chat completion is made of `text`, `finish`, `refusal`, `usage`."""

    text: str | None = ""
    status: int = 200
    headers: Mapping[str, str] = field(factory=dict)
    content_type: str = "application/json"
    raw: bytes | str | None = None
    finish: str = "stop"
    refusal: str | None = None
    usage: Any = "told"
    """"told": plausible numbers; None: left out; anything else as it is."""
    drop: Literal["", "before", "half"] = ""
    """Close the connection before the answer, or in the middle of its body."""
    trickle: float = 0.0
    """Seconds between two bytes of the body; it never ends by itself."""
    endless: bool = False
    """A body without an end."""
    hang_up: bool = False
    """Close the connection after the answer, having promised to keep it."""
    wait: threading.Event | None = None
    """Answer only when it is set."""

    def body(self, request: Request) -> bytes:
        if self.raw is not None:
            return self.raw.encode() if isinstance(self.raw, str) else self.raw
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.refusal is not None:
            message["refusal"] = self.refusal
        made: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": request.get("model"),
            "choices": [{"index": 0, "finish_reason": self.finish, "message": message}],
        }
        if self.usage is not None:
            count = len(self.text or "")
            made["usage"] = (
                {"prompt_tokens": 10, "completion_tokens": count, "total_tokens": 10 + count} if self.usage == "told" else self.usage
            )
        return json.dumps(made).encode()


_Reply = Reply
Answer = Callable[[Request], str | Reply]


@define
class RudeServer:
    """`requests`, `paths` and `headers` (names in small letters) are what came, in order; `most_at_once` how many were open together."""

    base_url: str = ""
    answer: Answer = lambda request: "yes"
    requests: list[Request] = field(factory=list)
    paths: list[str] = field(factory=list)
    headers: list[dict[str, str]] = field(factory=list)
    connections: set[int] = field(factory=set)
    errors: list[str] = field(factory=list)
    """What `answer` itself raised: a mistake of the test, which the fixture reports at its end."""
    most_at_once: int = 0
    open_now: int = 0
    stopping: threading.Event = field(factory=threading.Event)
    lock: threading.Lock = field(factory=threading.Lock)
    Reply: ClassVar[type] = Reply

    def script(self, *answers: "str | _Reply") -> None:
        """Give these one after the other, then the last one for ever."""
        left = list(answers)
        lock = threading.Lock()

        def answer(request: Request) -> "str | _Reply":
            with lock:
                return left.pop(0) if len(left) > 1 else left[0]

        self.answer = answer

    def reply(self, request: Request, path: str, headers: dict[str, str], connection: int) -> "_Reply":
        with self.lock:
            self.requests.append(request)
            self.paths.append(path)
            self.headers.append(headers)
            self.connections.add(connection)
            self.open_now += 1
            self.most_at_once = max(self.most_at_once, self.open_now)
        try:
            found = self.answer(request)
        except Exception as error:  # noqa: BLE001  # shown at the fixture's end; the client sees a broken server
            self.errors.append(f"{type(error).__name__}: {error}")
            return Reply(raw="the test's answer raised", status=500)
        return Reply(found) if isinstance(found, str) else found

    def done(self) -> None:
        with self.lock:
            self.open_now -= 1


def _handler(rude: RudeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = rude.reply(
                json.loads(body), self.path, {name.lower(): value for name, value in self.headers.items()}, id(self.connection)
            )
            try:
                while reply.wait is not None and not reply.wait.wait(0.01) and not rude.stopping.is_set():
                    pass
                self.send(reply, json.loads(body))
            except OSError:  # the client has gone, as it should when a server is slow
                self.close_connection = True
            finally:
                rude.done()

        def send(self, reply: Reply, request: Request) -> None:
            if reply.drop == "before":
                self.cut()
                return
            body = reply.body(request)
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if not reply.endless:
                self.send_header("Content-Length", str(len(body) + bool(reply.trickle)))
            self.end_headers()
            if reply.endless:
                while not rude.stopping.is_set():
                    self.wfile.write(b"x" * 65536)
            elif reply.trickle:
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    if rude.stopping.wait(reply.trickle):
                        break
                self.cut()
            else:
                self.wfile.write(body[: len(body) // 2] if reply.drop == "half" else body)
            if reply.drop or reply.hang_up:
                self.cut()

        def cut(self) -> None:
            self.close_connection = True
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, *args: Any) -> None:
            """Nothing: a test's output is its own."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: clients that go away in the middle are what the tests are about."""


@contextmanager
def serving() -> Iterator[RudeServer]:
    """A server on a free port of this machine."""
    rude = RudeServer()
    server = _Server(("127.0.0.1", 0), _handler(rude))
    rude.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield rude
    finally:
        rude.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()
    assert rude.errors == []
