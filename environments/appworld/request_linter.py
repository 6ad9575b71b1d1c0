"""What no request of a made task may contain: names of the interface, sentences of its documents, numbers that only a database knows."""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coevolve import Action

RUN = 5
"""Words in a row of a document's description that a request may not repeat."""
_LEFTOVER = re.compile(r"[{}]|<[a-z_]+>|\b(?:None|null|True|False)\b|\[\]")
_CALL = re.compile(r"\b\w+\(|\b\w+=")
_FUNCTION_WORDS = frozenset(
    {"a", "an", "and", "as", "at", "be", "by", "for", "from", "if", "in", "is", "it", "its", "my", "not", "of", "on", "or"}
) | {"that", "the", "this", "to", "was", "with", "you", "your"}
_ID = re.compile(r"\b(?:id|ID)\b")


def fault(query: str, actions: Sequence[Action], documents: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The first fault of a request that `actions` fulfil, as one line; None when it has none. `documents` are the engine's.

    Values that the user gives as text (the content of a note, say) are not looked at, since they may say anything.
    """
    plain = _without_texts(query, actions)
    for pattern, what in ((_LEFTOVER, "a leftover"), (_CALL, "a call or a named argument"), (_ID, "an id")):
        if at := pattern.search(plain):
            return f"the request holds {what}: {at.group()!r}"
    names, runs = _known(tuple((name, str(document["description"])) for name, document in documents.items()))
    words = set(re.findall(r"\w+", plain.lower()))
    underscored = {word for word in words if "_" in word}
    underscored &= names | {parameter["name"] for document in documents.values() for parameter in document["parameters"]}
    if underscored:
        return f"the request holds a name of the interface: {sorted(underscored)[0]!r}"
    if repeated := next((run for run in _runs(plain) if run in runs), None):
        return f"the request repeats a document: {' '.join(repeated)!r}"
    if known := next((value for value in _hidden(actions) if value in words), None):
        return f"the request holds a number that only the database knows: {known}"
    return None


@functools.lru_cache(maxsize=4)
def _known(described: tuple[tuple[str, str], ...]) -> tuple[frozenset[str], frozenset[tuple[str, ...]]]:
    names = frozenset(name.partition(".")[2] for name, _ in described)
    return names, frozenset(run for _, text in described for run in _runs(text))


def _runs(text: str) -> Iterable[tuple[str, ...]]:
    words = re.findall(r"[\w']+", text.lower())
    runs = [tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)]
    return [run for run in runs if len(set(run) - _FUNCTION_WORDS) > 1]


def _without_texts(query: str, actions: Sequence[Action]) -> str:
    texts = {value for action in actions for value in action.arguments.values() if isinstance(value, str) and len(value) > 2}
    for text in sorted(texts, key=len, reverse=True):
        query = query.replace(text, "...")
    return query


def _hidden(actions: Sequence[Action]) -> list[str]:
    """Ids of three digits and more: shorter ones may be any number that a person means."""
    values = [
        value for action in actions for name, value in action.arguments.items() if name.endswith("_id") and not isinstance(value, bool)
    ]
    return [str(value).lower() for value in values if isinstance(value, int | str) and len(str(value)) > 2]
