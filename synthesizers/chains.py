"""Build chains of calls around a target link. Only that link is new; the other calls follow links of pool solutions.

A call's arguments come, in this order, from the target link, from the modes of a known use, from a lookup that pool solutions use in this
place, from the request or the enumeration. A chain is built by executing it; calls that fail are undone.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import define, field

from coevolve import Step

from .argument_values import ArgumentValues, fitting_results
from .call_exploration import Exploration
from .catalog import Argument, Catalog
from .links import Link, SolvedTask

DEEPEST = 4
"""How many lookups may feed each other behind one argument."""


@define
class Chains:
    """Counts the links of pool solutions, lists the links that may be explored, and builds chains."""

    catalog: Catalog
    values: ArgumentValues
    rng: random.Random
    solved: Sequence[SolvedTask]
    known: dict[tuple[str, str], dict[Link, int]] = field(factory=lambda: defaultdict(dict))
    """(consumer, argument) -> link -> its uses in the pool's solutions."""
    literal: dict[tuple[str, str], int] = field(factory=lambda: defaultdict(int))
    """(tool, argument) -> uses in the pool's solutions with a value that no earlier call supplied."""
    uses: dict[str, int] = field(factory=lambda: defaultdict(int))
    """Tool -> calls in the pool's solutions."""
    broken: set[Link] = field(factory=set)
    """Links whose consumer failed when this evolution tried them."""

    def __attrs_post_init__(self) -> None:
        for one in self.solved:
            self.count(one.steps, [(h.target, h.link) for h in one.link_uses])

    def count(self, steps: Sequence[Step], links: Sequence[tuple[int, Link]]) -> None:
        """Add the calls and links of one solution; `links` are the links with the index of the call that each leads to."""
        for _, link in links:
            of = self.known[link.consumer, link.argument]
            of[link] = of.get(link, 0) + 1
        linked = {(target, link.argument) for target, link in links}
        for index, step in enumerate(steps):
            self.uses[step.action.name] += 1
            for name in step.action.arguments:
                if (index, name) not in linked:
                    self.literal[step.action.name, name] += 1

    def candidate_links(self) -> Iterator[Link]:
        """Every link that is worth trying: a producer's result and a required argument of a consumer that fit each other.

        They fit when their formats are equal. Where there are no formats, a pool solution must use the link, or a property of the result
        must have the argument's name. The producer's modes are those of the known uses; all modes when there is no known use.
        """
        for consumer, arguments in self.catalog.arguments.items():
            for argument in arguments:
                if argument.choices or not argument.required:
                    continue
                known_links = self.known.get((consumer, argument.name), {})
                for producer in self.catalog.tools:
                    if producer != consumer and self._fits(producer, argument, known_links):
                        for modes in self._modes(producer, known_links):
                            link = Link(producer, modes, consumer, argument.name)
                            if link not in self.broken:
                                yield link

    def _fits(self, producer: str, argument: Argument, known_links: dict[Link, int]) -> bool:
        formats = self.catalog.result_formats.get(producer, ())
        if argument.format is not None and formats:
            return argument.format in formats
        if any(link.producer == producer for link in known_links):
            return True
        returns = self.catalog.tools[producer].returns or {}
        return argument.name in returns.get("properties", {}) and argument.format is None

    def _modes(self, producer: str, known_links: dict[Link, int]) -> list[tuple[tuple[str, Any], ...]]:
        arguments = [a for a in self.catalog.arguments[producer] if a.mode and a.required]
        all_modes: list[tuple[tuple[str, Any], ...]] = [()]
        for argument in arguments:
            all_modes = [(*modes, (argument.name, choice)) for modes in all_modes for choice in argument.choices][:64]
        shown = {link.modes for link in known_links}
        return [modes for modes in all_modes if modes in shown] or all_modes

    def build(self, exploration: Exploration, link: Link, length: int) -> Step | None:
        """Execute the link and known calls around it, about `length` calls in all, and return the link's consuming step.

        When it fails, all its calls are undone and None is returned.
        """
        checkpoint = exploration.checkpoint()
        produced = self.call(exploration, link.producer, dict(link.modes), {}, DEEPEST - 1)
        value = self._value(produced, link.consumer, link.argument) if produced else None
        if value is None:
            exploration.roll_back(checkpoint)
            return None
        consumed = self.call(exploration, link.consumer, {}, {link.argument: value}, 1)
        if consumed is None:
            self.broken.add(link)
            exploration.roll_back(checkpoint)
            return None
        self._extend(exploration, consumed, length)
        return consumed

    def _extend(self, exploration: Exploration, last: Step, length: int) -> None:
        """Follow known links on from the last call's result, then add a whole pool solution that still fits into `length`."""
        while len(exploration.steps) < length:
            onward = [link for known_links in self.known.values() for link in known_links if link.producer == last.action.name]
            modes = self.catalog.modes(last.action.name, last.action.arguments)
            onward = [link for link in onward if link.modes == modes]
            if not onward:
                break
            step = self.follow(exploration, last, self.rng.choice(onward))
            if step is None:
                break
            last = step
        # A result at the end is what the request asks for; with further calls after it, nobody would need it.
        if len(exploration.steps) < length and not self.catalog.leaves(last):
            fitting = [one for one in self.solved if len(one.steps) <= length - len(exploration.steps)]
            if fitting:
                self.retrace(exploration, self.rng.choice(fitting))

    def follow(self, exploration: Exploration, last: Step, link: Link) -> Step | None:
        """Give a value of the result of `last` to the link's consumer, and return that step; None when it cannot be carried out."""
        value = self._value(last, link.consumer, link.argument)
        return self.call(exploration, link.consumer, {}, {link.argument: value}, 1) if value is not None else None

    def retrace(self, exploration: Exploration, one: SolvedTask) -> bool:
        """Execute a pool solution's calls with the same modes and links, but other values. False when one fails; then all are undone."""
        checkpoint = exploration.checkpoint()
        made: list[Step] = []
        for index, step in enumerate(one.steps):
            given: dict[str, Any] = {}
            for use in one.link_uses:
                if use.target == index:
                    value = self._value(made[use.source], step.action.name, use.link.argument)
                    given |= {} if value is None else {use.link.argument: value}
            modes = dict(self.catalog.modes(step.action.name, step.action.arguments))
            done = self.call(exploration, step.action.name, modes, given, 0)
            if done is None:
                exploration.roll_back(checkpoint)
                return False
            made.append(done)
        return True

    def call(self, exploration: Exploration, tool: str, modes: dict[str, Any], given: dict[str, Any], depth: int) -> Step | None:
        """Execute one call. Its missing arguments are drawn, or looked up by calls before it, at most `depth` deep.

        When a value is missing, the call fails, or the chain has this call already, everything is undone and None is returned.
        """
        checkpoint = exploration.checkpoint()
        arguments = dict(given)
        for argument in self.catalog.arguments[tool]:
            if argument.name in arguments or not argument.required:
                continue
            if argument.name in modes:
                arguments[argument.name] = modes[argument.name]
                continue
            value = self._supply(exploration, tool, argument, depth)
            if value is None:
                exploration.roll_back(checkpoint)
                return None
            arguments[argument.name] = value
        step = None if exploration.has_call(tool, arguments) else exploration.try_call(tool, arguments)
        if step is None:
            exploration.roll_back(checkpoint)
        return step

    def _supply(self, exploration: Exploration, tool: str, argument: Argument, depth: int) -> Any:
        known_links = self.known.get((tool, argument.name), {})
        linked, literal = sum(known_links.values()), self.literal.get((tool, argument.name), 0)
        if argument.choices:
            return self.values.draw(exploration.start, tool, argument, self.rng, beyond=True)
        wanted = linked > 0 and self.rng.random() < linked / (linked + literal)
        drawn = None if wanted else self.values.draw(exploration.start, tool, argument, self.rng, beyond=True)
        if drawn is not None or depth == 0:
            return drawn
        options = list(known_links) or [link for link in self._possible_links(tool, argument) if link not in self.broken]
        if not options:
            return self.values.draw(exploration.start, tool, argument, self.rng, beyond=True)
        for link in self.rng.sample(options, min(2, len(options))):
            step = self.call(exploration, link.producer, dict(link.modes), {}, depth - 1)
            value = self._value(step, tool, argument.name) if step else None
            if value is not None:
                return value
        return None

    def _possible_links(self, tool: str, argument: Argument) -> list[Link]:
        """Links into an argument for which the pool's solutions have none."""
        return [
            Link(producer, modes, tool, argument.name)
            for producer in self.catalog.tools
            if producer != tool and self._fits(producer, argument, {})
            for modes in self._modes(producer, {})
        ]

    def _value(self, step: Step, tool: str, name: str) -> Any:
        argument = self.catalog.argument(tool, name)
        found = fitting_results([step], self.catalog, argument) if argument else []
        return self.rng.choice(found).value if found else None
