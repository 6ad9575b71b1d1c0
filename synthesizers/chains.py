"""Chains of calls around a target link: the link itself is what is explored, everything else is known to work.

A call's arguments come, in this order: from the chain (the target link), from the modes that a known use had, from a lookup that pool
solutions use there, from the request or the enumeration. A chain is built by carrying it out; what fails is taken back.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import define, field

from coevolve import Step

from .catalog import Argument, Catalog
from .exploration import Expedition, Values, results
from .links import Link, Solved

DEEPEST = 4
"""Lookups behind one argument."""


@define
class Chains:
    """Known uses of links in the pool, candidate links, and the building of chains."""

    catalog: Catalog
    values: Values
    rng: random.Random
    solved: Sequence[Solved]
    known: dict[tuple[str, str], dict[Link, int]] = field(factory=lambda: defaultdict(dict))
    """(consumer, argument) -> link -> uses in the pool's solutions."""
    literal: dict[tuple[str, str], int] = field(factory=lambda: defaultdict(int))
    """(tool, argument) -> uses in the pool with a value that no call supplied."""
    uses: dict[str, int] = field(factory=lambda: defaultdict(int))
    """Tool -> uses in the pool's solutions."""
    broken: set[Link] = field(factory=set)
    """Links that failed when they were tried in this evolution."""

    def __attrs_post_init__(self) -> None:
        for one in self.solved:
            self.count(one.steps, [(h.target, h.link) for h in one.handings])

    def count(self, steps: Sequence[Step], links: Sequence[tuple[int, Link]]) -> None:
        """Note the calls and links of one solution."""
        for _, link in links:
            of = self.known[link.consumer, link.argument]
            of[link] = of.get(link, 0) + 1
        handed = {(target, link.argument) for target, link in links}
        for index, step in enumerate(steps):
            self.uses[step.action.name] += 1
            for name in step.action.arguments:
                if (index, name) not in handed:
                    self.literal[step.action.name, name] += 1

    def candidates(self) -> Iterator[Link]:
        """Every link that may be: equal formats where there are formats, else what pool solutions showed and arguments named like it.

        Modes are those with which the consumer's argument was served before, all of them where it never was.
        """
        for consumer, arguments in self.catalog.arguments.items():
            for argument in arguments:
                if argument.choices or not argument.required:
                    continue
                served = self.known.get((consumer, argument.name), {})
                for producer in self.catalog.tools:
                    if producer != consumer and self._fits(producer, argument, served):
                        for modes in self._modes(producer, served):
                            link = Link(producer, modes, consumer, argument.name)
                            if link not in self.broken:
                                yield link

    def _fits(self, producer: str, argument: Argument, served: dict[Link, int]) -> bool:
        formats = self.catalog.gives.get(producer, ())
        if argument.format is not None and formats:
            return argument.format in formats
        if any(link.producer == producer for link in served):
            return True
        returns = self.catalog.tools[producer].returns or {}
        return argument.name in returns.get("properties", {}) and argument.format is None

    def _modes(self, producer: str, served: dict[Link, int]) -> list[tuple[tuple[str, Any], ...]]:
        arguments = [a for a in self.catalog.arguments[producer] if a.mode and a.required]
        all_modes: list[tuple[tuple[str, Any], ...]] = [()]
        for argument in arguments:
            all_modes = [(*modes, (argument.name, choice)) for modes in all_modes for choice in argument.choices][:64]
        shown = {link.modes for link in served}
        return [modes for modes in all_modes if modes in shown] or all_modes

    def build(self, trip: Expedition, link: Link, length: int) -> Step | None:
        """Carry out the link and known calls around it, about `length` calls in all, and return the step that the link leads to.

        None, and nothing has happened, when it fails.
        """
        mark = trip.mark()
        produced = self.call(trip, link.producer, dict(link.modes), {}, DEEPEST - 1)
        value = self._value(produced, link.consumer, link.argument) if produced else None
        if value is None:
            trip.back(mark)
            return None
        consumed = self.call(trip, link.consumer, {}, {link.argument: value}, 1)
        if consumed is None:
            self.broken.add(link)
            trip.back(mark)
            return None
        self._extend(trip, consumed, length)
        return consumed

    def _extend(self, trip: Expedition, last: Step, length: int) -> None:
        """Known links onwards from the last call's result; then known calls of their own, while the length allows."""
        while len(trip.steps) < length:
            onward = [link for served in self.known.values() for link in served if link.producer == last.action.name]
            modes = self.catalog.modes(last.action.name, last.action.arguments)
            onward = [link for link in onward if link.modes == modes]
            if not onward:
                break
            link = self.rng.choice(onward)
            value = self._value(last, link.consumer, link.argument)
            step = self.call(trip, link.consumer, {}, {link.argument: value}, 1) if value is not None else None
            if step is None:
                break
            last = step
        # What the last call tells is what the request asks for: further calls would leave it without a purpose.
        if len(trip.steps) < length and not self.catalog.leaves(last):
            fitting = [one for one in self.solved if len(one.steps) <= length - len(trip.steps)]
            if fitting:
                self.retrace(trip, self.rng.choice(fitting))

    def retrace(self, trip: Expedition, one: Solved) -> bool:
        """A pool solution's calls with the same modes and links, other things in them; False, and nothing has happened, when one fails."""
        mark = trip.mark()
        made: list[Step] = []
        for index, step in enumerate(one.steps):
            given: dict[str, Any] = {}
            for handing in one.handings:
                if handing.target == index:
                    value = self._value(made[handing.source], step.action.name, handing.link.argument)
                    given |= {} if value is None else {handing.link.argument: value}
            modes = dict(self.catalog.modes(step.action.name, step.action.arguments))
            done = self.call(trip, step.action.name, modes, given, 0)
            if done is None:
                trip.back(mark)
                return False
            made.append(done)
        return True

    def call(self, trip: Expedition, tool: str, modes: dict[str, Any], given: dict[str, Any], depth: int) -> Step | None:
        """One call with its arguments supplied; lookups that supply them are carried out before it, at most `depth` deep."""
        mark = trip.mark()
        arguments = dict(given)
        for argument in self.catalog.arguments[tool]:
            if argument.name in arguments or not argument.required:
                continue
            if argument.name in modes:
                arguments[argument.name] = modes[argument.name]
                continue
            value = self._supply(trip, tool, argument, depth)
            if value is None:
                trip.back(mark)
                return None
            arguments[argument.name] = value
        step = None if trip.did(tool, arguments) else trip.attempt(tool, arguments)
        if step is None:
            trip.back(mark)
        return step

    def _supply(self, trip: Expedition, tool: str, argument: Argument, depth: int) -> Any:
        served = self.known.get((tool, argument.name), {})
        linked, literal = sum(served.values()), self.literal.get((tool, argument.name), 0)
        if argument.choices:
            return self.values.draw(trip.start, tool, argument, self.rng, beyond=True)
        wanted = linked > 0 and self.rng.random() < linked / (linked + literal)
        drawn = None if wanted else self.values.draw(trip.start, tool, argument, self.rng, beyond=True)
        if drawn is not None or depth == 0:
            return drawn
        options = list(served) or [link for link in self._unserved(tool, argument) if link not in self.broken]
        if not options:
            return self.values.draw(trip.start, tool, argument, self.rng, beyond=True)
        for link in self.rng.sample(options, min(2, len(options))):
            step = self.call(trip, link.producer, dict(link.modes), {}, depth - 1)
            value = self._value(step, tool, argument.name) if step else None
            if value is not None:
                return value
        return None

    def _unserved(self, tool: str, argument: Argument) -> list[Link]:
        """Links for an argument that no pool solution serves."""
        return [
            Link(producer, modes, tool, argument.name)
            for producer in self.catalog.tools
            if producer != tool and self._fits(producer, argument, {})
            for modes in self._modes(producer, {})
        ]

    def _value(self, step: Step, tool: str, name: str) -> Any:
        argument = self.catalog.argument(tool, name)
        found = results([step], self.catalog, tool, argument) if argument else []
        return self.rng.choice(found).value if found else None
