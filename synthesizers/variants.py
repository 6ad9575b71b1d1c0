"""Variants of solved tasks, each carried out in a start task's world before it is worded.

    swap       another value where the request says one: in its words and in every call that takes it
    suffix     a new turn after the task's turns
    prefix     a new turn before them
    recombine  turns of another task after some of this task's turns
    permute    two turns change places
    explore    some of the task's turns, then new ones

Kept turns keep their words. A value that an earlier result handed over is taken from that call's new result; a value whose source would
come later, or not at all, refuses the variant, since no agent could know it.
"""

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
from attrs import define, field, frozen

from coevolve import Step

from .catalog import Argument, Catalog, same, same_call, telling
from .exploration import Expedition, Values, results
from .links import Solved, handings

TRIES = 12
"""Calls tried for one new call of a turn."""


@frozen
class Turn:
    """What the user asks for in one turn, and the calls that do it. `text` is None for a new turn, which the environment words."""

    text: str | None
    steps: tuple[Step, ...]


@define
class Trip(Expedition):
    """An expedition that notes which calls changed nothing."""

    reads: list[Step] = field(factory=list)

    def attempt(self, name: str, arguments: dict[str, Any]) -> Step | None:
        before = self.episode.state()
        step = super().attempt(name, arguments)
        if step is not None and self.episode.state() == before:
            self.reads.append(step)
        return step


@frozen
class Kept:
    """A solved task's turns: the words of each (None where they cannot be told apart) and the indices of its steps."""

    one: Solved
    texts: tuple[str | None, ...]
    groups: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.groups)


def turns(one: Solved, several: bool) -> Kept | None:
    """The turns of a task in which something is done, with their words: the query's paragraphs. None when they cannot be told apart.

    Words of a turn in which nothing is done yet (the user leaves something open) belong to the next turn in which something is.
    """
    if len(one.steps) != len(one.task.solution):
        return None
    if not several:
        return Kept(one, (None,), (tuple(range(len(one.steps))),))
    numbers = sorted({action.turn for action in one.task.solution})
    groups = tuple(tuple(i for i, action in enumerate(one.task.solution) if action.turn == number) for number in numbers)
    texts = tuple(part.strip() for part in one.task.query.split("\n\n") if part.strip())
    if len(texts) != len(groups):
        if len(texts) != numbers[-1] + 1:
            return None
        texts = tuple("\n".join(texts[before + 1 : number + 1]) for before, number in zip([-1, *numbers], numbers, strict=False))
    return Kept(one, texts, groups)


def spoken(value: Any) -> re.Pattern[str]:
    """Finds a value in a request, not as a part of another word or number.

    >>> bool(spoken(20.0).search("the last 20 lines")), bool(spoken("log").search("log.txt or login"))
    (True, False)
    """
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return re.compile(rf"(?<![\w.-]){re.escape(text)}(?:\.0+)?(?![\w-]|\.\w)")


