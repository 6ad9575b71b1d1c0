"""Word calls that nobody worded: each call by a phrase of its function, values as people write them, results referred to instead of said.

A phrase is a template with a slot for each argument of the call, such as "buy {amount} shares of {symbol} at {price}". A slot is filled by
the first thing that fits: the reference of the argument, where an earlier call's result supplies the value ("the current price"), else the
argument's own format, else the value itself. Calls that change nothing and supply a later call are not worded: the user wants what they
lead to. Modules in phrases/ hold the phrases of one class each.
"""

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from attrs import field, frozen

from . import phrases as texts
from .decode import Call
from .digest import canonical
from .goals.scene import joined
from .request_lint import fault_in

_SLOT = re.compile(r"\{(\w+)\}")
_OPENINGS = ("Please {}.", "Could you {}?", "I need you to {}.", "Can you {}?", "I'd like you to {}.")
_LATER = ("Then please {}.", "After that, {}.", "Also, {}, please.", "And could you {}?")
_MOST = 4
"""Most wishes of one user turn; nobody dictates more."""


@frozen
class Phrases:
    """How one class's calls are worded."""

    functions: Mapping[str, tuple[str, ...]]
    """Function -> templates in the imperative, in lower case. Only those whose slots are exactly the call's arguments are used."""
    formats: Mapping[str, str] = field(factory=dict)
    """Argument, or "function.argument" -> how a literal is written, with {} for the value: "${}"."""
    references: Mapping[str, str | tuple[str, ...]] = field(factory=dict)
    """Argument, or "function.argument" -> how a value is referred to that an earlier call returned: "that order". Of several, the first
    is used whose slots are arguments of that call: ("{name}", "that stock")."""
    words: Mapping[str, Mapping[Any, str]] = field(factory=dict)
    """"function.argument" -> value -> the words for it, for values that choose how a function works. Other values are refused."""


@cache
def phrases() -> tuple[Phrases, ...]:
    """The phrases of all classes: `PHRASES` of each module in phrases/."""
    return tuple(import_module(f"{texts.__name__}.{module.name}").PHRASES for module in iter_modules(texts.__path__))


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
    return text if 0 < len(sentences) <= _MOST and fault_in(text, [one.call for one in made]) is None else None


def _clause(call: Call, before: Sequence[Made], rng: random.Random) -> str | None:
    for known in phrases():
        fitting = [text for text in known.functions.get(call.name, ()) if set(_SLOT.findall(text)) == set(call.arguments)]
        if not fitting:
            continue
        filled = {name: _fill(known, call, name, before) for name in call.arguments}
        if None not in filled.values():
            return rng.choice(fitting).format(**filled)
    return None


def _fill(known: Phrases, call: Call, name: str, before: Sequence[Made]) -> str | None:
    value, full = call.arguments[name], f"{call.name}.{name}"
    if full in known.words:
        values = value if isinstance(value, list) else [value]
        words = [known.words[full][one] for one in values if one in known.words[full]]
        return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]])) if words and len(words) == len(values) else None
    if _must_be_found(name, value, before):
        return _reference(known.references.get(full, known.references.get(name, ())), _newest(name, value, before))
    written = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, list):
        written = joined([str(inner) for inner in value])
    template = known.formats.get(full, known.formats.get(name, "{}"))
    if template.startswith("$") and isinstance(value, int | float):
        written = f"{value:,.2f}".removesuffix(".00")
    if not written.strip() or "\n" in written or isinstance(value, bool | dict):
        return None
    if any(f"{mark}{{}}{mark}" in template and mark in written for mark in "'\""):
        return None  # quotation marks around a text that holds the same marks cannot be read
    return template.replace("{}", written)


def _supplies(result: Any, later: Call) -> bool:
    return any(_among(result, name, value) == 1 for name, value in later.arguments.items())


def _must_be_found(name: str, value: Any, before: Sequence[Made]) -> bool:
    """Whether the value comes from a result that shows no other like it. A choice among several, and what was said before, can be said."""
    for one in before:
        if any(value == said and type(value) is type(said) for said in one.call.arguments.values()):
            return False
        if choices := _among(one.result, name, value):
            return choices == 1
    return False


def _newest(name: str, value: Any, before: Sequence[Made]) -> Call | None:
    """The call that found the value; None when a later call of that function found another: "that order" is the last one."""
    source = next(one for one in before if _among(one.result, name, value))
    last = [one for one in before if one.call.name == source.call.name][-1]
    return last.call if _among(last.result, name, value) else None


def _reference(choices: str | tuple[str, ...], source: Call | None) -> str | None:
    """The first of the references that the source's arguments fill."""
    for choice in (choices,) if isinstance(choices, str) else choices:
        if source is not None and set(_SLOT.findall(choice)) <= set(source.arguments):
            return choice.format(**source.arguments)
    return None


def _among(result: Any, name: str, value: Any) -> int:
    """Among how many values a result holds this one, of the argument `name`: 1 when alone, 0 when it does not or that may be chance."""
    small = isinstance(value, int | float) and abs(value) < 10
    if isinstance(value, bool) or value is None or value == "":
        return 0
    if isinstance(result, Mapping):
        shown = {key: inner for key, inner in result.items() if not small or (name.endswith("_id") and str(key).endswith("id"))}
        return max((_among(inner, name, value) for inner in shown.values()), default=0)
    if result == value and isinstance(result, bool) == isinstance(value, bool) and isinstance(result, str) == isinstance(value, str):
        return 1
    if isinstance(result, list | tuple):
        return max((_among(inner, name, value) for inner in result if not small or isinstance(inner, Mapping)), default=0) * len(result)
    return 0
