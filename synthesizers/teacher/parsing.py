"""Read a teacher's reply: a reflection, a step of an exploration, or candidate tasks.

Replies are untrusted. Reading is tolerant in form (salvage.py) and strict in content: a candidate is read whole or refused with a reason
code, and an unreadable candidate does not affect the others. abstraction.py checks calls against the tools' schemas.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from coevolve import Reason, Refusal

from .replies import Call, Candidate, CandidateTurn, NextStep, Part, Queries, Reflection
from .salvage import Damaged, Found, decoded, salvage, spoken, within

MAX_CANDIDATES = 64
"""Upper bound on the candidates of one reply."""
MAX_CALLS = 100
"""Upper bound on the calls of one candidate's solution."""
MAX_TEXT = 8_000
"""Upper bound on the characters of a query, an intent or a thought."""
_MAX_ARGUMENTS = 20_000


def read_reflection(text: str) -> Reflection | None:
    """The first reflection in the reply that has a weakness and something to try; None where there is none."""
    for value in _objects(text):
        weakness, why, variant = (_prose(value.get(key)) for key in ("weakness", "why", "variant"))
        given = value.get("tries")
        tries = tuple(filter(None, map(_prose, given if isinstance(given, list) else [given])))
        if weakness and tries:
            return Reflection(weakness, why, tries, variant)
    return None


def read_step(text: str) -> NextStep | None:
    """The first action in the reply, or the end of the round (`tool` is None); None where there is neither."""
    if re.fullmatch(r"\W*stop\W*", spoken(text), re.IGNORECASE):
        return NextStep("", None, {})
    for value in _objects(text):
        thought, action = _prose(value.get("thought")), value.get("action", value)
        if isinstance(action, str) and "action" in value:
            action = {"tool": action, "arguments": value.get("arguments", {})}
        if not isinstance(action, dict):
            continue
        call = _call(action)
        if call is None and (action.get("stop") is True or ("tool" in action and action["tool"] is None)):
            return NextStep(thought, None, {})
        if call is not None:
            return NextStep(thought, None, {}) if call.tool.strip().lower() == "stop" else NextStep(thought, call.tool, call.arguments)
    return None


def read_candidates(text: str, queries: Queries = "teacher") -> tuple[list[Candidate], list[Refusal]]:
    """The readable candidates in the reply's order, and a refusal for each of the others.

    A candidate may lack a query where the environment writes the requests (`queries`). A reply without any candidate gives one refusal,
    NONE or UNREADABLE, so at least one of the two lists has an item. Raises nothing.
    """
    candidates: list[Candidate] = []
    refused: list[Refusal] = []
    none = False
    for found in salvage(text):
        if isinstance(found, Damaged):
            if _begins_candidate(found, refused):
                refused.append(Refusal(found.reason, _excerpt(found.text)))
            continue
        if _IS_ARGUMENTS.search(found.before):
            continue
        none = none or _is_empty(found.value)
        # A list after a key is part of a damaged object and may be its solution, so its numbers and texts are not bad candidates.
        part = isinstance(found.value, list) and found.before.rstrip().endswith(":")
        for value in _candidates([item for item in found.value if isinstance(item, dict)] if part else found.value):
            try:
                candidate = _candidate(value, queries)
                if candidate in candidates:
                    raise Refusal(Reason.REPEATED)
                if len(candidates) >= MAX_CANDIDATES:
                    raise Refusal(Reason.TOO_MANY)
                candidates.append(candidate)
            except Refusal as refusal:
                refused.append(refusal)
    if len(refused) > MAX_CANDIDATES:
        refused[MAX_CANDIDATES:] = [Refusal(Reason.TOO_MANY, f"{len(refused) - MAX_CANDIDATES} more refused candidates")]
    if not candidates and not refused:
        refused.append(Refusal(Reason.NONE if none or _EMPTY.fullmatch(spoken(text).strip()) else Reason.UNREADABLE))
    return candidates, refused


def read_requests(text: str, count: int) -> list[str] | None:
    """The first list of `count` requests in the reply, each as one paragraph; None where there is none."""
    for value in _objects(text):
        given = value.get("requests")
        given = [given] if isinstance(given, str) else given
        if isinstance(given, list) and len(given) == count and all(isinstance(item, str) and item.strip() for item in given):
            return [re.sub(r"\n\s*\n", "\n", _prose(item)) for item in given]
    return None


