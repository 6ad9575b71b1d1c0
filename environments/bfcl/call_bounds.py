"""Bounds on single calls, so that every call returns soon: a thread cannot be stopped from outside.

When the benchmark's own result is known without the work (a power that cannot be written out, a rounding to 10^9 places), the call returns
that result; otherwise it is refused with an error result.
"""

import decimal
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

MAX_PRECISION = 1_000
"""Most digits of precision that logarithm and square_root accept."""
MAX_TREE_NODES = 5_000
MAX_TREE_DEPTH = 64
MAX_TREE_TEXT = 1_000_000
"""Characters of all paths and contents of the simulated file system."""
MAX_LITERAL_NODES = 4_000
MAX_LITERAL_DEPTH = 20
MAX_LITERAL_TEXT = 65_536
_NUMBER = re.compile(r"[+-]?[0-9.]{1,300}(e[+-]?[0-9]{1,4})?", re.IGNORECASE)
_POWER_BITS = 100_000
_ROUND_PLACES = 5_000


class CallRefused(Exception):
    """The call was not executed, or was undone; the message is the error that the agent sees."""


def check_literals(arguments: Mapping[str, Any]) -> None:
    """Raise CallRefused for arguments that are too large; they may come from a stored task rather than from `decode`."""
    stack: list[tuple[Any, int]] = [(value, 1) for value in arguments.values()]
    nodes, text = 0, 0
    while stack:
        value, depth = stack.pop()
        nodes += 1
        if isinstance(value, str):
            text += len(value)
        elif isinstance(value, list | tuple):
            stack.extend((inner, depth + 1) for inner in value)
        elif isinstance(value, dict):
            stack.extend((inner, depth + 1) for pair in value.items() for inner in pair)
        elif isinstance(value, int) and value.bit_length() > 14_284:
            raise CallRefused("an integer that is too long")
        if nodes > MAX_LITERAL_NODES or depth > MAX_LITERAL_DEPTH or text > MAX_LITERAL_TEXT:
            raise CallRefused("arguments that are too large")


def run(instance: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Call a method of a simulator within bounds. Raises CallRefused, and whatever the method raises."""
    return _GUARDS.get(name, _plain)(instance, name, arguments)


def _plain(instance: Any, name: str, arguments: dict[str, Any]) -> Any:
    return getattr(instance, name)(**arguments)


def _power(instance: Any, name: str, arguments: dict[str, Any]) -> Any:
    base, exponent = arguments.get("base"), arguments.get("exponent")
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1 and base.bit_length() * exponent > _POWER_BITS:
        str(1 << 20_000)  # raises what writing out the power would raise
        raise CallRefused("a power that is too large")
    return _plain(instance, name, arguments)


def _precise(instance: Any, name: str, arguments: dict[str, Any]) -> Any:
    for key in ("value", "base"):
        value = arguments.get(key)
        if isinstance(value, tuple) or (isinstance(value, str) and not _NUMBER.fullmatch(value)):
            raise CallRefused(f"{key} is not a number")
    try:
        asked = int(arguments.get("precision", 0))
    except (TypeError, ValueError, OverflowError):
        asked = 0
    if asked > MAX_PRECISION:
        raise CallRefused(f"precision is limited to {MAX_PRECISION} digits")
    with decimal.localcontext():
        return _plain(instance, name, arguments)


def _round(instance: Any, name: str, arguments: dict[str, Any]) -> Any:
    places = arguments.get("decimal_places")
    if isinstance(places, int) and abs(places) > _ROUND_PLACES:  # no number here has as many digits: the result is the same
        arguments = {**arguments, "decimal_places": _ROUND_PLACES if places > 0 else -_ROUND_PLACES}
    return _plain(instance, name, arguments)


def _grow(instance: Any, name: str, arguments: dict[str, Any]) -> Any:
    if not within_bounds(instance):
        raise CallRefused("the file system is full")
    return _plain(instance, name, arguments)


def _graft(instance: Any, name: str, arguments: dict[str, Any]) -> Any:
    """cp and mv. The simulator lets a directory be put into itself, and lets copies share their subdirectories."""
    source = arguments.get("source")
    items = instance._current_dir.contents
    if not isinstance(source, str) or not hasattr(items.get(source), "contents"):
        return _grow(instance, name, arguments)
    before = deepcopy(vars(instance))
    result = _plain(instance, name, arguments)
    if not within_bounds(instance):
        vars(instance).update(before)
        raise CallRefused(f"{name}: '{source}' would contain itself or grow too large")
    return result


def within_bounds(instance: Any) -> bool:
    """Whether the file system can be walked at little cost: without a cycle, and neither too deep nor too large."""
    nodes = text = 0
    stack = [(instance.root, 0, 0), (instance._current_dir, 0, 0)]
    while stack:
        directory, depth, path = stack.pop()
        if depth > MAX_TREE_DEPTH:
            return False
        for name, item in directory.contents.items():
            nodes, text = nodes + 1, text + path + len(name) + 1
            if hasattr(item, "contents"):
                stack.append((item, depth + 1, path + len(name) + 1))
            else:
                text += len(item.content) if isinstance(item.content, str) else 0
            if nodes > MAX_TREE_NODES or text > MAX_TREE_TEXT:
                return False
    return True


_GUARDS: dict[str, Callable[[Any, str, dict[str, Any]], Any]] = {
    "power": _power,
    "logarithm": _precise,
    "square_root": _precise,
    "round_number": _round,
    "mkdir": _grow,
    "touch": _grow,
    "echo": _grow,
    "cp": _graft,
    "mv": _graft,
}
