"""A world's process: reads requests from a socket pair, carries out those that are on a list, and answers them.

Everything that answers is bound before any code of a policy runs, so that code that patches `json` or `print` spoils its own world only.
"""

import gc
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

from . import wire
from .synthesize import trace
from .world import World, clean

Message = dict[str, Any]

OPERATIONS: Mapping[str, Callable[[World, Message], Any]] = {
    "open": World.open,
    "execute": World.execute,
    "diff": World.diff,
    "save": World.save,
    "trace": lambda _world, request: trace(request["task"], request["code"]),
}
"""All that a world does on request, by the request's `op`."""


def serve(channel: socket.socket, guards: Sequence[str]) -> None:
    """Answer requests until the server hangs up; `guards` names what confines this process.

    An operation that fails is answered with its error, and the process goes on.
    """
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    gc.freeze()
    world = World(guards)
    reader: BinaryIO = channel.makefile("rb")
    while (request := wire.read(reader)) is not None:
        channel.sendall(wire.encode(answer(world, request)))


def answer(world: World, request: Message) -> Message:
    """Carry out a request and return the answer: a value, or an error of the kind "request" (not in OPERATIONS) or "engine" (it raised)."""
    name = request.get("op")
    operation = OPERATIONS.get(name) if isinstance(name, str) else None
    if operation is None:
        return _refusal(request, "request", f"unknown operation {name!r}")
    try:
        return {"id": request["id"], "ok": True, "value": operation(world, request)}
    except BaseException as error:  # noqa: BLE001 - the code may raise anything, SystemExit too; the process is its own
        return _refusal(request, "engine", clean(f"{type(error).__name__}: {error}")[:2_000])


def _refusal(request: Message, kind: str, text: str) -> Message:
    return {"id": request.get("id"), "ok": False, "error": {"kind": kind, "text": text}}
