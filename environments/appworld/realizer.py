"""Words arbitrary steps as a user would ask for what they did, or not at all.

The wording is taken from phrases/: what was changed is asked for, a last lookup becomes a question, and lookups that only serve other calls
are not worded. Anything that no user would ask for, or that the text would have to dictate, is refused: an id that no lookup has shown by
name, a change of what the user did not name, credentials, a message to oneself, an app's own message as a value, text that is too long.
"""

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from coevolve import Action

from .phrases import phone, simple_note, spotify, supervisor, todoist, venmo
from .request_linter import fault
from .spoken import Unsayable, Values

APPS = {"phone": phone, "simple_note": simple_note, "spotify": spotify, "supervisor": supervisor, "todoist": todoist, "venmo": venmo}
"""The modules of phrases, by app."""
MOST = 3
"""Changes that one request asks for."""
_PAGING = ("page_index", "page_limit", "access_token", "file_system_access_token", "sort_by")
_SLOT = re.compile(r"\{(\w+)(?:=(\w+))?\}")
Documents = Mapping[str, Mapping[str, Any]]
Call = Sequence[Any]
"""[app.api, arguments, status, answer]."""


@frozen
class Question:
    """What a request asks for: the words, and the answer that the lookup gave."""

    words: str
    answer: Any


def request(made: Sequence[Call], answer: Any, user: str, documents: Documents) -> str | None:
    """The request for successful calls and, where the task ended with one, the answer; None where they cannot be worded.

    `user`: the e-mail address of the user.
    """
    done = [call for call in made if call[2] == 200]
    changes = [(place, call) for place, call in enumerate(done) if _changes(call[0], documents)]
    rng = _draw([[call[0], call[1]] for _, call in changes], answer)
    asked = question(made, user, documents) if answer is not None else None
    if len(changes) > MOST or (answer is not None and asked is None) or not (changes or asked):
        return None
    try:
        clauses = [_clause(call, Values(done[:place], user), documents, rng) for place, call in changes]
    except Unsayable:
        return None
    if len({json.dumps([call[0], call[1]], sort_keys=True) for _, call in changes}) < len(changes):
        return None
    text = " ".join([*([_ask(clauses, rng)] if clauses else []), *([asked.words] if asked else [])])
    return text if fault(text, [Action(call[0], call[1]) for call in done], documents) is None else None


def question(made: Sequence[Call], user: str, documents: Documents) -> Question | None:
    """A question that the last lookup answers; None where no user would ask for what it shows."""
    done = [call for call in made if call[2] == 200]
    for place in reversed(range(len(done))):
        name, arguments, _, answer = done[place]
        if _changes(name, documents):
            return None
        app, _, api = name.partition(".")
        if app not in APPS or api not in APPS[app].QUESTIONS or not isinstance(answer, Mapping):
            continue
        rng = _draw([name, arguments], None)
        fields = [field for field in APPS[app].QUESTIONS[api] if _short(answer.get(field))]
        try:
            field = rng.choice(fields) if fields else None
            return (
                None
                if field is None
                else Question(_filled(rng.choice(APPS[app].QUESTIONS[api][field]), arguments, Values(done[:place], user)), answer[field])
            )
        except Unsayable:
            return None
    return None


def _changes(name: str, documents: Documents) -> bool:
    return name in documents and documents[name]["method"].upper() != "GET" and not name.endswith((".login", ".complete_task"))


def _clause(call: Call, values: Values, documents: Documents, rng: random.Random) -> str:
    name, arguments = call[0], call[1]
    app, _, api = name.partition(".")
    if app not in APPS or api in APPS[app].REFUSED:
        raise Unsayable(f"nobody asks for {name}")
    usual = {parameter["name"]: parameter["default"] for parameter in documents[name]["parameters"] if not parameter["required"]}
    given = {key: value for key, value in arguments.items() if key not in _PAGING and value is not None and usual.get(key) != value}
    fitting = [words for words in APPS[app].WISHES.get(api, ()) if _fits(words, given)]
    if not fitting:
        raise Unsayable(f"there is no phrase for {name} with {sorted(given)}")
    return _filled(rng.choice(fitting), given, values)


def _fits(words: str, given: Mapping[str, Any]) -> bool:
    slots = _SLOT.findall(words)
    return {name for name, _ in slots} == set(given) and all(not value or str(given[name]) == value for name, value in slots)


def _filled(words: str, given: Mapping[str, Any], values: Values) -> str:
    return _SLOT.sub(lambda slot: "" if slot[2] else values.say(slot[1], given[slot[1]]) if slot[1] in given else _missing(slot[1]), words)


def _missing(name: str) -> str:
    raise Unsayable(f"{name} is not given")


def _ask(clauses: Sequence[str], rng: random.Random) -> str:
    listed = clauses[0] if len(clauses) == 1 else f"{', '.join(clauses[:-1])}, and then {clauses[-1]}"
    forms: tuple[str, ...] = ("Please {}.", "{}, please.", "Could you {}?", "I would like you to {}.", "{}.", "Can you {} for me?")
    if listed[-1:] in "\"'" or len(clauses) > 1:
        forms = ("Please {}.", "Could you {}?", "{}.")
    text = rng.choice(forms).format(listed)
    return text[:1].upper() + text[1:]


def _short(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and 0 < len(value.strip()) <= 80 and "\n" not in value)


def _draw(*parts: Any) -> random.Random:
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))
