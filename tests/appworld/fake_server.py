"""A fork server without an engine, for tests of the client: the protocol of docs/appworld.md with the standard library alone.

fake_server.py RUN SOURCE. A world is a list of the blocks that ran in it; its output is their number and text. Some blocks do harm:
"die" ends the server, "die once" only where SOURCE/died is not there yet, "hang" is never answered, "rubbish" is answered with no JSON,
"end" ends the world, "lose" loses it, "raise" makes the engine fail.
"""

import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

RUN, SOURCE = Path(sys.argv[1]), Path(sys.argv[2])
PROTOCOL = int((SOURCE / "protocol").read_text()) if (SOURCE / "protocol").exists() else 1


def refusal(kind: str, reason: str = "") -> dict[str, Any]:
    return {"ok": False, "error": {"kind": kind, "reason": reason, "text": f"{kind} {reason}"}}


def answer(request: dict[str, Any], blocks: list[str]) -> dict[str, Any]:
    operation, code = request["op"], request.get("code", "")
    if operation == "execute":
        if code == "die" or (code == "die once" and not (SOURCE / "died").exists()):
            (SOURCE / "died").touch()
            os._exit(1)
        if code in ("end", "lose", "raise"):
            return refusal({"end": "world", "lose": "infrastructure", "raise": "engine"}[code], "deadline")
        blocks.append(code)
        return {"ok": True, "value": {"output": f"{len(blocks)} {code}", "error": None, "calls": [], "completed": code == "done"}}
    if operation == "open":
        if request["task"] == "unknown":
            return refusal("request")
        with (SOURCE / "opened").open("a") as log:
            log.write(f"{request['task']}\n")
        return {"ok": True, "value": {"task": request["task"]}}
    return {"ok": True, "value": {"diff": blocks, "trace": request.get("code"), "score": {"success": blocks == ["done"]}}.get(operation)}


def serve(client: socket.socket) -> None:
    blocks: list[str] = []
    client.sendall(json.dumps({"protocol": PROTOCOL, "engine": "fake", "pid": os.getpid()}).encode() + b"\n")
    for line in client.makefile("rb"):
        request = json.loads(line)
        if request.get("code") == "hang":
            continue
        if request.get("code") == "rubbish":
            client.sendall(b"rubbish\n")
            continue
        client.sendall(json.dumps({"id": request["id"], **answer(request, blocks)}).encode() + b"\n")


def accept(listener: socket.socket) -> None:
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


server = socket.socket(socket.AF_UNIX)
server.bind(str(RUN / "socket"))
server.listen()
threading.Thread(target=accept, args=(server,), daemon=True).start()
sys.stdin.buffer.read()  # until the parent hangs up
