"""Calls as text: `tool argument=value ...` on one line, separated by spaces; `done` or `done answer=value` ends the episode."""

import re
from collections.abc import Mapping

from coevolve import Action

DONE = "done"
_LONGEST = 400
"""Characters; the longest right call has fewer than 80."""
_NAME = re.compile(r"[a-z_]+(?:\.[a-z_]+)?", re.ASCII)
_ARGUMENT = re.compile(r"([a-z]+)=([!-~]+)", re.ASCII)


def parse(text: str) -> Action | None:
    """The call in `text`, None when it is not a call. The text is only matched, never evaluated or checked against the tools.

    >>> parse("contacts.birthday person=ana@desk.org as=iso")
    Action(name='contacts.birthday', arguments={'person': 'ana@desk.org', 'as': 'iso'}, turn=0)
    >>> parse("I would call contacts.birthday") is None
    True
    """
    text = text.strip()
    if not text or len(text) > _LONGEST or "\n" in text:
        return None
    name, *words = text.split()
    if not _NAME.fullmatch(name):
        return None
    arguments: dict[str, str] = {}
    for word in words:
        match = _ARGUMENT.fullmatch(word)
        if match is None or match[1] in arguments:
            return None
        arguments[match[1]] = match[2]
    return Action(name, arguments)


def write(action: Action) -> str:
    """The text of a call; `parse` reads it.

    >>> write(Action("done", {"answer": "BER"}))
    'done answer=BER'
    """
    return " ".join([action.name, *(f"{key}={value}" for key, value in _arguments(action.arguments))])


def _arguments(arguments: Mapping[str, object]) -> list[tuple[str, object]]:
    return [(key, value) for key, value in arguments.items() if value is not None]
