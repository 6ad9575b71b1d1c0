"""How much of a desk task was done: the share of what its solution finds out and sets that is found out and set.

The parts of a task are the texts that the solution's lookups return, the records that its actions leave, and its answer. A part is there
when it was found, stands in the records or was answered, whatever calls led there. Records that the solution does not leave, and
refused calls, can never be taken back, so each of them stands in the divisor too:

    progress = parts that are there / (parts + wrong records + refused calls)
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from attrs import frozen

from coevolve import Action

from .calls import DONE, parse
from .tools import TOOLS
from .world import Refused, World

Parts = Counter[tuple[Hashable, ...]]


@frozen
class Wanted:
    """What a solution leads to; shared between episodes, never changed."""

    found: Parts
    """Texts of its lookups, by tool."""
    left: Parts
    """The records that it leaves."""
    answer: str | None
    """None where the task wants no answer."""


@lru_cache(maxsize=4096)
def wanted(seed: int, solution: tuple[str, ...]) -> Wanted:
    """What these calls lead to in a fresh world; calls that are refused lead to nothing."""
    world, found, answer = World(seed), list[tuple[Action, str]](), None
    for action in filter(None, map(parse, solution)):
        if action.name == DONE:
            answer = action.arguments.get("answer")
            break
        try:
            found.append((action, world.call(action)))
        except Refused:
            continue
    return Wanted(lookups(found), records(world), answer)


def lookups(results: Iterable[tuple[Action, str]]) -> Parts:
    """The texts that lookups returned, each counted once: looking it up again finds nothing new."""
    return Counter({(action.name, text) for action, text in results if TOOLS[action.name].gives})


def records(world: World) -> Parts:
    """The records of actions: by tool and entity where the last one counts, else by tool and value."""
    left: Parts = Counter()
    done: Mapping[str, Any] = world.state["records"]
    for tool, values in done.items():
        left.update((tool, *item) for item in values.items()) if isinstance(values, dict) else left.update((tool, v) for v in values)
    return left


def share(of: Wanted, found: Parts, world: World, answer: str | None) -> float:
    """Progress in [0, 1] with the texts `found` by lookups, in `world` as it stands."""
    left = records(world)
    there = (of.found & found).total() + (of.left & left).total() + (of.answer is not None and answer == of.answer)
    parts = of.found.total() + of.left.total() + (of.answer is not None)
    wrong = (left - of.left).total() + int(world.state["incidents"])
    return there / (parts + wrong) if parts else 0.0
