"""How two JSON values differ, in lines for people: what a solution changed in the world."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ..text import one_line

LONG = 240
"""Characters shown of one value."""
_ABSENT = object()


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """One line for each value that differs. Lists are compared as collections: the order alone is told in one line.

    >>> list(differences({"tank": 5.0, "doors": ["left"]}, {"tank": 9.5, "doors": ["left", "right"]}))
    ['doors + "right"', 'tank: 5.0 -> 9.5']
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from differences(before.get(key, _ABSENT), after.get(key, _ABSENT), _below(path, str(key)))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _items(before, after, path)
    elif after is _ABSENT:
        yield f"{path} is gone, it was {_text(before)}"
    elif before is _ABSENT and after and isinstance(after, Mapping | list):
        yield from differences(type(after)(), after, path)
    elif before is _ABSENT:
        yield f"{path} is new: {_text(after)}"
    elif before != after:
        yield f"{path}: {_text(before)} -> {_text(after)}"


def _items(before: list[Any], after: list[Any], path: str) -> Iterator[str]:
    # Records that stand at the same place and differ in some fields are the same record, changed.
    if len(before) == len(after) and all(isinstance(item, Mapping) for item in (*before, *after)):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, f"{path}[{number}]")
        return
    old, new = Counter(map(_whole, before)), Counter(map(_whole, after))
    yield from (f"{path} - {one_line(text, LONG)}" for text in (old - new).elements())
    yield from (f"{path} + {one_line(text, LONG)}" for text in (new - old).elements())
    if old == new and before != after:
        yield f"{path} is in another order: {_text(after)}"


def _below(path: str, key: str) -> str:
    """The path of a key: folders, whose names end with a slash, are joined as such."""
    return f"{path}{'' if not path or path.endswith('/') else '.'}{key}"


def _whole(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _text(value: Any) -> str:
    return one_line(_whole(value), LONG)
