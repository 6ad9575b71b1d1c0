"""How various a set of tasks is, beside as many tasks of the benchmark: a pool that grows by sameness shows here."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean

from attrs import frozen

from ..contracts import Environment
from ..errors import UserError
from ..model import Task
from ..randomness import generator
from .view import TaskView, view_of


@frozen
class Diversity:
    """Figures of a set of tasks."""

    tasks: int
    tools: int
    """Distinct tools that the solutions call."""
    pairs: int
    """Distinct pairs of tools that solutions call one after the other."""
    sequences: int
    """Distinct sequences of tools: two tasks that call the same tools in the same order count once."""
    ends: int
    """Distinct end states, by the environment's key."""
    calls: float
    """Calls of a solution, the mean."""
    turns: float
    """User turns, the mean."""


def diversity(environment: Environment, tasks: Sequence[Task]) -> Diversity:
    """The figures of `tasks`. Carries out every solution."""
    views = [view_of(environment, task) for task in tasks]
    named = [_names(view) for view in views]
    return Diversity(
        tasks=len(tasks),
        tools=len({name for names in named for name in names}),
        pairs=len({pair for names in named for pair in pairwise(names)}),
        sequences=len(set(named)),
        ends=len({environment.keys(task).end_state for task in tasks}),
        calls=fmean(len(names) for names in named) if named else 0.0,
        turns=fmean(len(view.turns) for view in views) if views else 0.0,
    )


def compared(environment: Environment, tasks: Sequence[Task], beside: Sequence[Task], split: str) -> Iterator[str]:
    """A table of both sets, cut to the same number of tasks; a task of the split without a known solution is left out."""
    there = [task for task in beside if task.solution]
    if not there:
        raise UserError(f"split {split!r} has no task with a known solution: name another one with --beside SPLIT")
    count = min(len(tasks), len(there))
    sets = [generator(0, "diversity", name).sample(list(found), count) for name, found in (("sample", tasks), ("split", there))]
    made, benchmark = (diversity(environment, found) for found in sets)
    if count < len(tasks):
        yield f"{count} of the {len(tasks)} tasks, as many as split {split!r} has"
    yield f"{'':28}{'these tasks':>14}{f'split {split}':>18}"
    for label, name in (
        ("tasks", "tasks"), ("distinct tools", "tools"), ("distinct consecutive tools", "pairs"), ("distinct tool sequences", "sequences"),
        ("distinct end states", "ends"), ("calls of a solution, mean", "calls"), ("user turns, mean", "turns"),
    ):  # fmt: skip
        one, other = getattr(made, name), getattr(benchmark, name)
        shown = (f"{one:.2f}", f"{other:.2f}") if isinstance(one, float) else (str(one), str(other))
        yield f"{label:28}{shown[0]:>14}{shown[1]:>18}"


def _names(view: TaskView) -> tuple[str, ...]:
    """The tools that the solution calls in order: of a block of code what it called, not the block itself."""
    known = {tool.name for tool in view.tools}
    return tuple(call.name for call in view.calls if call.name in known or not known)
