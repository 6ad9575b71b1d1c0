"""A linter for requests that this project words: what no person would write."""

import re
from collections.abc import Sequence

from .decode import Call

_IDENTIFIER = re.compile(r"\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w*\b")
_BRACES = re.compile(r"[{}]|\bNone\b|\bTrue\b|\bFalse\b")
_QUOTED = re.compile(r"(?<!\w)'(?:[^']|(?<=\w)'(?=\w))*'(?!\w)|\"[^\"]*\"|“[^”]*”")
_LONGEST = 700
"""Most characters of one user turn."""


def fault_in(text: str, calls: Sequence[Call]) -> str | None:
    """What is wrong with a request for these calls, in words; None when nothing is.

    It must not hold a function's or an argument's name as code writes it, nor be empty, split by an empty line, or very long. What stands
    in quotation marks, and names that are values of the calls, may look as they like.
    """
    if not text.strip() or "\n\n" in text or len(text) > _LONGEST:
        return "it is empty, has an empty line, or is too long"
    if text[0].islower() or text.rstrip()[-1] not in ".?!'\")”:;":
        return "it does not begin or end like a sentence"
    bare = _QUOTED.sub("''", text)
    for value in _values(calls):
        bare = bare.replace(value, "")
    if found := _IDENTIFIER.search(bare):
        return f"it holds the identifier {found[0]!r}"
    if found := _BRACES.search(bare):
        return f"it holds {found[0]!r}"
    if "  " in text:
        return "it holds two spaces in a row"
    if re.search(r"(?<!\.)\.\.(?!\.)|[.?!],|,\.|\?\.", bare):
        return "two marks follow each other"
    return None


def _values(calls: Sequence[Call]) -> list[str]:
    found: list[str] = []
    for call in calls:
        for value in call.arguments.values():
            found += [str(inner) for inner in (value if isinstance(value, list) else [value]) if isinstance(inner, str) and inner]
    return sorted(found, key=len, reverse=True)
