"""A connection to the fork server: one for each world, one request at a time, every wait bounded."""

import json
import socket
from pathlib import Path
from typing import Any

from coevolve import InfrastructureFault

from .engine import wire

GRACE = 20.0
"""Seconds beyond a request's own deadline, which the server keeps itself, after which the server counts as dead."""


class WorldEnded(Exception):
    """The code ended its world: it ran too long, wrote garbage, or ended its process. `reason` is one word of the protocol."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class WorldLost(Exception):
    """The world is gone and its code may not be to blame. `served`: the server lives and reports that something killed the process."""

    def __init__(self, text: str, served: bool = False) -> None:
        super().__init__(text)
        self.served = served


class EngineError(Exception):
    """The engine raised in an operation; the world is still there."""


class Connection:
    """A connection to the server whose Unix socket is at `path`; for one thread at a time.

    Raises WorldLost when no server answers within `seconds`, InfrastructureFault when it speaks another version of the protocol.
    """

    def __init__(self, path: Path, seconds: float = 10.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(seconds)
        self._asked = 0
        try:
            self._socket.connect(str(path))
            self._reader = self._socket.makefile("rb")
            hello = self._read()
        except (OSError, WorldLost) as error:
            self._socket.close()
            raise WorldLost(f"no server answers: {error}") from error
        if hello.get("protocol") != wire.PROTOCOL:
            self.close()
            raise InfrastructureFault(
                f"the server speaks protocol {hello.get('protocol')}, not {wire.PROTOCOL}: run coevolve env setup appworld"
            )
        self.hello = hello

    def ask(self, operation: str, seconds: float, **fields: Any) -> Any:
        """Send a request, to be answered within `seconds`, and return its value.

        Raises WorldEnded, WorldLost or EngineError; ValueError for a request that the server refuses.
        """
        self._asked += 1
        request = wire.encode({"id": self._asked, "op": operation, "seconds": seconds, **fields})
        try:
            self._socket.settimeout(seconds + GRACE)
            self._socket.sendall(request)
            answer = self._read()
        except OSError as error:
            raise WorldLost(f"{operation}: {error or type(error).__name__}") from error
        if answer.get("ok") is True:
            return answer.get("value")
        refusal = answer.get("error") or {}
        text = str(refusal.get("text"))
        match refusal.get("kind"):
            case "world":
                raise WorldEnded(str(refusal.get("reason")), text)
            case "infrastructure":
                raise WorldLost(text, served=True)
            case "request":
                raise ValueError(f"{operation}: {text}")
            case _:
                raise EngineError(f"{operation}: {text}")

    def _read(self) -> dict[str, Any]:
        try:
            message = wire.read(self._reader)
        except (wire.BadLine, json.JSONDecodeError) as error:
            raise WorldLost(f"the server wrote something that is not a message ({error})") from error
        if message is None:
            raise WorldLost("the server hung up")
        return message

    def close(self) -> None:
        """Hang up; the server then ends the world. May be called twice."""
        self._socket.close()
        if hasattr(self, "_reader"):
            self._reader.close()
