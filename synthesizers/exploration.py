"""Exploring an environment through its contract alone: calls are carried out for real, failed ones are taken back, and all is counted."""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
from attrs import define, field

from coevolve import Action, Environment, Episode, Step, Task, perform

from .catalog import Argument, Catalog, Leaf, first_by_name, same_call
from .links import Solved


class Exhausted(Exception):
    """The evolution's budget of environment calls is used up."""


@define
class Budget:
    """Environment calls (opened episodes, steps, compositions) that are left."""

    left: int

    def spend(self, calls: int = 1) -> None:
        if self.left < calls:
            raise Exhausted
        self.left -= calls


@define
class Expedition:
    """One episode that is explored. `steps` are the calls that succeeded, each with the user turn that it belongs to."""

    environment: Environment
    catalog: Catalog
    episode: Episode
    start: Task
    budget: Budget
    turn: int = 0
    steps: list[Step] = field(factory=list)
    _before: Any = None

    def attempt(self, name: str, arguments: dict[str, Any]) -> Step | None:
        """Carry out one call; None, and nothing has happened, when it fails or ends the episode."""
        self.budget.spend()
        before = self.episode.snapshot()
        arguments = {argument.name: arguments[argument.name] for argument in self.catalog.arguments[name] if argument.name in arguments}
        # `script` would go to the action's turn first, so it is told no turn: the episode is in it already.
        seen = self.episode.step(self.environment.script([Action(name, arguments)])[0])
        if seen.done or seen.fault or len(seen.steps) != 1 or seen.steps[0].error is not None:
            self.episode.restore(before)
            return None
        step = attrs.evolve(seen.steps[0], action=attrs.evolve(seen.steps[0].action, turn=self.turn))
        self.steps.append(step)
        return step

    def did(self, name: str, arguments: dict[str, Any]) -> bool:
        """Whether this very call is among the steps."""
        return any(same_call(step.action, Action(name, arguments)) for step in self.steps)

    def follow(self, count: int) -> bool:
        """Carry out the first `count` calls of the start task's solution; False when one fails."""
        actions = self.start.solution[:count]
        texts = self.environment.script(actions) if actions else ()
        for seen in perform(self.episode, self._paid(texts)):
            if seen.done:
                self.episode.restore(self._before)
                break
            for step in seen.steps:
                if step.error is not None:
                    return False
                turn = actions[min(len(self.steps), count - 1)].turn
                self.steps.append(attrs.evolve(step, action=attrs.evolve(step.action, turn=turn)))
                self.turn = turn
            if len(self.steps) >= count:
                break
        return True

    def _paid(self, texts: Iterable[str]) -> Iterator[str]:
        """The texts; each is paid for and preceded by a snapshot when it is taken."""
        for text in texts:
            self.budget.spend()
            self._before = self.episode.snapshot()
            yield text

    def mark(self) -> tuple[Any, int, int]:
        """A place to come back to."""
        return self.episode.snapshot(), len(self.steps), self.turn

    def back(self, mark: tuple[Any, int, int]) -> None:
        """Take back every call since `mark`."""
        snapshot, count, self.turn = mark
        self.episode.restore(snapshot)
        del self.steps[count:]


@contextmanager
def expedition(environment: Environment, catalog: Catalog, start: Task, budget: Budget) -> Iterator[Expedition]:
    """Open the start task's world for exploring."""
    budget.spend()
    with environment.open(start) as episode:
        yield Expedition(environment, catalog, episode, start, budget)


@define
class Values:
    """Values for arguments that no earlier call supplies: what the start task shows, then what pool tasks used in the same place."""

    catalog: Catalog
    solved: Sequence[Solved]
    _used: dict[tuple[str, str], list[Any]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        for one in self.solved:
            for index, step in enumerate(one.steps):
                linked = {h.link.argument for h in one.handings if h.target == index}
                for name, value in step.action.arguments.items():
                    used = self._used.setdefault((step.action.name, name), [])
                    if name not in linked and value not in used:
                        used.append(value)

    def shown(self, task: Task, tool: str, argument: Argument) -> list[Any]:
        """Values that the start task shows and this argument takes: those of its solution's calls in the same place, of the same format or
        name, and (for arguments without a format) words and numbers of its request."""
        found: list[Any] = []
        for action in task.solution:
            for name, value in action.arguments.items():
                other = self.catalog.argument(action.name, name)
                format = other.format if other else None
                alike = (action.name, name) == (tool, argument.name) or (
                    format == argument.format if argument.format is not None or format is not None else name == argument.name
                )
                if alike and argument.takes(value, format) and value not in found:
                    found.append(value)
        if argument.format is None and not argument.choices:
            found += [word for word in said(task.query) if argument.takes(word, None) and word not in found]
        return found

    def used(self, tool: str, argument: Argument) -> list[Any]:
        """Values that pool solutions had in this very place, those handed over by a call left out."""
        return self._used.get((tool, argument.name), [])

    def draw(self, task: Task, tool: str, argument: Argument, rng: random.Random, beyond: bool) -> Any:
        """One value, None when there is none. `beyond`: also from other pool tasks."""
        shown = self.shown(task, tool, argument)
        if argument.choices:
            known = shown + [value for value in self.used(tool, argument) if value not in shown] if beyond and argument.mode else shown
            return rng.choice(known) if known and rng.random() < 0.5 else rng.choice(argument.choices)
        if shown and (not beyond or rng.random() < 0.8):
            return rng.choice(shown)
        used = self.used(tool, argument) if beyond else []
        return rng.choice(used) if used else (rng.choice(shown) if shown else None)


_SAID = re.compile(r"(?<!\w)['\"]([^'\"]{1,80})['\"](?!\w)|(?<![\w.])(\d+(?:\.\d+)?)(?!\w)|([\w-]*\w\.\w+|\w+_\w+)")


def said(query: str) -> list[Any]:
    """Quoted texts, file names, identifiers and numbers in a request.

    >>> said("Move 'draft one' to notes.txt and send 3 of 4.5")
    ['draft one', 'notes.txt', 3, 4.5]
    """
    found: list[Any] = []
    for quoted, number, word in _SAID.findall(query):
        value: Any = quoted or word or (float(number) if "." in number else int(number))
        if value not in found:
            found.append(value)
    return found


def results(steps: Sequence[Step], catalog: Catalog, tool: str, argument: Argument, newest: int | None = None) -> list[Leaf]:
    """Values in the results of `steps` that an argument takes; with `newest`, of the last so many steps only."""
    leaves = [leaf for step in (steps if newest is None else steps[-newest:]) for leaf in catalog.leaves(step)]
    fitting = [leaf for leaf in leaves if argument.takes(leaf.value, leaf.format)]
    if argument.format is not None and any(leaf.format == argument.format for leaf in fitting):
        return [leaf for leaf in fitting if leaf.format == argument.format]
    named = [leaf for leaf in fitting if leaf.key == argument.name]
    return named or first_by_name(argument.name, fitting)