@define
class Variants:
    """Makes variants in one evolution; each method returns turns that were carried out in the trip, or None."""

    catalog: Catalog
    values: Values
    rng: random.Random
    uses: dict[str, int]
    """Tool -> its uses in the pool and in candidates: new calls prefer what is rare."""
    longest: int
    """Most calls of a new turn."""

    def swap(self, trip: Trip, kept: Kept, others: Sequence[Kept]) -> list[Turn] | None:
        query = kept.one.task.query
        places = [
            (index, name, value)
            for index, step in enumerate(kept.one.steps)
            for name, value in step.action.arguments.items()
            if isinstance(value, str | int | float) and not isinstance(value, bool) and _said(query, value)
        ]
        if not places:
            return None
        index, name, old = self.rng.choice(places)
        argument = self.catalog.argument(kept.one.steps[index].action.name, name)
        new = self._other(trip, kept, index, argument, old) if argument else None
        if new is None:
            return None
        made = [self._again(trip, kept, number, {}, (old, new)) for number in range(len(kept))]
        if not all(made):
            return None
        texts = [spoken(old).sub(lambda _: str(new), text if text is not None else query) for text in kept.texts]
        return [Turn(text, tuple(steps or ())) for text, steps in zip(texts, made, strict=True)]

    def suffix(self, trip: Trip, kept: Kept, others: Sequence[Kept]) -> list[Turn] | None:
        before = self._all(trip, kept, range(len(kept)))
        after = self._new(trip, kept, len(kept)) if before else None
        return [*before, after] if before and after else None

    def prefix(self, trip: Trip, kept: Kept, others: Sequence[Kept]) -> list[Turn] | None:
        before = self._new(trip, kept, 0)
        after = self._all(trip, kept, range(len(kept))) if before else None
        return [before, *after] if before and after else None

    def recombine(self, trip: Trip, kept: Kept, others: Sequence[Kept]) -> list[Turn] | None:
        """`others`: tasks whose turns may work in this world too; those that do not are found out by carrying them out."""
        if not others:
            return None
        other = self.rng.choice(others)
        before = self._all(trip, kept, range(self.rng.randint(1, len(kept))))
        first = self.rng.randrange(len(other))
        after = self._all(trip, other, range(first, self.rng.randint(first + 1, len(other))), len(before)) if before else None
        return [*before, *after] if before and after else None

    def permute(self, trip: Trip, kept: Kept, others: Sequence[Kept]) -> list[Turn] | None:
        if len(kept) < 2:
            return None
        order = list(range(len(kept)))
        one, two = sorted(self.rng.sample(order, 2))
        order[one], order[two] = order[two], order[one]
        return self._all(trip, kept, order)

    def explore(self, trip: Trip, kept: Kept, others: Sequence[Kept]) -> list[Turn] | None:
        made = self._all(trip, kept, range(self.rng.randrange(len(kept))))
        for _ in range(self.rng.randint(1, 2)):
            new = self._new(trip, kept, len(made)) if made is not None else None
            if new is None or made is None:
                break
            made = [*made, new]
        return made if made and made[-1].text is None else None

    def _all(self, trip: Trip, kept: Kept, numbers: Iterable[int], turn: int = 0) -> list[Turn] | None:
        """Those turns of a task, one after the other, from `turn` on."""
        sources: dict[int, Step] = {}
        made = []
        for place, number in enumerate(numbers, turn):
            trip.turn = place
            steps = self._again(trip, kept, number, sources)
            if steps is None:
                return None
            made.append(Turn(kept.texts[number], tuple(steps)))
        return made

    def _again(
        self, trip: Trip, kept: Kept, number: int, sources: dict[int, Step], change: tuple[Any, Any] | None = None
    ) -> list[Step] | None:
        """One turn's calls; None when a call fails. `sources`: steps made so far by their place in the task's solution."""
        steps = []
        if change is not None:
            trip.turn = number
        for index in kept.groups[number]:
            action, arguments = kept.one.steps[index].action, dict[str, Any]()
            for name, value in action.arguments.items():
                known, now = self._value(kept, index, name, _changed(value, change), sources)
                if not known:
                    return None
                arguments[name] = now
            step = trip.attempt(action.name, arguments)
            if step is None:
                return None
            sources[index] = step
            steps.append(step)
        return steps

    def _value(self, kept: Kept, index: int, name: str, value: Any, sources: Mapping[int, Step]) -> tuple[bool, Any]:
        """Whether an argument's value can be known here, and what it is now."""
        handing = next((h for h in kept.one.handings if h.target == index and h.link.argument == name), None)
        old = kept.one.steps[index].action.arguments[name]
        if handing is None or not same(old, value) or _said(kept.one.task.query, value):
            return True, value
        source = sources.get(handing.source)
        if source is None:
            return False, None
        before, now = self.catalog.leaves(kept.one.steps[handing.source]), self.catalog.leaves(source)
        place = next((place for place, leaf in enumerate(before) if same(leaf.value, value)), None)
        if place is None or len(before) != len(now):
            return any(same(leaf.value, value) for leaf in now), value
        return True, now[place].value

    def _other(self, trip: Trip, kept: Kept, index: int, argument: Argument, old: Any) -> Any:
        """Another value for an argument: what pool tasks gave it, what the world shows, the enumeration, a number near by."""
        step = kept.one.steps[index]
        found = [*self.values.used(step.action.name, argument), *argument.choices]
        found += [leaf.value for leaf in results(self._look(trip, kept), self.catalog, step.action.name, argument)]
        if isinstance(old, int | float):
            found += [old + 1, old + 2, old * 2]
        query = kept.one.task.query
        fitting = [value for value in found if argument.takes(value, argument.format) and _single(value) and not _said(query, value)]
        return self.rng.choice(fitting) if fitting else None

    def _look(self, trip: Trip, kept: Kept) -> list[Step]:
        """What a few calls without arguments show; the world is then as before."""
        bare = [tool for tool in self._tools(kept) if not any(a.required for a in self.catalog.arguments[tool])]
        mark = trip.mark()
        seen = [trip.attempt(tool, {}) for tool in self.rng.sample(bare, min(3, len(bare)))]
        trip.back(mark)
        return [step for step in seen if step is not None]

    def _tools(self, kept: Kept) -> list[str]:
        """The tools of the apps that a task's solution uses."""
        groups = {self.catalog.group(step.action.name) for step in kept.one.steps}
        return [name for name in self.catalog.tools if self.catalog.group(name) in groups]

    def _new(self, trip: Trip, kept: Kept, number: int) -> Turn | None:
        """A new turn of a few calls, without those that neither change anything, nor hand anything on, nor are the last."""
        trip.turn, begun = number, len(trip.steps)
        tools = self._tools(kept)
        weights = [1 / (1 + self.uses.get(tool, 0)) for tool in tools]
        wanted = self.rng.randint(1, self.longest)
        for _ in range(TRIES * wanted):
            if len(trip.steps) - begun == wanted:
                break
            tool = self.rng.choices(tools, weights)[0]
            arguments = self._arguments(trip, tool)
            if arguments is not None and not trip.did(tool, arguments):
                self._add(trip, kept, tool, arguments)
        while (idle := self._idle(trip, begun)) is not None:
            del trip.steps[idle]
        return Turn(None, tuple(trip.steps[begun:])) if len(trip.steps) > begun else None

    @staticmethod
    def _add(trip: Trip, kept: Kept, tool: str, arguments: dict[str, Any]) -> None:
        """One new call; not one that changes what the task's own call is to change."""
        mark = trip.mark()
        step = trip.attempt(tool, arguments)
        read = bool(trip.reads) and trip.reads[-1] is step
        if step is not None and not read and any(same_call(step.action, known.action) for known in kept.one.steps):
            trip.back(mark)

    def _idle(self, trip: Trip, begun: int) -> int | None:
        handing = {h.source for h in handings(trip.steps, self.catalog)}
        inner = range(begun, len(trip.steps) - 1)
        return next((i for i in inner if i not in handing and any(trip.steps[i] is read for read in trip.reads)), None)

    def _arguments(self, trip: Trip, tool: str) -> dict[str, Any] | None:
        given: dict[str, Any] = {}
        for argument in self.catalog.arguments[tool]:
            if not argument.required and self.rng.random() < 0.8:
                continue
            found = [] if argument.choices else results(trip.steps, self.catalog, tool, argument)
            drawn = self.rng.choice(found).value if found and self.rng.random() < 0.5 else self._draw(trip, tool, argument)
            if drawn is not None:
                given[argument.name] = drawn
            elif argument.required:
                return None
        return given

    def _draw(self, trip: Trip, tool: str, argument: Argument) -> Any:
        if bool in argument.types and not argument.choices:
            return self.rng.random() < 0.5
        used = self.values.used(tool, argument)
        if used and not argument.choices and self.rng.random() < 0.5:
            return self.rng.choice(used)  # what people asked for in this place reads better than any word of this request
        return self.values.draw(trip.start, tool, argument, self.rng, beyond=True)


