"""Links between calls, read off what was executed: a later call's argument equals a value in an earlier result.

    producer[modes] -> consumer.argument

Only equality of JSON values is needed; formats, where an environment has them, rule out chance matches.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from attrs import define, field, frozen

from coevolve import Environment, Step, Task

from .catalog import Catalog, Leaf, same, telling

SURVEYED = 1000
"""Pool tasks whose solutions are carried out at most, once in a process; they do not count as a synthesizer's `max_calls`."""


@frozen
class Link:
    """A call's result handed to another call."""

    producer: str
    modes: tuple[tuple[str, Any], ...]
    """Enumerated arguments of the producer that shape its result, such as a representation."""
    consumer: str
    argument: str

    def __str__(self) -> str:
        modes = f"[{', '.join(f'{name}={value}' for name, value in self.modes)}]" if self.modes else ""
        return f"{self.producer}{modes} -> {self.consumer}.{self.argument}"


@frozen
class Handing:
    """A link at its place: the indices of the two calls."""

    link: Link
    source: int
    target: int


def handings(steps: Sequence[Step], catalog: Catalog) -> list[Handing]:
    """Every handing over of a value from an earlier call that succeeded to a later one; the latest source counts."""
    found: list[Handing] = []
    leaves = [catalog.leaves(step) if step.action.name in catalog.tools else [] for step in steps]
    for target, step in enumerate(steps):
        for argument in catalog.arguments.get(step.action.name, ()):
            value = step.action.arguments.get(argument.name)
            if value is None or argument.mode or isinstance(value, bool | list | dict):
                continue
            for source in reversed(range(target)):
                if any(_hands(leaf, value, argument.format) for leaf in leaves[source]):
                    producer = steps[source].action
                    modes = catalog.modes(producer.name, producer.arguments)
                    found.append(Handing(Link(producer.name, modes, step.action.name, argument.name), source, target))
                    break
    return found


def _hands(leaf: Leaf, value: Any, format: str | None) -> bool:
    if not same(leaf.value, value):
        return False
    if leaf.format is not None and format is not None:
        return leaf.format == format
    return telling(value)


@frozen
class Solved:
    """A pool task with its solution carried out: the calls of known tools, and the links in them."""

    task: Task
    steps: tuple[Step, ...]
    handings: tuple[Handing, ...]

    def depends(self, index: int) -> bool:
        """Whether the call at `index` needs an earlier one."""
        return any(handing.target == index for handing in self.handings)


@define
class Survey:
    """The pool's solutions, carried out once each; kept from one evolution to the next, which changes nothing but the time."""

    _known: dict[str, Solved] = field(factory=dict)

    def solved(self, tasks: Iterable[Task], environment: Environment, catalog: Catalog, limit: int = SURVEYED) -> list[Solved]:
        """Those of the first `limit` tasks whose solution runs; in the pool's order."""
        found = []
        for task in islice(tasks, limit):
            known = self._known.get(task.id)
            if known is None or (known.task is not task and known.task != task):
                known = self._known[task.id] = _carry_out(task, environment, catalog)
            if known.steps:
                found.append(known)
        return found


def _carry_out(task: Task, environment: Environment, catalog: Catalog) -> Solved:
    steps: list[Step] = []
    if task.solution:
        with environment.open(task) as episode:
            for text in environment.script(task.solution):
                seen = episode.step(text)
                steps += seen.steps
                if seen.done:
                    break
    if any(step.error is not None for step in steps):
        return Solved(task, (), ())
    done = tuple(step for step in steps if step.action.name in catalog.tools)
    return Solved(task, done, tuple(handings(done, catalog)))
