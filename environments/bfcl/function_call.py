"""Function-call mode in Qwen's format: one JSON object between `<tool_call>` tags for each call.

Reads what the official Qwen handler of the same release reads: both newlines are mandatory; text that is not JSON is skipped (early
releases then read no calls at all); JSON that is not an object, or lacks `name` or `arguments`, makes the answer undecodable. Arguments may
be a JSON text. The official handler then evaluates name and arguments as code; here a name is looked up among the documented functions,
and NaN and Infinity are refused as the undefined names that they are there. The official handler cannot write every answer into its next
prompt; such an answer fails the entry (`unwritable`).
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from .decode import MAX_TEXT, Call, EvaluatedName, Undecodable, Unquoted, bounded, checked

_TAGGED = re.compile(r"<tool_call>\n(.*?)\n</tool_call>", re.DOTALL)


def without_thoughts(text: str) -> str:
    """The answer after the model's thoughts, which are cut off as in the official Qwen handlers."""
    return text.split("</think>")[-1].lstrip("\n") if "</think>" in text else text


def decode(text: str, early: bool = False) -> list[Call]:
    """The calls in a model's answer, in order. Raises Undecodable when the official decoder raises. `early`: see `Release`."""
    if len(text) > MAX_TEXT:
        raise Undecodable(f"longer than {MAX_TEXT} characters")
    parts = []
    for inner in _TAGGED.findall(text):
        try:
            parts.append(json.loads(inner))
        except (ValueError, RecursionError):
            parts += [inner] if early else []
    if not all(isinstance(part, dict) for part in parts):
        if early:
            return []
        raise Undecodable("a call that is not a JSON object")
    return bounded(parts, _call)


def unwritable(text: str) -> str | None:
    """Why the official handler cannot write an answer into the next prompt, and so fails the entry; None when it can.

    Not for early releases, which write no calls into prompts. The handler writes each JSON text between tags, those in the model's
    thoughts too, as a call with a text as name, and arguments.
    """
    if len(text) > MAX_TEXT:
        return None
    for inner in _TAGGED.findall(text):
        try:
            part = json.loads(inner)
        except (ValueError, RecursionError):
            continue
        if isinstance(part, dict) and "function" in part:
            part = part["function"]
        if not isinstance(part, dict) or not isinstance(part.get("name"), str) or "arguments" not in part:
            return "a call that is not an object with a text as name, and arguments"
    return None


def _call(part: Mapping[str, Any]) -> Call:
    name, given = part["name"], part["arguments"]
    hash(name)  # the official decoder makes it a key
    given = json.loads(given) if isinstance(given, str) else given
    arguments, refusal = dict[str, Any](), None
    for key, value in given.items():
        try:
            arguments[key] = checked(value)
        except EvaluatedName as name_in_value:
            arguments[key] = Unquoted(repr(value))
            refusal = name_in_value.error
    return Call(str(name), arguments, refusal)


def write(calls: list[Call]) -> str:
    """The text of an answer that makes `calls`."""
    return "\n".join(f"<tool_call>\n{json.dumps({'name': call.name, 'arguments': call.arguments})}\n</tool_call>" for call in calls)
