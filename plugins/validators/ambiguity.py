"""Find a request that allows another reading, and show by execution that the scorer refuses it.

An argument that comes from an earlier result often has siblings there: the other names of a list, the other records of a table. The request
must say which one is meant: by a word of it, by a property of its record, or by its place or rank ("the first", "the cheapest"). Where it
says none of these, or says outright that any will do ("one of them"), the solution is played with a sibling in its place. If all calls
succeed and the scorer refuses the result, an agent that read the request well would have failed.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
from attrs import frozen

from coevolve import Action, Environment, Task

from .grounding import SpokenText
from .leaks import stated
from .replays import attempt, failure
from .trace import Trace, TracedCall
from .well_known import called

SIBLINGS = 2
"""Most siblings of one value that are tried."""
_ANY = re.compile(
    r"\b(one of|any of|some of|a few of|either of|any one|whichever|somebody|someone|anybody|anyone|something|anything"
    r"|(?:an?|some|any|one) (?:\w+ )?(?:from|of|in|among) (?:it|this|that|these|those|them|the list|the folder))\b",
    re.IGNORECASE,
)
"""Words that leave the choice to the agent."""
_NONE = re.compile(r"(?:\b(?:not|never|without|nor|hardly)|n't)\b[^.?!;]*?\bany(?:one|body|thing)\b", re.IGNORECASE)
"""Words that leave nothing to choose although a word of `_ANY` is among them: "not given to anyone"."""
_CHOSEN = re.compile(
    r"\b(first|second|third|fourth|fifth|last|latest|newest|oldest|earliest|next|previous|former|latter|top|bottom|only|all|both|every|each"
    r"|whole|whatever|everything|everyone|most|least|best|worst|highest|lowest|cheapest|other|rest|remaining|same|original|final|main"
    r"|(?!(?:inter|requ|inv|prot|sugg|harv|for|man|cont)est\b)\w{3,}est|more than|less than|fewer|(?:above|below|under|over) \W?\d"
    r"|at least|at most"
    r"|(?:the|any) ones? with(?:out)?|(?:is|are|has|have)(?: not| still|n't)|starts? with|ends? with|contain\w*|whose|named|called)\b",
    re.IGNORECASE,
)
"""Words that say by place, rank or condition which one is meant."""
_TOKEN = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}|\d{2,}")
_WEAK = "the and for with from that this them one all any file files folder name list txt pdf csv doc docx json jpg png"
_PLAIN = frozenset(_WEAK.split())


@frozen
class Choice:
    """A value that was chosen among siblings in an earlier result: the action and the argument that take it, its record, and the others."""

    index: int
    name: str
    value: Any
    record: Any
    others: tuple[tuple[Any, Any], ...]
    """The value that stands in the same place of another record, and that record."""


def other_reading(environment: Environment, task: Task, told: Trace, limit: int, replays: int) -> str | None:
    """Describe a reading that the request allows and the scorer refuses; None when none was found in at most `replays` replays."""
    for place, call in enumerate(told.calls):
        if call.index is None:
            continue
        for choice in _choices(told, place, call):
            if _singled_out(told, call, choice):
                continue
            for value, _ in choice.others[:SIBLINGS]:
                if replays <= 0:
                    return None
                replays -= 1
                actions = _with(task.solution, choice, value)
                tried = attempt(environment, task, actions, limit)
                if tried is not None and failure(tried, len(actions)) is None and not tried.solved:
                    return f"{call.action.name} could as well take {value!r} for {choice.value!r}: the request does not say which"
    return None


def _choices(told: Trace, place: int, call: TracedCall) -> Iterator[Choice]:
    """The values of the call that earlier results hold among siblings and the user did not say."""
    said = SpokenText()
    said.add(told.said(call.turn))
    taken = [value for earlier in told.calls[:place] for _, value in _leaves(dict(earlier.action.arguments))]
    for (name, *_), value in _leaves(dict(call.action.arguments)):
        if (
            isinstance(value, bool)
            or value in taken
            or called(told.said(call.turn), value)
            or (stated(told.said(call.turn), value) or (isinstance(value, str) and said.states(value)))
        ):
            continue
        for earlier in reversed(told.calls[:place]):
            if isinstance(value, str) and sum(leaf == value for _, leaf in _leaves(earlier.step.result)) > 1:
                break  # several records have it, so it is a property of a thing and not the thing that is chosen
            if found := _among(earlier.step.result, value):
                record, others = found
                own = [given for _, given in _leaves(dict(call.action.arguments))]
                left = tuple(one for one in others if one[0] not in own)  # a call may take several of them, or all
                assert call.index is not None
                if left:
                    yield Choice(call.index, name, value, record, left)
                break
            if _returns_alone(earlier, value) and _was_said(told, earlier, call.turn):
                break  # "the airport of that city": the user said all that the lookup needs


def _returns_alone(call: TracedCall, value: Any) -> bool:
    return any(leaf == value for _, leaf in _leaves(call.step.result))


def _was_said(told: Trace, call: TracedCall, turn: int) -> bool:
    """Whether the call takes something, and nothing but what the user said up to this turn."""
    said = SpokenText()
    said.ask(told.said(turn))
    given = [value for _, value in _leaves(dict(call.action.arguments)) if not isinstance(value, bool)]
    return bool(given) and all(said.states(value) for value in given)


def _among(result: Any, value: Any) -> tuple[Any, tuple[tuple[Any, Any], ...]] | None:
    """The record in a result that holds the value, and the other records with their values; None where it has no siblings."""
    for path, leaf in _leaves(result):
        if leaf != value or isinstance(leaf, bool) != isinstance(value, bool):
            continue
        for depth in reversed(range(len(path))):
            group = _at(result, path[:depth])
            if isinstance(group, list | tuple):
                rest = path[depth + 1 :]
                others = tuple((_at(record, rest), record) for number, record in enumerate(group) if number != path[depth])
                kept = tuple(one for one in others if one[0] not in (None, value) and type(one[0]) is type(value))
                return (group[path[depth]], kept) if kept else None
    return _among_keys(result, value)


def _among_keys(result: Any, value: Any) -> tuple[Any, tuple[tuple[Any, Any], ...]] | None:
    """As `_among`, for a value that is the key of a record."""
    if isinstance(result, Mapping):
        records = {key: inner for key, inner in result.items() if type(inner) is type(result.get(value))} if value in result else {}
        if len(records) > 1:
            return {value: records[value]}, tuple((key, {key: inner}) for key, inner in records.items() if key != value)
        for inner in result.values():
            if found := _among_keys(inner, value):
                return found
    return None


def _singled_out(told: Trace, call: TracedCall, choice: Choice) -> bool:
    """Whether the user says which one is meant: by place or rank, or by a word that only its record has."""
    text = told.asks(call.turn)
    if call.ends and "?" in text:
        return True  # "It is on one of my lists. Which?" asks, and leaves nothing to choose
    if _ANY.search(_NONE.sub(" ", text)):
        return False
    if _CHOSEN.search(text) or call.ends or _is_loop(told, call, choice):
        return True  # what a question asks for is its answer, and who looks at one after the other decides by what each shows
    if _quoted(told.said(call.turn), choice):
        return True
    own, other = _tokens(choice.record), [_tokens(record) for _, record in choice.others]
    special = {token for token in own if not any(_shares(token, tokens) for tokens in other)}
    spoken = {word.casefold() for word in _TOKEN.findall(told.said(call.turn))}
    return any(_shares(token, spoken) for token in special)


def _is_loop(told: Trace, call: TracedCall, choice: Choice) -> bool:
    """Whether the turn makes the same call with other values in the place of the choice."""
    same = [other.action.arguments.get(choice.name) for other in told.calls if other.turn == call.turn and _alike(other, call)]
    return any(value != call.action.arguments.get(choice.name) for value in same)


def _alike(first: TracedCall, second: TracedCall) -> bool:
    return first.action.name == second.action.name and set(first.action.arguments) == set(second.action.arguments)


def _quoted(text: str, choice: Choice) -> bool:
    """Whether the user says a long word, as it is, that no other record has."""
    words = {word.casefold() for word in re.findall(r"\w{5,}", text)}
    own, others = (json.dumps(records, default=str).casefold() for records in (choice.record, [record for _, record in choice.others]))
    return any(re.search(rf"\b{word}\b", own) and not re.search(rf"\b{word}\b", others) for word in words)


def _shares(token: str, others: set[str]) -> bool:
    """Whether a word is among others, in any form: with the same first letters (four, or three of a short word)."""
    return any(token == other or (min(len(token), len(other)) >= 3 and token[:4] == other[:4]) for other in others)


def _tokens(record: Any) -> set[str]:
    texts = [str(value) for _, value in _leaves(record)] + ([str(key) for key in record] if isinstance(record, Mapping) else [])
    return {token.casefold() for text in texts for token in _TOKEN.findall(text)} - _PLAIN


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*path, number))
    elif value is not None:
        yield path, value


def _at(value: Any, path: Sequence[Any]) -> Any:
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _with(solution: Sequence[Action], choice: Choice, value: Any) -> list[Action]:
    """The solution with another value in the place of the choice, and wherever a later call takes the same one."""
    return [
        attrs.evolve(action, arguments=_replaced(dict(action.arguments), choice, value)) if number >= choice.index else action
        for number, action in enumerate(solution)
    ]


def _replaced(given: Any, choice: Choice, new: Any, name: str = "") -> Any:
    if isinstance(given, Mapping):
        return {key: _replaced(inner, choice, new, key) for key, inner in given.items()}
    if isinstance(given, list | tuple):
        return [_replaced(inner, choice, new, name) for inner in given]
    same = given == choice.value and type(given) is type(choice.value)
    return new if same and (isinstance(given, str) or name == choice.name) else given  # two things may have one number
