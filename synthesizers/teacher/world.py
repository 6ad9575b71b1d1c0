"""What the world holds where a task begins, as one line for the prompts: a teacher that knows it asks for what is there."""

import json
from collections.abc import Mapping
from typing import Any

from coevolve import Episode, HasVisibleState

from .rendering import cut

_WHOLE = 2
"""Levels of mappings that stay whole: in most worlds the services, and what each of them holds."""


def world_of(episode: Episode, chars: int) -> str:
    """The visible state of the episode as JSON in at most `chars` characters; "" where it shows none, or an empty one.

    In a long state, lists and inner mappings keep their first items and the number of the others, and texts their beginning.
    """
    state = episode.visible_state() if chars > 0 and isinstance(episode, HasVisibleState) else None
    if not _holds(state):
        return ""
    text = ""
    for most in (10_000, 20, 10, 5, 3, 2, 1):
        text = json.dumps(_short(state, most), ensure_ascii=False, default=str)
        if len(text) <= chars:
            return text
    return cut(text, chars)


def _holds(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds, value.values()))
    return any(map(_holds, value)) if isinstance(value, list | tuple) else value not in (None, "")


def _short(value: Any, most: int, depth: int = 0) -> Any:
    """The value with at most `most` items in each list and inner mapping."""
    if isinstance(value, Mapping):
        names = list(value) if depth < _WHOLE else list(value)[:most]
        rest = {"...": f"{len(value) - len(names)} more"} if len(names) < len(value) else {}
        return {**{str(name): _short(value[name], most, depth + 1) for name in names}, **rest}
    if isinstance(value, list | tuple):
        rest_of_list = [f"... {len(value) - most} more"] if len(value) > most else []
        return [*(_short(inner, most, depth + 1) for inner in value[:most]), *rest_of_list]
    room = 20 + 20 * most
    return f"{value[:room].rstrip()}..." if isinstance(value, str) and len(value) > room else value
