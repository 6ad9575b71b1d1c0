"""Checks a world's answers: its process runs a policy's code, which can write anything on the socket to the server.

A forged answer has an effect only where the genuine one could have been the same: its shape, sizes and depth are those that world.py and
synthesize.py make. Anything else ends the world as garbage.
"""

from collections.abc import Callable, Mapping
from typing import Any

from .code_restrictions import MAX_ANSWER, MAX_CALLS, MAX_DEPTH, too_deep

_DEPTH = MAX_DEPTH + 10
"""Lists and objects in each other: those of a recorded answer, and what they are in."""
NOTE = 200
"""Characters that the note on a shortened output may take."""
MAX_TEXT = 4_000
"""Characters of an error."""
_STATUSES = ("success", "fail", None)
_CHANGE = {"added": list, "updated": dict, "removed": list}


class NotAnAnswer(Exception):
    """A message is not what a world answers."""


def check(operation: str, message: Mapping[str, Any], output: int) -> None:
    """Raises NotAnAnswer unless `message` answers `operation`; `output` is the number of characters that a block may print."""
    if too_deep(message, _DEPTH):
        raise NotAnAnswer(f"an answer to {operation} that is nested too deeply")
    if message.get("ok") is True:
        expected, fits = {"id", "ok", "value"}, SHAPES[operation](message.get("value"), output)
    else:
        error = message.get("error")
        expected, fits = {"id", "ok", "error"}, message.get("ok") is False and isinstance(error, dict) and _error(error)
    if not fits or set(message) != expected:
        raise NotAnAnswer(f"not an answer to {operation}")


def _error(error: Mapping[str, Any]) -> bool:
    return set(error) == {"kind", "text"} and error["kind"] in ("engine", "request") and _text(error["text"], MAX_TEXT)


def _text(value: Any, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most and _encodable(value)


def _encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fields(value: Any, *names: str) -> bool:
    return isinstance(value, dict) and set(value) == set(names)


def _opened(value: Any, _output: int) -> bool:
    return (
        _fields(value, "instruction", "datetime", "supervisor", "apps", "guards")
        and all(isinstance(value[name], str) for name in ("instruction", "datetime"))
        and _fields(value["supervisor"], "first_name", "last_name", "email", "phone_number")
        and all(isinstance(text, str) for text in value["supervisor"].values())
        and isinstance(value["apps"], dict)
        and isinstance(value["guards"], list)
    )


def _executed(value: Any, output: int) -> bool:
    return (
        _fields(value, "output", "error", "calls", "completed")
        and _text(value["output"], output + NOTE)
        and (value["error"] is None or _text(value["error"], MAX_TEXT))
        and isinstance(value["completed"], bool)
        and _calls(value["calls"], MAX_CALLS)
    )


def _calls(value: Any, most: int | None) -> bool:
    return isinstance(value, list) and (most is None or len(value) <= most) and all(map(_call, value))


def _call(call: Any) -> bool:
    return (
        isinstance(call, list)
        and len(call) == 4
        and _text(call[0], NOTE)
        and "." in call[0]
        and isinstance(call[1], dict)
        and type(call[2]) is int
        and all(len(str(part)) <= 3 * MAX_ANSWER for part in (call[1], call[3]))
    )


def _diff(value: Any, _output: int = 0) -> bool:
    return isinstance(value, dict) and all(
        _fields(change, *_CHANGE) and all(isinstance(change[name], kind) for name, kind in _CHANGE.items()) for change in value.values()
    )


def _traced(value: Any, _output: int) -> bool:
    return (
        _fields(value, "ok", "error", "completed", "status", "calls", "user", "diff", "answer")
        and isinstance(value["ok"], bool)
        and isinstance(value["completed"], bool)
        and (value["error"] is None or isinstance(value["error"], str))
        and value["status"] in _STATUSES
        and _calls(value["calls"], None)
        and isinstance(value["user"], str)
        and _diff(value["diff"])
    )


SHAPES: Mapping[str, Callable[[Any, int], bool]] = {
    "open": _opened,
    "execute": _executed,
    "diff": _diff,
    "save": lambda value, _output: value is None,
    "trace": _traced,
}
"""What fits an operation of world_process.OPERATIONS."""
