"""Progress: how much of its task a rollout did, in [0, 1]; it tells rollouts apart that all failed.

A success (score >= SUCCESS) has progress 1, an infrastructure fault has none. The progress of a failure is the first of these:

1. What its episode says (`HasProgress`), at most `MOST`.
2. m / (n + 1), where the task's solution has n calls and the rollout did m of them. The 1 stands for the right end, which it missed.
3. None: the task has no known solution, or the environment raised or passed a deadline when it was asked for its progress.

For 2 the solution is executed once a task, in an episode of its own, and remembered as far as it is needed here: one episode beside the K
rollouts of every iteration (0.2 s beside 58 s of rollouts for 400 tasks of the desk, benchmarks/progress_of_failures.py). Where a call of
the solution fails or its text is not understood, the calls alone are compared, in order; every execution of the task ends so. Where the
episode raises or passes the deadline of one call, nothing is remembered, and the next failure of the task executes the solution again.

The state's digest before and after each text says which calls of the solution change the world:

- A call that changes nothing is a lookup. It counts as done when the rollout made the same call, or another one with the same result,
  in any order. Results that say little (null, true, small numbers) do not count.
- Calls that change the world count as done when the rollout made the same calls in the same order (longest common subsequence), or,
  whatever its calls were, when its world ended in the solution's end state.

Calls are the same when their names and arguments are equal as JSON values; a failed call did nothing, and one call of a rollout counts
for one call of the solution. Where the environment has no `state()` of its own, its digest changes with every call, so order matters
throughout. Calls that do harm beside the right ones are not subtracted: an environment that can see harm offers `HasProgress`.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from ..contracts import Environment
from ..model import SUCCESS, Action, Observation, RolloutGroup, Step, Task, known_progress
from ..text import error_line

logger = logging.getLogger(__name__)

MOST = 0.99
"""Largest progress of a failed rollout, whatever its episode says."""


@frozen
class ReferenceCall:
    """A call of a solution: its key, the key of its result (None: the result says little), and whether it changes the world."""

    call: str
    result: str | None = None
    changes: bool = True


@frozen
class Reference:
    """A task's solution as it is compared with rollouts. `end` is the digest of its end state, None where it was not executed."""

    calls: tuple[ReferenceCall, ...]
    end: str | None = None


@define
class References:
    """Remembers what executing the solution of a task gave: a function of the task alone, so a resumed run finds the same.

    An execution that raised or came too late may end otherwise the next time, so it is not remembered.
    """

    _known: dict[str, tuple[Task, Reference]] = field(factory=dict)

    def learn(self, tasks: Iterable[Task], run: Callable[[Sequence[Task]], Sequence[Any]]) -> None:
        """Execute the solutions of those tasks that are not known. `run` gives a Reference or an exception for each task."""
        new = [task for task in {task.id: task for task in tasks}.values() if self.of(task) is None]
        for task, found in zip(new, run(new) if new else (), strict=True):
            if isinstance(found, Reference):
                self._known[task.id] = (task, found)
            else:
                logger.warning("the solution of task %s could not be executed: %s", task.id, error_line(found))

    def of(self, task: Task) -> Reference | None:
        """The reference of a task; None where it is not known."""
        known = self._known.get(task.id)
        return known[1] if known is not None and (known[0] is task or known[0] == task) else None


def settled(score: float | None, found: float | None) -> float | None:
    """A rollout's progress, where its episode or its calls have `found`; see the top of this module."""
    if score is None:
        return None
    return 1.0 if score >= SUCCESS else None if found is None else min(found, MOST)


def mean_progress(groups: Iterable[RolloutGroup]) -> dict[str, float]:
    """The mean over the rollouts that know their progress, as the metric `progress`; empty where none does."""
    found = known_progress(t for group in groups for t in group.trajectories)
    return {} if found is None else {"progress": found}


def unexecuted(task: Task) -> Reference:
    """The solution's calls alone."""
    return Reference(tuple(ReferenceCall(_call(action)) for action in task.solution))


def executed(environment: Environment, task: Task) -> Reference:
    """Execute the task's solution in a fresh episode; raises what the environment raises."""
    calls: list[ReferenceCall] = []
    with environment.open(task) as episode:
        state = episode.state()
        for text in environment.script(task.solution):
            seen, before = episode.step(text), state
            state = episode.state()
            steps = [step for step in seen.steps if not step.inner]
            if seen.fault is not None or any(step.error is not None for step in steps):
                return unexecuted(task)
            calls += [ReferenceCall(_call(s.action), _result(s.result), state != before) for s in steps if not _farewell(s, seen)]
            if seen.done:
                break
        return Reference(tuple(calls), state) if calls else unexecuted(task)


def _farewell(step: Step, seen: Observation) -> bool:
    """Whether a call only ends the episode. Such a call alone is not progress."""
    return seen.done and step is seen.steps[-1] and not any(value is not None for value in step.action.arguments.values())


def share(reference: Reference, steps: Sequence[Step], end: str | None) -> float | None:
    """m / (n + 1) of a failed rollout with these steps, whose world ended in the state with digest `end`; None without a reference."""
    if not reference.calls:
        return None
    made = [step for step in steps if step.error is None]
    changing = [call.call for call in reference.calls if call.changes]
    done = len(changing) if end is not None and end == reference.end else _common(changing, [_call(step.action) for step in made])
    return (done + _looked_up([c for c in reference.calls if not c.changes], made)) / (len(reference.calls) + 1)


def _looked_up(wanted: Sequence[ReferenceCall], made: Sequence[Step]) -> int:
    """How many of the lookups were made: first those by the same call, then those by another call with the same result."""
    calls, results = [_call(step.action) for step in made], [_result(step.result) for step in made]
    left = []
    for lookup in wanted:
        if lookup.call in calls:
            at = calls.index(lookup.call)
            del calls[at], results[at]
        else:
            left.append(lookup.result)
    found = len(wanted) - len(left)
    for result in left:
        if result is not None and result in results:
            results.remove(result)
            found += 1
    return found


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(first) + 1)
    for text in second:
        above = row
        row = [0]
        for n, other in enumerate(first):
            row.append(above[n] + 1 if text == other else max(above[n + 1], row[n]))
    return row[-1]


def _call(action: Action) -> str:
    return json.dumps([action.name, _plain(dict(action.arguments))], sort_keys=True)


def _result(value: Any) -> str | None:
    return json.dumps(_plain(value), sort_keys=True) if _telling(value) else None


def _telling(value: Any) -> bool:
    """Whether an equal result is unlikely to be chance: it holds a text of two letters or more, or a number of 10 or more."""
    if isinstance(value, Mapping):
        return any(map(_telling, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_telling, value))
    if isinstance(value, str):
        return len(value) > 1
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= 10


def _plain(value: Any) -> Any:
    """The value with whole floats as integers: 65.0 and 65 are equal as JSON values."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
