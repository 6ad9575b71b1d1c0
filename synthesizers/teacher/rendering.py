"""Render calls and trajectories as text for prompts, in a bounded number of characters.

A text that is too long keeps its head and its tail. A trajectory that is too long keeps its first and last calls and those around the focus
(the first failed call, or the first difference from another trajectory), then as many others as fit, nearest first. A note at each cut
states how much is missing.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any

from coevolve import Step, Trajectory

IDLE = " [changed nothing]"
"""Follows a call that left the world as it was."""

_SHORTEST = 60
"""Lower bound on the characters of a shortened text; the note about the cut takes about as many."""


def cut(text: str, chars: int) -> str:
    """The text in at most `chars` characters: its head, a note on the length of the cut, and its tail."""
    if len(text) <= chars:
        return text
    room = chars - len(_left_out(len(text)))
    if room < 2:
        return _left_out(len(text))[: max(0, chars)]
    # `room` assumes the longest possible note; the actual note may be shorter.
    head, tail = room - room // 3, room // 3
    return f"{text[:head]}{_left_out(len(text) - room)}{text[len(text) - tail :]}"


def _left_out(count: int) -> str:
    return f" [... {count} characters left out ...] "


def call(name: str, arguments: Any) -> str:
    """A call in a transcript: the tool's name and its arguments as JSON."""
    return f"{name} {json.dumps(dict(arguments), ensure_ascii=False, default=str)}"


def steps(explored: Sequence[Step], chars: int, focus: int | None = None, idle: Collection[int] = ()) -> str:
    """The calls in order, numbered from 1, each with its result.

    `focus` is the index of the call to keep first. `idle` holds the indices of calls that are known to have changed nothing.
    """
    if not explored:
        return "(no call was made)"[: max(0, chars)]
    marks = [IDLE if index in idle else "" for index in range(len(explored))]
    whole = [_line(number, step) for number, step in enumerate(explored, 1)]
    lines = [line + mark for line, mark in zip(whole, marks, strict=True)]
    if sum(map(len, lines)) + len(lines) - 1 <= chars:
        return "\n".join(lines)
    each = max(_SHORTEST, chars // 8)
    lines = [cut(line, each) + mark for line, mark in zip(whole, marks, strict=True)]
    kept: set[int] = set()
    for index in _by_weight(len(lines), _failed(explored) if focus is None else focus):
        if len(_assembled(explored, lines, kept | {index})) > chars:
            break
        kept.add(index)
    return cut(_assembled(explored, lines, kept), chars)


def transcript(title: str, trajectory: Trajectory, chars: int, focus: int | None = None) -> str:
    """One trajectory under a title: its calls, its score, and, after a fault, its last message."""
    score = "no score" if trajectory.score is None else f"score {trajectory.score:.3g}"
    end = f"Ended: {score}"
    if trajectory.fault is not None:
        end += f", {cut(trajectory.fault, 200)}"
        if (words := _last_words(trajectory)) is not None:
            end += f"; its last words: {cut(words, 200)}"
    room = chars - len(title) - len(end) - 2
    return cut(f"{title}\n{steps(trajectory.steps, max(_SHORTEST, room), focus)}\n{end}", chars)


def _line(number: int, step: Step) -> str:
    came = f"FAILED: {step.error}" if step.error is not None else step.observation
    return f"{number}. {call(step.action.name, step.action.arguments)} -> {' '.join(came.split())}"


def _failed(explored: Sequence[Step]) -> int:
    """The index of the first failed call; of the last call where none failed."""
    return next((index for index, step in enumerate(explored) if step.error is not None), len(explored) - 1)


def _by_weight(count: int, focus: int) -> list[int]:
    """Indices in order of importance: the focus, the ends, their neighbours, then the nearest to any of them."""
    focus = min(max(focus, 0), count - 1)
    first = [focus, 0, count - 1, focus - 1, focus + 1, 1, count - 2]
    nearest = sorted(range(count), key=lambda index: (min(abs(index - focus), index, count - 1 - index), index))
    return [index for index in dict.fromkeys([*first, *nearest]) if 0 <= index < count]


def _assembled(explored: Sequence[Step], lines: Sequence[str], kept: set[int]) -> str:
    parts, index = list[str](), 0
    while index < len(lines):
        if index in kept:
            parts.append(lines[index])
            index += 1
            continue
        end = next((later for later in range(index, len(lines)) if later in kept), len(lines))
        failed = sum(step.error is not None for step in explored[index:end])
        span = f"call {index + 1}" if end == index + 1 else f"calls {index + 1} to {end}"
        parts.append(f"[{span} left out: {end - index} in all, {failed} of them failed]")
        index = end
    return "\n".join(parts)


def _last_words(trajectory: Trajectory) -> str | None:
    """The agent's last message; None where it is empty or missing."""
    written = [message.get("content") for message in trajectory.messages if message.get("role") == "assistant"]
    return written[-1] if written and isinstance(written[-1], str) and written[-1].strip() else None
