"""Tools as text for prompts, the most relevant first, in a bounded number of characters.

What does not fit is left out at the border of a sentence, an argument or a value, never inside of one.
"""

import re
from collections.abc import Sequence
from typing import Any

from coevolve import Tool

from .rendering import cut

_SHORTEST = 60
"""Lower bound on the characters of one tool."""
_SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z])")


def relevant(tools: Sequence[Tool], names: Sequence[str], most: int) -> list[Tool]:
    """At most `most` tools: those named, in that order, then the others of their groups, then the rest."""
    by_name = {tool.name: tool for tool in tools}
    first = [by_name[name] for name in dict.fromkeys(names) if name in by_name]
    taken, groups = {tool.name for tool in first}, {tool.group for tool in first}
    others = [tool for tool in tools if tool.name not in taken]
    return [*first, *(t for t in others if t.group in groups), *(t for t in others if t.group not in groups)][: max(0, most)]


def tools(known: Sequence[Tool], names: Sequence[str], most: int, chars: int) -> str:
    """The relevant tools, one in each line, and a count of the others. Arguments with `?` are optional."""
    shown = [_line(tool, max(_SHORTEST, chars // 4)) for tool in relevant(known, names, most)]
    while shown and len(_with_rest(shown, len(known))) > chars:
        shown.pop()
    return cut(_with_rest(shown, len(known)), chars)


def _with_rest(shown: Sequence[str], known: int) -> str:
    note = [f"[{known - len(shown)} of {known} tools are not shown]"] if known > len(shown) else []
    return "\n".join([*shown, *note])


def _line(tool: Tool, chars: int) -> str:
    """One tool in at most `chars` characters. First the result goes, then sentences and values, then optional arguments."""
    required = tool.parameters.get("required", ())
    schemas = tool.parameters.get("properties", {})
    for document, values, result in ((300, 400, 200), (300, 400, 0), (120, 200, 0), (80, 60, 0), (0, 60, 0)):
        given = ", ".join(f"{name}{'' if name in required else '?'}: {_type(schema, values)}" for name, schema in schemas.items())
        gives = f" -> {_type(tool.returns, result)}" if tool.returns and result else ""
        text = f"{tool.name}({given}){gives}: {_sentences(tool.description, document)}".rstrip(": ")
        if len(text) <= chars:
            return text
    names = [name for name in schemas if name in required] + [f"{name}?" for name in schemas if name not in required]
    return cut(f"{tool.name}({_whole(names, ', ', chars - len(tool.name) - 2)})", chars)


def _type(schema: Any, chars: int) -> str:
    if schema.get("enum"):
        return _whole([str(value) for value in schema["enum"]], "|", chars)
    kind = schema.get("type", "any")
    if kind == "array":
        return f"[{_type(schema.get('items', {}), chars)}]"
    if kind == "object" and schema.get("properties"):
        inner = [f"{name}: {_type(one, chars)}" for name, one in schema["properties"].items()]
        return f"{{{_whole(inner, ', ', chars)}}}"
    named = schema.get("format")
    return f"{kind} {named}" if isinstance(named, str) else str(kind)


def _whole(items: Sequence[str], separator: str, chars: int) -> str:
    """As many whole items as fit, and the number of the others; that number alone may be longer than `chars`."""
    for count in range(len(items), -1, -1):
        rest = [f"... {len(items) - count} more"] if count < len(items) else []
        text = separator.join([*items[:count], *rest])
        if len(text) <= chars or not count:
            return text
    return ""


def _sentences(text: str, chars: int) -> str:
    """The first sentences that fit; the first words where not even the first sentence does."""
    text = " ".join(text.split())
    if len(text) <= chars:
        return text
    kept = ""
    for sentence in _SENTENCE.split(text):
        if len(kept) + len(sentence) + 1 > chars:
            break
        kept = f"{kept} {sentence}".lstrip()
    return kept or (f"{text[: chars - 4].rpartition(' ')[0]} ..." if chars > 4 else "")
