"""Requests in words for composed tasks, made from the APIs' documents and the calls' arguments."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

MOST = 3
"""Things that one request can ask for."""
_LONG = 80
"""Most characters of an answer that a request asks for."""
_ASIDE = ("access_token", "password", "page_index", "page_limit")

Document = Mapping[str, Any]
Call = tuple[Document, Mapping[str, Any]]


def wishes(changes: Sequence[Call]) -> str | None:
    """A request for changes; None when there are none, or more than MOST.

    >>> wishes([({"app_name": "venmo", "description": "Send money to a user."}, {"receiver_email": "a@b.c", "amount": 3.0})])
    "On Venmo, send money to a user, with receiver email 'a@b.c' and amount 3.0."
    """
    if not 1 <= len(changes) <= MOST:
        return None
    return _sentence("; then ".join(_wish(document, arguments) for document, arguments in changes)) + "."


def asks(changes: Sequence[Call], document: Document, arguments: Mapping[str, Any], field: str) -> str | None:
    """A question for one field of a lookup's answer, after the changes that are requested with it; None when these are too many."""
    if len(changes) > MOST - 1:
        return None
    before = _sentence("; then ".join(_wish(*change) for change in changes)) + ". " if changes else ""
    return f"{before}Tell me the {_plain(field)} that you get when you {_wish(document, arguments, last=True)}."


def answer_in(found: Any) -> tuple[str, Any] | None:
    """A field of an answer that a question can ask for, and its value: the first short text or number that is not an id, date or message.

    >>> answer_in({"song_id": 3, "title": "Tide Tables", "duration": 233})
    ('title', 'Tide Tables')
    >>> answer_in([{"title": "first"}, {"title": "second"}])
    """
    if not isinstance(found, Mapping):
        return None
    for name, value in found.items():
        if isinstance(value, bool) or name.endswith(("_id", "_at", "_token", "_code")) or name in ("message", "shortened"):
            continue
        if isinstance(value, int | float) or (isinstance(value, str) and 0 < len(value.strip()) <= _LONG and "\n" not in value):
            return name, value
    return None


def _wish(document: Document, arguments: Mapping[str, Any], last: bool = False) -> str:
    sentence = str(document["description"]).split(". ")[0].strip().rstrip(".")
    given = " and ".join(f"{_plain(name)} {value!r}" for name, value in arguments.items() if name not in _ASIDE and value is not None)
    place = str(document["app_name"]).replace("_", " ").title()
    words = f"{sentence[:1].lower()}{sentence[1:]}, with {given}" if given else f"{sentence[:1].lower()}{sentence[1:]}"
    return f"{words} (on {place})" if last else f"on {place}, {words}"


def _plain(name: str) -> str:
    return re.sub(r"_+", " ", name)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
