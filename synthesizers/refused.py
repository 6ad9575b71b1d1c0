"""A refused candidate, and what its repair may use (repairs.py)."""

import random
import re
from collections.abc import Callable, Sequence

import attrs
from attrs import define, field, frozen

from coevolve import SUCCESS, Action, CandidateTask, Environment, ExplorationContext, Feedback, Origin, Step, Task, Verdict, perform

from .call_exploration import CallBudget
from .catalog import Catalog, same_call
from .links import Link, SolvedTask, link_uses

DROPPABLE = frozenset({"droppable_call"})
TOO_SHORT = frozenset({"too_easy", "no_effect", "solved_by_nothing"})
TOO_LONG = frozenset({"too_hard"})
NOT_EXECUTABLE = frozenset({"call_failed", "replay_differs"})
REPAIRED_HERE = DROPPABLE | TOO_SHORT | TOO_LONG | NOT_EXECUTABLE
"""Reasons of refusals that are repaired without an LLM."""

Weights = Callable[[Link], float]


def equal_weight(link: Link) -> float:
    """1 for every link: the weights of exploration at random."""
    return 1.0


@define
class EvolutionInput:
    """What a synthesizer was given in one evolution and read in it, before its first candidate."""

    name: str
    """The synthesizer's name, for the origins of repaired candidates."""
    feedback: Feedback
    catalog: Catalog
    solved: Sequence[SolvedTask]
    make_weights: Callable[[], Weights] = lambda: equal_weight
    """Computes the weights of the links as they were before the first candidate."""
    _weights: Weights | None = None
    _starts: dict[str, SolvedTask] = field(init=False)
    seen: frozenset[str] = field(init=False)
    """Requests of the pool."""

    def __attrs_post_init__(self) -> None:
        self._starts = {one.task.id: one for one in self.solved}
        self.seen = frozenset(task.query for task in self.feedback.pool)

    @property
    def weights(self) -> Weights:
        """The weights of the links; computed at the first repair."""
        if self._weights is None:
            self._weights = self.make_weights()
        return self._weights

    def start(self, candidate: CandidateTask) -> Task | None:
        """The pool task in whose world the candidate begins; None where it is not known."""
        parents = candidate.task.origin.parents
        one = self._starts.get(parents[0]) if parents else None
        return one.task if one else None


@frozen
class RefusedCandidate:
    """A refused candidate, and what its repair may use."""

    known: EvolutionInput
    candidate: CandidateTask
    verdict: Verdict
    environment: Environment
    rng: random.Random
    budget: CallBudget
    start: Task

    @property
    def catalog(self) -> Catalog:
        return self.known.catalog

    @property
    def steps(self) -> list[Step]:
        """The calls of the exploration that succeeded."""
        return [step for step in self.candidate.exploration if step.error is None and not step.inner]

    @property
    def actions(self) -> list[Action]:
        """The actions of `steps`."""
        return [step.action for step in self.steps]

    @property
    def targets(self) -> tuple[str, ...]:
        """The links that were to be explored, as texts."""
        return self.candidate.context.targets if self.candidate.context else ()

    def length(self, task: Task) -> int:
        """The number of tool calls of a task's solution."""
        return sum(action.name in self.catalog.tools for action in task.solution)

    def composed(self, start: Task, steps: Sequence[Step], query: str | None = None) -> Task | None:
        """A task of these steps with a request that neither the pool nor the refused candidate has; None when there is none."""
        self.budget.spend()
        task = self.environment.compose(start, steps, next_id(self.candidate.task.id), query)
        return task if task is not None and task.query not in self.known.seen and task.query != self.candidate.task.query else None

    def repaired(
        self, task: Task, steps: Sequence[Step], links: Sequence[Link] = (), start: Task | None = None, **detail: object
    ) -> CandidateTask:
        """The repaired candidate. `links` are new targets; those of the old ones that the steps still use stay targets.

        `start` is the task in whose world it begins, None for that of the refused candidate.
        """
        old, uses = self.candidate.task.origin, {str(use.link) for use in link_uses(steps, self.catalog)}
        old_targets = [target for target in self.targets if target in uses or ("->" not in target and "goal" not in detail)]
        targets = tuple(dict.fromkeys([*old_targets, *map(str, links)]))
        about = {**old.detail, "targets": list(targets), "calls": len(steps), **detail}
        shown = (str(detail["goal"]), *targets) if "goal" in detail else targets
        context = attrs.evolve(self.candidate.context or ExplorationContext(None, "none known: a repair"), targets=shown)
        parents = (start.id, *old.parents[1:]) if start else old.parents
        origin = Origin(old.kind, old.iteration, old.signal, parents, about)
        task = attrs.evolve(task, id=next_id(self.candidate.task.id), origin=origin)
        return attrs.evolve(self.candidate, task=task, context=context, exploration=tuple(steps))

    def spare(self, task: Task, steps: Sequence[Step]) -> int | None:
        """The index of a step whose call the scorer of `task` does not miss; None when it misses every call."""
        for place, action in enumerate(task.solution if len(task.solution) > 1 else ()):
            found = next((index for index, step in enumerate(steps) if same_call(step.action, action)), None)
            if found is not None and self._scores(task, [*task.solution[:place], *task.solution[place + 1 :]]):
                return found
        return None

    def _scores(self, task: Task, actions: Sequence[Action]) -> bool:
        self.budget.spend(1 + len(actions))
        with self.environment.open(task) as episode:
            for _ in perform(episode, self.environment.script(actions)):
                pass
            return episode.score() >= SUCCESS


def next_id(task_id: str) -> str:
    """The id of a repaired task.

    >>> next_id("random-2-7"), next_id("random-2-7-r1")
    ('random-2-7-r1', 'random-2-7-r2')
    """
    before, mark, number = task_id.rpartition("-r")
    return f"{before}-r{int(number) + 1}" if mark and number.isdecimal() else f"{task_id}-r1"


_NAMED = re.compile(r"without (?P<name>\S+?),? call (?P<number>\d+) of (?P<count>\d+)")


def named_call(verdict: Verdict, actions: Sequence[Action]) -> Action | None:
    """The call that a verdict "droppable_call" names; None where it names none of `actions`.

    Where an earlier validator has shortened the solution, the call's number may not fit; then the last call of that tool counts.
    """
    found = _NAMED.search(verdict.detail)
    if found is None:
        return None
    place = int(found["number"]) - 1
    if 0 <= place < len(actions) == int(found["count"]) and actions[place].name == found["name"]:
        return actions[place]
    return next((action for action in reversed(actions) if action.name == found["name"]), None)
