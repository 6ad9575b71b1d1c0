"""Find the JSON values in a reply, whatever text is around them, also where some of them are malformed.

At every opening bracket the standard reader is tried first. Where it fails, repair.py rewrites the object as JSON if only its form is
wrong. Missing content is never added: an object that was cut off is not completed. After an unreadable object, reading continues at the
next bracket, so the other values are still found.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from coevolve import Reason, Refusal

from .json_repair import MAX_DEPTH, as_json

MAX_CHARS = 200_000
"""Upper bound on the characters that are read from a reply; the rest is ignored."""
_MAX_TRIES = 4_000
"""Upper bound on the brackets at which reading is attempted."""
_MAX_READ = 20 * MAX_CHARS
"""Upper bound on the characters read without a result, against replies that would take very long."""
_EACH = 2_000
"""Lower bound on the cost, in characters, of a failed repair."""
_DEEP = MAX_CHARS // 10
"""Cost, in characters, of an attempt that exceeded the interpreter's recursion limit."""


@frozen
class Found:
    """A value that was read whole. `before` is the text right before it."""

    value: Any
    before: str = ""


@frozen
class Damaged:
    """An unreadable object. `reason` is "cut_off" where the reply ends inside it, else "broken_json"; `text` is its beginning."""

    reason: str
    text: str
    before: str = ""


_TAG = re.compile(r"<(/?)(think|thinking|thought|reasoning|analysis|scratchpad)>", re.IGNORECASE)


def spoken(text: str) -> str:
    """The reply without thinking in tags and without a final fence; a thinking tag without an end removes the rest of the reply."""
    text = text[:MAX_CHARS]
    kept, begin, thinking = list[str](), 0, ""
    for tag in _TAG.finditer(text):
        closing, name = tag[1], tag[2].lower()
        if closing and thinking in ("", name):
            if not thinking:
                kept = []  # the prompt opened the thinking tag
            thinking, begin = "", tag.end()
        elif not closing and not thinking:
            kept.append(text[begin : tag.start()])
            thinking = name
    text = "".join([*kept, "" if thinking else text[begin:]])
    bare = text.rstrip()
    return bare.rstrip("`~") if bare.endswith(("```", "~~~")) else text


def salvage(text: str) -> Iterator[Found | Damaged]:
    """The objects of a reply, and its lists that hold objects, in order; objects inside a damaged one come after it."""
    text = _decoded_once_more(spoken(text))
    end, left = 0, _MAX_READ
    for tries, opening in enumerate(_OPENING.finditer(text)):
        start = opening.start()
        if tries >= _MAX_TRIES or left <= 0:
            return
        if start < end:
            continue
        before = text[max(0, start - 40) : start]
        try:
            value, stop = _DECODER.raw_decode(text, start)
            readable = within(value)
        except (ValueError, RecursionError) as error:
            readable = False
            left -= (error.pos - start) // 10 if isinstance(error, json.JSONDecodeError) else _DEEP
        if not readable:
            if opening[0] == "[":
                continue
            stop = len(text)
            try:
                rewritten, stop = as_json(text, start)
                value = _decoded(rewritten)
            except Refusal as refusal:
                left -= stop - start + _EACH
                yield Damaged(refusal.reason, text[start : _first_bracket(text, start + 1)][:400], before)
                continue
        if isinstance(value, list) and not any(isinstance(item, dict) for item in value):
            continue
        end = stop
        yield Found(value, before)


def decoded(text: str) -> Any:
    """The value of a text that is one JSON value. Raises ValueError for other texts, for NaN and for a repeated key."""
    try:
        value, end = _DECODER.raw_decode(text.strip())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if end != len(text.strip()) or not within(value):
        raise ValueError("more than one value, or one nested too deeply")
    return value


def _decoded(rewritten: str) -> Any:
    try:
        return decoded(rewritten)
    except ValueError as error:
        raise Refusal(Reason.BROKEN_JSON) from error


def _decoded_once_more(text: str) -> str:
    """The decoded text where the reply is one JSON string; else the text as it is."""
    try:
        value = decoded(text) if text.lstrip().startswith('"') else None
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def _first_bracket(text: str, at: int) -> int:
    match = _BRACKET.search(text, at)
    return match.start() if match else len(text)


def within(value: Any, depth: int = MAX_DEPTH, size: int = 4 * MAX_CHARS) -> bool:
    """Whether a JSON value has at most `depth` levels and at most `size` characters (other scalars count as 8)."""
    level: list[Any] = [value]
    for _ in range(depth + 1):
        size -= sum(len(item) if isinstance(item, str) else 8 for item in level)
        if not level or size < 0:
            return size >= 0
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in ([*item, *item.values()] if isinstance(item, dict) else item)
        ]
    return not level


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError("a number is too large")
    return number


_OPENING = re.compile(r"[{\[]")
_BRACKET = re.compile(r"[{}\[\]]")
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)
