"""Find links between calls that were executed: a later call's argument equals a value in an earlier call's result.

    producer[modes] -> consumer.argument

Equal JSON values are enough; formats, where an environment declares them, rule out values that are equal by chance.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from attrs import define, field, frozen

from coevolve import Environment, Step, Task, perform

from .catalog import Catalog, Leaf, distinctive, json_equal

SURVEYED = 1000
"""Pool tasks whose solutions are carried out at most, once in a process; they do not count as a synthesizer's `max_calls`."""


@frozen
class Link:
    """A value in the producer's result is an argument of the consumer."""

    producer: str
    modes: tuple[tuple[str, Any], ...]
    """Enumerated arguments of the producer that shape its result, such as a representation."""
    consumer: str
    argument: str

    def __str__(self) -> str:
        modes = f"[{', '.join(f'{name}={value}' for name, value in self.modes)}]" if self.modes else ""
        return f"{self.producer}{modes} -> {self.consumer}.{self.argument}"


@frozen
class LinkUse:
    """One use of a link in a sequence of calls: `source` and `target` are the indices of the producing and the consuming call."""

    link: Link
    source: int
    target: int


def link_uses(steps: Sequence[Step], catalog: Catalog) -> list[LinkUse]:
    """Every use of an earlier call's result as an argument. Where several results hold the value, the latest call is the source.

    Calls that failed, and calls of tools that the catalog lacks, produce nothing.
    """
    found: list[LinkUse] = []
    leaves = [catalog.leaves(step) if step.action.name in catalog.tools else [] for step in steps]
    for target, step in enumerate(steps):
        for argument in catalog.arguments.get(step.action.name, ()):
            value = step.action.arguments.get(argument.name)
            if value is None or argument.mode or isinstance(value, bool | list | dict):
                continue
            for source in reversed(range(target)):
                if any(_supplies(leaf, value, argument.format) for leaf in leaves[source]):
                    producer = steps[source].action
                    modes = catalog.modes(producer.name, producer.arguments)
                    found.append(LinkUse(Link(producer.name, modes, step.action.name, argument.name), source, target))
                    break
    return found


def _supplies(leaf: Leaf, value: Any, format: str | None) -> bool:
    if not json_equal(leaf.value, value):
        return False
    if leaf.format is not None and format is not None:
        return leaf.format == format
    return distinctive(value)


@frozen
class SolvedTask:
    """A pool task whose solution was executed: its calls of tools in the catalog, and the links between them."""

    task: Task
    steps: tuple[Step, ...]
    link_uses: tuple[LinkUse, ...]

    def depends(self, index: int) -> bool:
        """Whether the call at `index` takes a value from an earlier call."""
        return any(use.target == index for use in self.link_uses)


@define
class Survey:
    """Executes each pool task's solution once and remembers the outcome for later evolutions. This saves time and changes nothing else."""

    _known: dict[str, SolvedTask] = field(factory=dict)

    def solved(self, tasks: Iterable[Task], environment: Environment, catalog: Catalog, limit: int = SURVEYED) -> list[SolvedTask]:
        """Those of the first `limit` tasks whose solution runs without an error, in the pool's order."""
        found = []
        for task in islice(tasks, limit):
            known = self._known.get(task.id)
            if known is None or (known.task is not task and known.task != task):
                known = self._known[task.id] = _execute(task, environment, catalog)
            if known.steps:
                found.append(known)
        return found


def _execute(task: Task, environment: Environment, catalog: Catalog) -> SolvedTask:
    steps: list[Step] = []
    if task.solution:
        with environment.open(task) as episode:
            steps = [step for seen in perform(episode, environment.script(task.solution)) for step in seen.steps]
    if any(step.error is not None for step in steps):
        return SolvedTask(task, (), ())
    calls = tuple(step for step in steps if step.action.name in catalog.tools)
    return SolvedTask(task, calls, tuple(link_uses(calls, catalog)))
