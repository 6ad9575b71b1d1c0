"""Where the arguments of new calls get their values: the start task, the pool's solutions, and the results of earlier calls."""

import random
import re
from collections.abc import Sequence
from typing import Any

from attrs import define, field

from coevolve import Step, Task

from .catalog import Argument, Catalog, Leaf, first_by_name
from .links import SolvedTask


@define
class ArgumentValues:
    """Values for arguments that no earlier call supplies: those of the start task first, then those of pool tasks in the same place."""

    catalog: Catalog
    solved: Sequence[SolvedTask]
    _used: dict[tuple[str, str], list[Any]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        for one in self.solved:
            for index, step in enumerate(one.steps):
                linked = {use.link.argument for use in one.link_uses if use.target == index}
                for name, value in step.action.arguments.items():
                    used = self._used.setdefault((step.action.name, name), [])
                    if name not in linked and value not in used:
                        used.append(value)

    def from_start(self, task: Task, tool: str, argument: Argument) -> list[Any]:
        """Values of the start task that the argument accepts.

        They come from the calls of its solution (same tool and argument, same format, or same name where there are no formats). An
        argument without a format also accepts words and numbers of the request.
        """
        found: list[Any] = []
        for action in task.solution:
            for name, value in action.arguments.items():
                other = self.catalog.argument(action.name, name)
                format = other.format if other else None
                alike = (action.name, name) == (tool, argument.name) or (
                    format == argument.format if argument.format is not None or format is not None else name == argument.name
                )
                if alike and argument.accepts(value, format) and value not in found:
                    found.append(value)
        if argument.format is None and not argument.choices:
            found += [word for word in request_literals(task.query) if argument.accepts(word, None) and word not in found]
        return found

    def from_pool(self, tool: str, argument: Argument) -> list[Any]:
        """Values that pool solutions gave to this argument of this tool, without those that came from an earlier call."""
        return self._used.get((tool, argument.name), [])

    def draw(self, task: Task, tool: str, argument: Argument, rng: random.Random, beyond: bool) -> Any:
        """Draw one value; None when there is none. `beyond`: values of other pool tasks may be drawn, too."""
        shown = self.from_start(task, tool, argument)
        if argument.choices:
            known = shown + [value for value in self.from_pool(tool, argument) if value not in shown] if beyond and argument.mode else shown
            return rng.choice(known) if known and rng.random() < 0.5 else rng.choice(argument.choices)
        if shown and (not beyond or rng.random() < 0.8):
            return rng.choice(shown)
        used = self.from_pool(tool, argument) if beyond else []
        return rng.choice(used) if used else (rng.choice(shown) if shown else None)


_LITERAL = re.compile(r"(?<!\w)['\"]([^'\"]{1,80})['\"](?!\w)|(?<![\w.])(\d+(?:\.\d+)?)(?!\w)|([\w-]*\w\.\w+|\w+_\w+)")


def request_literals(query: str) -> list[Any]:
    """Quoted texts, file names, identifiers and numbers in a request, each once.

    >>> request_literals("Move 'draft one' to notes.txt and send 3 of 4.5")
    ['draft one', 'notes.txt', 3, 4.5]
    """
    found: list[Any] = []
    for quoted, number, word in _LITERAL.findall(query):
        value: Any = quoted or word or (float(number) if "." in number else int(number))
        if value not in found:
            found.append(value)
    return found


def fitting_results(steps: Sequence[Step], catalog: Catalog, argument: Argument, newest: int | None = None) -> list[Leaf]:
    """Values in the results of `steps` that an argument accepts; with `newest`, only of the last so many steps.

    Values of the argument's own format win over the rest, then values of a property with the argument's name.
    """
    leaves = [leaf for step in (steps if newest is None else steps[-newest:]) for leaf in catalog.leaves(step)]
    fitting = [leaf for leaf in leaves if argument.accepts(leaf.value, leaf.format)]
    if argument.format is not None and any(leaf.format == argument.format for leaf in fitting):
        return [leaf for leaf in fitting if leaf.format == argument.format]
    named = [leaf for leaf in fitting if leaf.key == argument.name]
    return named or first_by_name(argument.name, fitting)