_CANDIDATE_KEYS = ("query", "solution", "turns")
_KEY = re.compile(r"\b(intent|query|solution|turns|request)[\"'”’]?\s*[:=]", re.IGNORECASE)
_IS_ARGUMENTS = re.compile(r"(?:arguments|args|parameters|input)[\"'”’]?\s*:\s*$", re.IGNORECASE)


def _begins_candidate(damaged: Damaged, refused: Sequence[Refusal]) -> bool:
    """Whether a damaged object looks like a candidate, judged by its text before the first inner bracket."""
    if _IS_ARGUMENTS.search(damaged.before):
        return False
    keys = {match[1].lower() for match in _KEY.finditer(damaged.text)}
    inside = any(refusal.reason == Reason.CUT_OFF for refusal in refused)  # an object that was cut off contains all that follows it
    if keys and not (inside and keys == {"solution"}):
        return "request" not in keys
    return damaged.reason == Reason.CUT_OFF and ":" not in damaged.text and not inside


_EMPTY = re.compile(r"(?:```\w*)?\s*\[\s*\]\s*(?:```)?")


def _is_empty(value: Any) -> bool:
    return isinstance(value, dict) and any(inner == [] for inner in value.values()) and not _is_candidate(_folded(value))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects of a reply and the objects in them, with keys in lower case; arguments of calls are left out."""
    for found in salvage(text):
        if isinstance(found, Found) and not _IS_ARGUMENTS.search(found.before):
            for value in found.value if isinstance(found.value, list) else [found.value]:
                if isinstance(value, dict):
                    folded = _folded(value)
                    yield folded
                    yield from (_folded(inner) for key, inner in folded.items() if isinstance(inner, dict) and key not in _ARGUMENTS)


def _folded(value: dict[str, Any]) -> dict[str, Any]:
    return {key.strip().lower(): inner for key, inner in value.items()}


def _is_candidate(value: dict[str, Any]) -> bool:
    return any(key in value for key in _CANDIDATE_KEYS) and ("request" not in value or "query" in value)


_WRAPPINGS = 6


def _embedded(value: Any) -> Any:
    """The decoded value of a text that holds JSON; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return decoded(value)
        except ValueError:
            return value
    return value


def _candidates(value: Any, depth: int = 0) -> Iterator[Any]:
    """The values at the places of candidates: in lists and objects under any key, also nested ones."""
    value = _embedded(value)
    if isinstance(value, dict) and depth < _WRAPPINGS:
        folded = _folded(value)
        wrapped = [inner for inner in map(_embedded, value.values()) if isinstance(inner, dict | list)]
        holding = [inner for inner in wrapped if isinstance(inner, dict) or any(isinstance(_embedded(item), dict | list) for item in inner)]
        if _is_candidate(folded) or ("intent" in folded and not holding):
            yield value
        elif _call(value) is None and "request" not in folded:
            for inner in holding or (wrapped if len(value) == 1 else []):
                yield from _candidates(inner, depth + 1)
    elif isinstance(value, list) and depth < _WRAPPINGS:
        for item in value:
            yield from _candidates(item, depth + 1)
    elif not isinstance(value, dict | list):
        yield value


def _candidate(value: Any, queries: Queries) -> Candidate:
    if not isinstance(value, dict):
        raise Refusal(Reason.NOT_AN_OBJECT, _excerpt(value))
    given = _folded(value)
    if len(given) < len(value):
        raise Refusal(Reason.BROKEN_JSON, "a key occurs twice")
    intent = _text(given.get("intent"), "intent")
    turns = _turns(given.get("turns"), queries)
    if turns:
        if given.get("solution"):
            raise Refusal(Reason.BAD_SOLUTION, "both a solution and turns")
        query, solution = "\n\n".join(turn.request for turn in turns), tuple(part for turn in turns for part in turn.solution)
        return Candidate(intent, query, solution, turns)
    query = _text(given.get("query"), "query")
    # Without query and intent, the object may be a turn of a candidate that was cut off, also where the environment writes the queries.
    if not query and (queries == "teacher" or not intent):
        raise Refusal(Reason.NO_QUERY)
    return Candidate(intent, query, _solution(given.get("solution")))