Operator = Callable[[Variants, Trip, Kept, Sequence[Kept]], list[Turn] | None]
OPERATORS: dict[str, Operator] = {
    "swap": Variants.swap,
    "suffix": Variants.suffix,
    "prefix": Variants.prefix,
    "recombine": Variants.recombine,
    "permute": Variants.permute,
    "explore": Variants.explore,
}
"""By name."""


def numbered(made: Sequence[Turn], several: bool) -> list[Step]:
    """The steps of all turns, each with the number of its turn (0 where tasks have one turn)."""
    return [attrs.evolve(s, action=attrs.evolve(s.action, turn=n * several)) for n, turn in enumerate(made) for s in turn.steps]


def _changed(value: Any, change: tuple[Any, Any] | None) -> Any:
    if change is None:
        return value
    if isinstance(value, list):
        return [_changed(inner, change) for inner in value]
    return change[1] if same(value, change[0]) else value


def _said(query: str, value: Any) -> bool:
    """Whether the request says a value; a small number or letter must be said just once, or it may be said of something else."""
    if isinstance(value, list):
        return all(_said(query, inner) for inner in value)
    times = len(spoken(value).findall(query)) if str(value).strip() else 0
    return times > 0 if telling(value) else times == 1


def _single(value: Any) -> bool:
    """Whether a value can be said in a request's running text."""
    return not isinstance(value, str) or bool(value.strip() and "\n" not in value and len(value) <= 200)
