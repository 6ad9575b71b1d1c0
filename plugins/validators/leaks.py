"""Find values that a request states although a call of its own solution finds them out: handed-over values, and answers.

A value is handed over when an earlier call returns it and a later call takes it. An agent that reads it in the request need not make the
earlier call. Only values count that people do not know by heart: ids, codes, numbers with decimals, and whatever is all that a call
returns. Names do not count, since a person may know the file that a listing shows.

An answer is all that a look-up returns and no later call takes: a question that states it asks for nothing.
"""

import re
from collections.abc import Sequence
from typing import Any

from .grounding import literals
from .trace import Trace, TracedCall

_ID = re.compile(r"(?=.*\d)[A-Z0-9][A-Z0-9:#./-]{2,}|[0-9a-f]{8}-[0-9a-f-]{20,}|[0-9a-f]{16,}")
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.\w+")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
_SHORT = 3
"""Characters up to which a text occurs in a request by chance."""
_SMALL = 10
"""Whole numbers below this are counts and choices, which a request holds by chance."""


def leaked_value(told: Trace) -> str | None:
    """Describe the first handed-over value that the request states; None when there is none."""
    for place, call in enumerate(told.calls):
        said = told.said(call.turn)
        for name, given in call.action.arguments.items():
            for value in literals(given):
                source = _source(told, place, value, name.casefold().endswith("id"))
                if source is not None and stated(said, value) and not _is_part_of_name(said, value):
                    return f"{value!r} is said, which {told.calls[source].action.name} finds out for {call.action.name}"
    return None


def answer_said(told: Trace) -> str | None:
    """Describe the first look-up whose whole result the request states already; None when there is none.

    Its result is one number of at least _SMALL or one text, and neither its own arguments nor an earlier result hold it.
    """
    for place, call in enumerate(told.calls):
        found = [one for one in literals(call.step.result) if str(one).strip()]
        measures = any(isinstance(one, int | float) for one in _taken(call))  # its result follows from a number that was given
        if (
            len(found) != 1
            or measures
            or call.ends
            or any(_same(found[0], taken) for later in told.calls[place:] for taken in _taken(later))
        ):
            continue
        answer = found[0]
        known = any(_same(answer, leaf) for earlier in told.calls[:place] for leaf in (*literals(earlier.step.result), *_taken(earlier)))
        telling = abs(answer) >= _SMALL if isinstance(answer, int | float) else len(str(answer)) > _SHORT
        if telling and not known and stated(told.said(call.turn), answer):
            return f"{answer!r} is said, which {call.action.name} is to tell"
    return None


def _taken(call: TracedCall) -> list[Any]:
    return list(literals(dict(call.action.arguments)))


def stated(text: str, value: Any) -> bool:
    """Whether the text has the value in its own notation, in whole words; a number with decimals may be rounded."""
    if isinstance(value, int | float):
        said = {float(number.replace(",", "")) for number in _NUMBER.findall(text)}
        return abs(value) in said or any(number != int(number) and number in _roundings(abs(value)) for number in said)
    return re.search(rf"(?<!\w){re.escape(str(value).casefold())}(?!\w)", text.casefold()) is not None


def _is_part_of_name(text: str, value: Any) -> bool:
    """Whether a code in capitals occurs only as a word of a name: "Zeta Corp" does not say the code ZETA."""
    code = str(value)
    return code.isalpha() and code.isupper() and re.search(rf"\b{code}\b", text) is None


def _roundings(value: float) -> set[float]:
    return {round(value, digits) for digits in range(1, 9)}


def _source(told: Trace, place: int, value: Any, identity: bool) -> int | None:
    """The first earlier call that returns the value; None where a call at or before it takes the value, or where people may know it.

    `identity`: the value is taken as an id, so that people do not know it, however short it is.
    """
    for number, earlier in enumerate(told.calls[:place]):
        if any(_same(value, taken) for taken in literals(dict(earlier.action.arguments))):
            return None
        found = list(literals(earlier.step.result))
        if any(_same(value, leaf) for leaf in found):
            return number if (identity and len(str(value)) < 40 and not _is_name(value)) or _handed(value, found) else None
    return None


def _handed(value: Any, found: Sequence[Any]) -> bool:
    """Whether people would not know the value by heart: it looks like an id, was measured, or is all that the call returns."""
    if isinstance(value, int | float):
        measured = value != int(value) or abs(value) >= 10_000
        return measured or (len(found) == 1 and abs(value) >= _SMALL) or (len(found) < 4 and abs(value) >= 100)
    text = str(value)
    if _ID.fullmatch(text) or _ADDRESS.fullmatch(text) or re.fullmatch(r"\d{3,}", text):
        return True
    is_file = re.search(r"\.\w{1,5}$", text) is not None or ("_" in text and text.islower())
    return len(found) == 1 and len(text) >= 2 and not is_file


def _is_name(value: Any) -> bool:
    """Whether a text is a word or a name, which people may know, such as "booking_lisbon"."""
    return isinstance(value, str) and (not any(character.isdigit() for character in value) or re.search(r"[a-z]{3}", value) is not None)


def _same(value: Any, other: Any) -> bool:
    numeric = isinstance(value, int | float), isinstance(other, int | float)
    return value == other if numeric[0] == numeric[1] else False
