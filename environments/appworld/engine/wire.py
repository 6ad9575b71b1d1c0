"""The wire format: one JSON object a line, UTF-8, ASCII only, at most `MAX_LINE` bytes; version `PROTOCOL`.

Both sides use this file, so the engine's side and ours cannot drift apart. Encoder and decoder are bound here, out of reach of code that
patches the `json` module.
"""

import json
from typing import Any, BinaryIO

PROTOCOL = 1
MAX_LINE = 32 * 2**20
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=str).encode
_decode = json.JSONDecoder().decode


class BadLine(Exception):
    """A line is not a message: too long, not a JSON object, or cut off."""


def encode(message: dict[str, Any]) -> bytes:
    """A message as a line. Raises BadLine when it is over MAX_LINE bytes."""
    line = _encode(message).encode("ascii") + b"\n"
    if len(line) > MAX_LINE:
        raise BadLine(f"a message of {len(line)} bytes is over the {MAX_LINE} allowed")
    return line


def decode(line: bytes) -> dict[str, Any]:
    """The message in a line. Raises BadLine when the line is not a JSON object."""
    try:
        message = _decode(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadLine(f"not JSON: {line[:80]!r}") from error
    if not isinstance(message, dict):
        raise BadLine(f"not a JSON object: {line[:80]!r}")
    return message


def read(reader: BinaryIO) -> dict[str, Any] | None:
    """The next message; None at the end of the stream. Raises BadLine when it is not one."""
    line = reader.readline(MAX_LINE + 1)
    if not line:
        return None
    if not line.endswith(b"\n"):
        raise BadLine("a line was cut off or is too long")
    return decode(line)
