"""Word calls that nobody worded: each call by a phrase of its function, values as people write them, results referred to instead of said.

A phrase is a template with a slot for each argument of the call, such as "buy {amount} shares of {symbol} at {price}". A slot is filled by
the first thing that fits: the reference of the argument, where an earlier call's result supplies the value ("the current price"), else the
argument's own format, else the value itself. Calls that change nothing and supply a later call are not worded: the user wants what they
lead to. Modules in phrases/ hold the phrases of one class each.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from attrs import field, frozen

from .decode import Call
from .digest import canonical
from .request_lint import fault_in

MODULES = ("file_system", "math_service", "messages", "tickets", "trading", "travel", "tweets", "vehicle")
_SLOT = re.compile(r"\{(\w+)\}")
_OPENINGS = ("Please {}.", "Could you {}?", "I need you to {}.", "Can you {} for me?", "I'd like you to {}.")
_LATER = ("Then please {}.", "After that, {}.", "Also, {}, please.", "And could you {}?")


@frozen
class Phrases:
    """How one class's calls are worded."""

    functions: Mapping[str, tuple[str, ...]]
    """Function -> templates in the imperative, in lower case. Only those whose slots are exactly the call's arguments are used."""
    formats: Mapping[str, str] = field(factory=dict)
    """Argument, or "function.argument" -> how a literal is written, with {} for the value: "${}"."""
    references: Mapping[str, str] = field(factory=dict)
    """Argument, or "function.argument" -> how a value is referred to that an earlier call returned: "that order"."""
    words: Mapping[str, Mapping[Any, str]] = field(factory=dict)
    """"function.argument" -> value -> the words for it, for values that choose how a function works. Other values are refused."""


def phrases() -> Iterator[Phrases]:
    """The phrases of all classes."""
    for module in MODULES:
        yield import_module(f".phrases.{module}", __package__).PHRASES


@frozen
class Made:
    """A call that was made, with its result and whether it changed the world."""

    call: Call
    result: Any
    changed: bool


def word(made: Sequence[Made], earlier: Sequence[Made] = ()) -> str | None:
    """One user turn that asks for these calls, after the `earlier` ones; None when they cannot be worded as a person would.

    The same calls get the same words.
    """
    rng = random.Random(canonical([[one.call.name, dict(one.call.arguments)] for one in made]))
    sentences: list[str] = []
    for number, one in enumerate(made):
        if not one.changed and any(_supplies(one.result, later.call) for later in made[number + 1 :]):
            continue
        clause = _clause(one.call, [*earlier, *made[:number]], rng)
        if clause is None:
            return None
        frame = rng.choice(_LATER if sentences else _OPENINGS)
        text = frame.format(clause)
        sentences.append(text[0].upper() + text[1:])
    text = " ".join(sentences)
    return text if sentences and fault_in(text, [one.call for one in made]) is None else None


def _clause(call: Call, before: Sequence[Made], rng: random.Random) -> str | None:
    for known in phrases():
        fitting = [text for text in known.functions.get(call.name, ()) if set(_SLOT.findall(text)) == set(call.arguments)]
        if not fitting:
            continue
        filled = {name: _fill(known, call, name, before) for name in call.arguments}
        if None not in filled.values():
            return _SLOT.sub(lambda slot: str(filled[slot[1]]), rng.choice(fitting))
    return None


def _fill(known: Phrases, call: Call, name: str, before: Sequence[Made]) -> str | None:
    value, full = call.arguments[name], f"{call.name}.{name}"
    if full in known.words:
        return known.words[full].get(value)
    reference = known.references.get(full, known.references.get(name))
    if any(_holds(one.result, value) for one in before):
        return reference  # a value that only a result shows is described; where no description is known, the call cannot be worded
    written = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, list):
        written = ", ".join(map(str, value))
    if not written.strip() or "\n" in written or isinstance(value, bool | dict):
        return None
    return known.formats.get(full, known.formats.get(name, "{}")).replace("{}", written)


def _supplies(result: Any, later: Call) -> bool:
    return any(_holds(result, value) for value in later.arguments.values())


def _holds(result: Any, value: Any) -> bool:
    """Whether a result holds a value that is unlikely to be there by chance."""
    if isinstance(value, bool) or value is None or (isinstance(value, int | float) and abs(value) < 10) or value == "":
        return False
    if isinstance(result, Mapping):
        return any(_holds(inner, value) for inner in result.values())
    if isinstance(result, list | tuple):
        return any(_holds(inner, value) for inner in result)
    return bool(result == value) and isinstance(result, bool) == isinstance(value, bool)
