"""Check that an agent can know the literals of a solution: from the user's messages, an earlier call's result, or the tool's own document.

A tool's document is its descriptions, enumerations and defaults. Flags and None need no source. System messages do not count, since they
hold the documents of all tools.

People write values in other ways than tools (spoken_forms.py): "five thousand", "half", "December 10". A value that is computed from two
known numbers counts only where the user's words call for a computation ("fill it up", "half of it", "whatever is above that"), and a
rounded number where the whole one is known. A text may be put together from what was said and found; a time may be moved by a span that
the user says; a few tickers are known to everybody (well_known.py). How many items a page holds needs no source. The answer that ends an
episode may be computed from results (answers.py). Many tasks that people wrote still fail this check: they expect the agent to draw
conclusions ("the airport of New York"), which a search for the literal does not find.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from math import floor
from typing import Any

from attrs import define, field

from coevolve import Action, Environment

from .answers import COMPARES, is_derivable
from .spoken_forms import dates, durations, months, numbers, times, years
from .trace import Trace, TracedCall
from .well_known import called, factors

_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2})?)?")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?")
_SEPARATORS = re.compile(r"[\s_\-./]+")
_JOINTS = re.compile(r"[/\s,_]+")
_COMPUTED = re.compile(
    r"\b(half|halve|quarter|third|twice|double|triple|rest|remain\w*|left|full|fill|top|sum|total|altogether|difference|percent\w*|each|evenly"
    r"|equally|split|minus|plus|times|average|afford|surplus|excess|above that|over that|beyond that|whatever is (?:above|over)|as many"
    r"|how many|budget|whole|(?:increase|decrease|raise|lower|reduce|discount)\w*)\b|%",
    re.IGNORECASE,
)
"""Words after which a number may be the result of a computation."""
_RELATIVE = re.compile(
    r"\b(today|tonight|tomorrow|yesterday|next|last|this|coming|from now|ago|mon|tues|wednes|thurs|fri|satur|sun)(day)?\b", re.IGNORECASE
)
_WORDS = re.compile(r"\d[\d,.]*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_PAGING = re.compile(r"(?:^|_)(?:page|limit|offset)(?:_|$)")
_PLACES = frozenset({".", "..", "/", "~"})
"""Places that need no source: here, one level up, the root and the home of a file system."""
_SPOKEN = 3
"""Fewest letters of an enumerated value that is looked for in a request: "on" occurs by chance."""
_KNOWN = 60
"""Most numbers among which a computation is looked for."""


@define
class SpokenText:
    """Text that an agent has read so far, for searching words and numbers in it."""

    text: str = ""
    numbers: set[float] = field(factory=set)
    asked: str = ""
    """The part of the text that the user said: only a user asks for a computation."""

    def add(self, text: str) -> None:
        """Append a text; its case does not matter."""
        self.text += f"\n{text.casefold()}"
        self.numbers |= numbers(text)

    def ask(self, text: str) -> None:
        """Append what the user says."""
        self.add(text)
        self.asked += f"\n{text}"

    def contains(self, value: Any) -> bool:
        """Whether a text occurs as whole words, or a number in any notation. The sign of a number does not matter."""
        if isinstance(value, int | float):
            return abs(value) in self.numbers
        wanted = str(value).strip().casefold()
        return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", self.text) is not None

    def states(self, value: Any, constants: Collection[float] = ()) -> bool:
        """As `contains`, and also for a value that the text writes in another way. `constants` are further numbers to compute with."""
        if self.contains(value):
            return True
        if isinstance(value, int | float):
            return self._computed(abs(float(value)), constants)
        return value in _PLACES or called(self.text, value) or self._date(value) or self._spelled(str(value))

    def holds_parts(self, value: str) -> bool:
        """Whether a text is put together from what was read: each of its words, and each of its numbers in any notation."""
        words = _WORDS.findall(value)
        if len(words) < 2 or not any(word[0].isalpha() for word in words):
            return False  # "05:30" is a time, not a text about 5 and 30
        return all(self.contains(word) or (word[0].isdigit() and self.states(_number(word))) for word in words)

    def _computed(self, value: float, constants: Collection[float]) -> bool:
        """Whether the number is a known one, rounded, or the user asks for a computation that gives it."""
        if any(_rounded(known, value) for known in self.numbers):
            return True
        if not _COMPUTED.search(self.asked):
            return False
        known = sorted({*self.numbers, *constants, 2.0, 0.5, 100.0, *factors(self.asked)})[:_KNOWN]
        return any(_close(value, result) for a in known for b in known for result in _results(a, b))

    def _date(self, value: str) -> bool:
        if found := _ISO.fullmatch(value.strip()):
            year, month, day = (int(part) for part in found.groups()[:3])
            try:
                date(year, month, day)
            except ValueError:
                return False
            said = dates(self.text)
            known = (year, month, day) in said or ((None, month, day) in said and (year in years(self.text) or not years(self.text)))
            relative = bool(_RELATIVE.search(self.asked)) and bool(_ISO.search(self.text))
            edge = (day == 1 or date(year, month, day) + timedelta(1) == date(year + month // 12, month % 12 + 1, 1)) and (
                month in months(self.asked) and (year in years(self.text) or not years(self.text))
            )
            return known or relative or edge
        if found := _TIME.fullmatch(value.strip()):
            wanted = 60 * int(found[1]) + int(found[2])
            known_times = [60 * hour + minute for hour, minute in times(self.text)]
            return any((wanted - one) % 1440 in {0, *moved} for moved in [self._moved()] for one in known_times)
        return False

    def _moved(self) -> set[int]:
        """By how many minutes of the day the user may move a time, earlier or later."""
        return {sign * minutes % 1440 for minutes in durations(self.asked) for sign in (1, -1)}

    def _spelled(self, value: str) -> bool:
        """Whether the text has the same letters and digits with other separators, or all parts of a list or a path."""
        wanted = value.casefold().strip().strip("#@'\".!?")
        if not wanted:
            return False
        if self.contains(wanted):
            return True
        if len(wanted) == 2 and value == wanted and wanted.isalpha() and re.search(rf"\b{'[a-z]*'.join(wanted)}[a-z]*\b", self.text):
            return True  # an abbreviation: "km" for "kilometers"
        joined = _SEPARATORS.sub("", wanted)
        if len(joined) >= 3 and re.search(rf"(?<![a-z0-9]){re.escape(joined)}(?![a-z0-9])", _SEPARATORS.sub("", self.text)):
            return True
        if len(joined) >= 5 and joined in _SEPARATORS.sub("", self.text):
            return True
        if re.fullmatch(r"-?\d+(?:\.\d+)?", wanted) and float(wanted) in self.numbers:
            return True
        parts = [part for part in _JOINTS.split(wanted) if part]
        return 1 < len(parts) <= 8 and all(self.contains(part) or self.contains(part.strip(".!?'\"")) for part in parts)


def _number(word: str) -> float:
    return float(re.sub(r"[^\d.]|\.$", "", word) or 0)


def _rounded(known: float, value: float) -> bool:
    return known != int(known) and any(round(known, digits) == value for digits in range(5))


def _close(value: float, other: float) -> bool:
    return abs(value - other) <= 1e-6 * max(1.0, abs(value))


def _results(a: float, b: float) -> tuple[float, ...]:
    quotient = a / b if b else a
    return (a + b, a - b, a * b, quotient, float(floor(quotient)), a * b / 100)


def ungrounded_literal(environment: Environment, told: Trace) -> str | None:
    """Describe the first literal of the solution that has no source; None when all have one."""
    schemas = {tool.name: (tool.description, tool.parameters.get("properties", {})) for tool in environment.describe().tools}
    read, turn = SpokenText(), -1
    read.add(told.present)
    results: list[tuple[str, Any]] = []
    for call in told.calls:
        while turn < call.turn:
            turn += 1
            read.ask(told.turns[turn])
        description, properties = schemas.get(call.action.name, ("", {}))
        if (missing := _missing(call, properties, description, read, results)) is not None:
            return f"{call.action.name}: {missing} comes from nowhere"
        if (other := _other_choice(call.action, properties, told, call.turn)) is not None:
            return f"{call.action.name}: {other}"
        read.add(call.step.observation)
        for text in literals(call.step.result):
            if isinstance(text, str) and "\n" in text:
                read.add(text)  # the observation may show an escape in place of the end of a line
        results.append((call.action.name, call.step.result))
    return None


def _missing(
    call: TracedCall, properties: Mapping[str, Any], description: str, read: SpokenText, results: Sequence[tuple[str, Any]]
) -> str | None:
    for name, value in call.action.arguments.items():
        schema = properties.get(name, {})
        document = SpokenText()
        document.add(f"{description} {schema.get('description', '')}")
        choices = [*schema.get("enum", ()), *_items(schema).get("enum", ()), schema.get("default")]
        if value in choices or _is_paging(name, value, schema):
            continue
        is_answer = call.ends and "answer" in name.casefold()
        for literal in literals(value):
            if literal in choices or document.contains(literal) or read.states(literal, document.numbers):
                continue
            if isinstance(literal, str) and results and read.holds_parts(literal):
                continue
            asks = is_answer or (isinstance(literal, float) and COMPARES.search(read.asked) is not None)
            if not (asks and is_derivable(literal, read.asked, results)):
                return f"{name} {literal!r}"
    return None


def _is_paging(name: str, value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether an argument only says how many of the items a page holds, or which page it is: an agent reads as many pages as it likes."""
    return isinstance(value, int) and "default" in schema and schema.get("type") == "integer" and _PAGING.search(name) is not None


