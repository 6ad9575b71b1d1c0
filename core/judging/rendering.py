"""A task's view as text, as Markdown, and as one JSON line."""

import json
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ..model import Tool
from ..text import one_line
from .view import CallView, TaskView, signature

RESULT = 400
"""Characters shown of one result."""
FORMATS = ("text", "markdown", "jsonl")
LISTED = 60
"""Most tools that are listed by name; of more, the groups are named with their sizes."""


def as_text(view: TaskView, number: int, of: int, width: int, *, signatures: bool = False) -> str:
    """The view for a terminal of `width` columns."""
    lines = [f"{f'--- {number} of {of} ':-<{width}}", *_wrapped("", f"{view.id}  ({view.origin}; {view.made_of})", width)]
    if view.problem:
        lines += _wrapped("PROBLEM: ", view.problem, width)
    for count, turn in enumerate(view.turns, 1):
        lines += ["", *_wrapped(f"User {count}: " if len(view.turns) > 1 else "User: ", turn.request, width)]
        for call in turn.calls:
            lines += _call_lines(call, width)
        if not turn.calls:
            lines.append("  (no call)")
    lines += ["", *_changes(view, width)]
    if view.door:
        lines += _wrapped("The door said: ", view.door, width)
    lines += _tool_lines(view.tools, {call.name for call in view.calls}, width, signatures)
    return "\n".join(lines)


def as_markdown(view: TaskView, number: int, of: int, *, signatures: bool = False) -> str:
    """The view as a section of a Markdown page."""
    lines = [f"## {number} of {of}: `{view.id}`", "", f"Origin: {view.origin}; {view.made_of}. Digest: `{view.digest}`."]
    if view.problem:
        lines += ["", f"**Problem: {view.problem}**"]
    for turn in view.turns:
        lines += ["", *(f"> {line}" if line else ">" for line in turn.request.splitlines()), ""]
        for call in turn.calls:
            lines += ["```python", call.call, "```", f"{'failed: ' if call.failed else ''}`{one_line(call.result, RESULT)}`", ""]
    lines += ["", "What the solution changes:", "", *(f"- {line}" for line in _changed(view))]
    if view.door:
        lines += ["", f"The door said: {view.door}"]
    lines += ["", f"Tools: {one_line(_tool_names(view.tools))}"]
    if signatures:
        lines += ["", *(f"- `{signature(tool)}`" for tool in _relevant(view.tools, {call.name for call in view.calls}))]
    return "\n".join(lines) + "\n"


def as_json(view: TaskView, *, signatures: bool = False) -> str:
    """The view as one line, with empty fields for the verdict that a judge fills in."""
    names = {call.name for call in view.calls}
    shown: dict[str, Any] = {
        "task": view.id,
        "digest": view.digest,
        "origin": view.origin,
        "made_of": view.made_of,
        "turns": [
            {"request": turn.request, "calls": [{"call": call.call, "result": one_line(call.result, RESULT)} for call in turn.calls]}
            for turn in view.turns
        ],
        "changes": list(_changed(view)),
        "tools": [signature(tool) for tool in _relevant(view.tools, names)] if signatures else _tool_names(view.tools),
    }
    shown |= {"problem": view.problem} if view.problem else {}
    shown |= {"door": view.door} if view.door else {}
    return json.dumps(shown | {"verdict": "", "reasons": [], "note": "", "judge": ""}, ensure_ascii=False)


def _changed(view: TaskView) -> Sequence[str]:
    if view.changes is None:
        return ("this environment does not show its state",)
    return view.changes or ("nothing",)


def _changes(view: TaskView, width: int) -> Iterator[str]:
    yield "What the solution changes:"
    for line in _changed(view):
        yield from _wrapped("  ", line, width)


def _call_lines(call: CallView, width: int) -> Iterator[str]:
    margin = "      " if call.inner else "  "
    for line in call.call.splitlines() or [""]:
        yield from _wrapped(f"{margin}> " if not call.inner else margin, line, width)
    result = one_line(call.result, RESULT)
    if result or call.failed:
        yield from _wrapped(f"{margin}  {'FAILED ' if call.failed else ''}= ", result, width)


def _tool_names(tools: Sequence[Tool]) -> str:
    by_group = {group: [tool.name for tool in inside] for group, inside in groupby(sorted(tools, key=_group), key=_group)}
    if len(tools) > LISTED:
        return ", ".join(f"{group or 'others'} ({len(names)})" for group, names in by_group.items())
    return "; ".join(f"{group}: {', '.join(names)}" if group else ", ".join(names) for group, names in by_group.items())


def _tool_lines(tools: Sequence[Tool], used: set[str], width: int, signatures: bool) -> Iterator[str]:
    yield from _wrapped("Tools: ", _tool_names(tools) or "none", width)
    if signatures:
        for tool in _relevant(tools, used):
            yield from _wrapped("  ", signature(tool), width)


def _relevant(tools: Sequence[Tool], used: set[str]) -> Sequence[Tool]:
    """All tools; of very many those of the groups that the solution uses."""
    groups = {tool.group for tool in tools if tool.name in used}
    return tools if len(tools) <= LISTED else [tool for tool in tools if tool.group in groups]


def _group(tool: Tool) -> str:
    return tool.group


def _wrapped(first: str, text: str, width: int) -> list[str]:
    """Lines of `text` behind `first`; the following ones are indented as far."""
    rest, found = " " * min(len(first), 12), []
    for number, line in enumerate(text.splitlines() or [""]):
        begin = first if number == 0 else rest
        found += textwrap.wrap(line, width, initial_indent=begin, subsequent_indent=rest, break_on_hyphens=False) or [begin.rstrip()]
    return found
