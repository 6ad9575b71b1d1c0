"""What `coevolve options [KIND:NAME]` prints."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from ..contracts import KINDS
from ..errors import UserError, did_you_mean
from ..registry import Registry, load_plugins
from ..settings.option_texts import OptionText, core_option_texts, option_texts
from ..settings.sources import MANY

TABLES = {kind: kind for kind in KINDS} | {kind: key for key, kind in MANY.items()}
"""Kind of component -> the configuration's table for it."""
WIDTH = 100


def option_list(component: str | None, block: Sequence[str] = ()) -> Iterator[str]:
    """Lines that describe the options of `component`, "kind:name"; without one core's settings, and the components that there are."""
    registry = load_plugins(block=block)
    if component is not None:
        kind, name = _kind_and_name(component, registry)
        yield f"{kind}:{name} ({registry.distribution(kind, name)})"
        found = list(option_texts(registry.component(kind, name).Options, table_of(kind, name)))
        yield from _described(found) if found else ["", "It has no options."]
        return
    yield "Settings of core"
    yield from _described(core_option_texts())
    yield "\nOptions of a component: coevolve options KIND:NAME"
    for kind in KINDS:
        yield from (f"  {kind}:{name}" for name in registry.names(kind))


def table_of(kind: str, name: str) -> str:
    """The configuration's table that holds the options of a component, such as "signals.rare" or "sampler"."""
    return f"{TABLES[kind]}.{name}" if kind in MANY.values() else kind


def _described(options: Iterable[OptionText]) -> Iterator[str]:
    for option in options:
        yield f"\n{option.key} = {option.default}" if option.default is not None else f"\n{option.key} (must be given)"
        yield from textwrap.wrap(option.text, WIDTH, initial_indent="    ", subsequent_indent="    ")


def _kind_and_name(component: str, registry: Registry) -> tuple[str, str]:
    kind, colon, name = component.partition(":")
    if not colon:
        known = [f"{kind}:{name}" for kind in KINDS for name in registry.names(kind)]
        near = [one for one in known if one.endswith(f":{component}")]
        hint = did_you_mean(near[0], near) if near else did_you_mean(component, known)
        raise UserError(f"options takes KIND:NAME (such as signal:rare), found {component!r}{hint}")
    if kind not in KINDS:
        raise UserError(f"unknown kind {kind!r} in {component!r}{did_you_mean(kind, KINDS)}")
    registry.component(kind, name)
    return kind, name