def _turns(value: Any, queries: Queries) -> tuple[CandidateTurn, ...]:
    if value in (None, [], ""):
        return ()
    if not isinstance(value, list) or not all(isinstance(turn, dict) for turn in value):
        raise Refusal(Reason.BAD_SOLUTION, "turns is not a list of objects")
    turns = []
    for turn in map(_folded, value):
        # Paragraphs separate turns, so one request is one paragraph.
        request = re.sub(r"\n\s*\n", "\n", _text(turn.get("request"), "request"))
        if not request and queries == "teacher":
            raise Refusal(Reason.NO_QUERY, "a turn without a request")
        asks_back = turn.get("solution") == []  # the user leaves out a value, and the next turn gives it
        turns.append(CandidateTurn(request, () if asks_back else _solution(turn.get("solution"))))
    if any(not turn.solution and not after for turn, after in zip(turns, [*(one.solution for one in turns[1:]), ()], strict=True)):
        raise Refusal(Reason.NO_SOLUTION, "a turn without calls, and none in the next")
    if sum(len(turn.solution) for turn in turns) > MAX_CALLS:
        raise Refusal(Reason.BAD_SOLUTION, f"more than {MAX_CALLS} calls")
    return tuple(turns)


_UNSTORABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def _text(value: Any, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_TEXT or _UNSTORABLE.search(value):
        raise Refusal(Reason.BAD_TEXT, name)
    return value.strip()


def _prose(value: Any) -> str:
    """A text for prompts and the record: cut to MAX_TEXT, with characters replaced that cannot be stored; "" for any other value."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = " ".join(value)
    return _UNSTORABLE.sub("\ufffd", value[:MAX_TEXT]).strip() if isinstance(value, str) else ""


def _solution(value: Any) -> tuple[Part, ...]:
    if value in (None, "", [], {}):
        raise Refusal(Reason.NO_SOLUTION)
    items: Sequence[Any] = value if isinstance(value, list) else [value]
    if len(items) > MAX_CALLS:
        raise Refusal(Reason.BAD_SOLUTION, f"more than {MAX_CALLS} calls")
    parts = []
    for item in items:
        part = _part(item)
        if part is None:
            raise Refusal(Reason.BAD_SOLUTION, _excerpt(item))
        parts.append(part)
    return tuple(parts)


_STEP = re.compile(r"\s*(?:step\s*|#\s*)?([1-9]\d{0,3})\.?\s*", re.IGNORECASE | re.ASCII)


def _part(item: Any) -> Part | None:
    if isinstance(item, bool):
        return None
    if isinstance(item, int | float):
        return int(item) if item == int(item) and 1 <= item <= 9999 else None
    if isinstance(item, str):
        return int(match[1]) if (match := _STEP.fullmatch(item)) else None
    if not isinstance(item, dict):
        return None
    folded = _folded(item)
    return _part(folded["step"]) if set(folded) <= {"step", "thought"} and "step" in folded else _call(item)


_ARGUMENTS = ("arguments", "args", "parameters", "input")


def _call(value: dict[str, Any]) -> Call | None:
    """A call from {tool, arguments}, or from chat interfaces' {name, arguments} and {function: {name, arguments: "{...}"}}; else None."""
    folded = _folded(value)
    if isinstance(folded.get("function"), dict):
        folded = _folded(folded["function"])
    given = [folded[key] for key in _ARGUMENTS if key in folded]
    named = [folded[key] for key in (("tool", "name") if given else ("tool",)) if key in folded]
    if len(named) != 1 or not isinstance(named[0], str) or not 0 < len(named[0].strip()) <= 200 or len(given) > 1:
        return None
    # Without arguments under a known key, an object under another key may hold them, and a call without them would be incomplete.
    if not given and any(isinstance(inner, dict | list) for inner in folded.values()):
        return None
    arguments = _embedded(given[0]) if given else {}
    arguments = {} if arguments in (None, "") else arguments
    if not isinstance(arguments, dict) or not within(arguments, size=_MAX_ARGUMENTS) or not _storable([named[0], arguments]):
        return None
    return Call(named[0].strip(), arguments)


def _storable(value: Any) -> bool:
    if isinstance(value, str):
        return _UNSTORABLE.search(value) is None
    if isinstance(value, dict):
        return all(_storable(key) and _storable(inner) for key, inner in value.items())
    return all(map(_storable, value)) if isinstance(value, list) else True


def _excerpt(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)).split())
    text = _UNSTORABLE.sub("\ufffd", text)
    return text if len(text) <= 80 else f"{text[:79]}…"