def _other_choice(action: Action, properties: Mapping[str, Any], told: Trace, turn: int) -> str | None:
    """Describe an enumerated value that nobody said, where the turn names another value of the enumeration that no call takes."""
    taken = [value for call in told.calls if call.turn == turn for value in literals(dict(call.action.arguments))]
    said, before = SpokenText(), SpokenText()
    said.ask(told.turns[turn])
    before.ask(told.said(turn))
    for name, value in action.arguments.items():
        choices = properties.get(name, {}).get("enum", ())
        if isinstance(value, str) and value in choices and not before.contains(value):
            for other in choices:
                if isinstance(other, str) and other in _parts(value):
                    continue  # "read and write access" means "read_write"
                if isinstance(other, str) and len(other) >= _SPOKEN and other not in taken and said.contains(other):
                    return f"{name} is {value!r}, and the request says {other!r}"
    return None


def _parts(value: str) -> list[str]:
    return _SEPARATORS.split(value)


def _items(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    items = schema.get("items")
    return items if isinstance(items, Mapping) else {}


def literals(value: Any) -> Iterator[Any]:
    """The texts and numbers in a JSON value; flags and None are not among them."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from literals(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from literals(inner)
    elif value is not None and not isinstance(value, bool):
        yield value


def mode_arguments(environment: Environment) -> set[tuple[str, str]]:
    """(tool, argument) of each argument that chooses how its tool works (enumerated, without a format): no result supplies its value."""
    return {
        (tool.name, name)
        for tool in environment.describe().tools
        for name, schema in tool.parameters.get("properties", {}).items()
        if schema.get("enum") and "format" not in schema
    }
