"""Random exploration without signals: the baseline for guided exploration (paper, arm "+ random exploration").

A plain random walk over valid calls almost never uses one call's result in another, however long it is. Where the weakness lies in such
compositions, it is no better than a static pool. The fair baseline matches the depth: each candidate copies the length of a pool solution
drawn at random, and which of its calls need an earlier one. Nothing else comes from the pool, and nothing from the signals.

Where the environment knows what its users want (optional.HasGoals), goals are drawn at random instead, in worlds drawn at random.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import attrs
from attrs import field, frozen, validators

from coevolve import CandidateTask, Environment, ExplorationContext, Feedback, Origin, PlannedRun, Synthesizer, Task, Verdict, hookimpl

from .argument_values import ArgumentValues, fitting_results
from .call_exploration import BudgetExhausted, CallBudget, Exploration, calls_estimate, open_exploration
from .catalog import Argument, Catalog, catalog_of
from .goal_exploration import GoalExploration, offers_goals
from .links import SolvedTask, Survey
from .refused import EvolutionInput
from .repairs import repair


@frozen
class RandomOptions:
    """Options of random exploration."""

    depth_matched: bool = True
    """Whether candidates copy the lengths and dependences of the pool's solutions. False is the plain random walk."""
    max_calls: int = field(default=4000, validator=validators.ge(1))
    """Most environment calls (opened episodes, steps, compositions) in one evolution."""
    repair_calls: int = field(default=300, validator=validators.ge(0))
    """Most environment calls of one repair of a refused candidate; 0: no repairs."""
    tries: int = field(default=12, validator=validators.ge(1))
    """Most calls tried for one step of a walk. When all fail, the walk is dropped."""
    prefix: float = field(default=0.75, validator=[validators.ge(0.0), validators.le(1.0)])
    """Where tasks have several user turns: probability that a walk continues a part of the start task's solution."""
    optional: float = field(default=0.2, validator=[validators.ge(0.0), validators.le(1.0)])
    """Probability that an optional argument is given."""


class RandomExploration:
    """Makes tasks out of random walks over valid calls in the worlds of pool tasks."""

    name: ClassVar[str] = "random"
    Options: ClassVar[type] = RandomOptions

    def __init__(self, options: RandomOptions) -> None:
        self.options = options
        self._survey = Survey()
        self._known: EvolutionInput | None = None

    def estimate(self, plan: PlannedRun) -> list[str]:
        """How many environment calls the evolutions make at most, with the synthesis of the initial tasks, and a repair."""
        return calls_estimate(self.name, plan, self.options.max_calls, self.options.repair_calls)

    def repair(self, candidate: CandidateTask, verdict: Verdict, environment: Environment, rng: random.Random) -> CandidateTask | None:
        """The candidate longer, shorter, without a call or with other values, as the verdict's reason demands (repairs.py)."""
        return repair(self._known, candidate, verdict, environment, rng, self.options.repair_calls)

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        catalog = catalog_of(environment.describe())
        solved = self._survey.solved(feedback.pool, environment, catalog)
        if not solved or not catalog.tools:
            return
        self._known = EvolutionInput(self.name, feedback, catalog, solved)
        budget = CallBudget(self.options.max_calls)
        seen = {task.query for task in feedback.pool}
        if offers_goals(environment):
            yield from self._goals(GoalExploration(self.name, feedback.iteration, environment, catalog, budget, rng, seen), solved)
            return
        walk = _Walk(self.options, environment, catalog, ArgumentValues(catalog, solved), rng)
        made = 0
        try:
            while True:
                start, shape = rng.choice(solved), rng.choice(solved)
                task_id = f"{self.name}-{feedback.iteration}-{made}"
                candidate = self._candidate(walk, start, shape, budget, task_id, feedback.iteration)
                if candidate is not None and candidate.task.query not in seen:
                    seen.add(candidate.task.query)
                    made += 1
                    yield candidate
        except BudgetExhausted:
            return

    def _goals(self, goals: GoalExploration, solved: Sequence[SolvedTask]) -> Iterator[CandidateTask]:
        """Goals in random worlds, until as many draws in a row as there are worlds yield nothing or the budget is exhausted."""
        idle = 0
        try:
            while idle < len(solved):
                drawn = goals.draw([goals.rng.choice(solved)], 1)
                idle = 0 if drawn else idle + 1
                for one in drawn:
                    context = ExplorationContext(None, "none: exploration at random", (one.goal.kind,))
                    if (candidate := goals.candidate(one, context)) is not None:
                        yield candidate
        except BudgetExhausted:
            return

    def _candidate(
        self, walk: "_Walk", start: SolvedTask, shape: SolvedTask, budget: CallBudget, task_id: str, iteration: int
    ) -> CandidateTask | None:
        with open_exploration(walk.environment, walk.catalog, start.task, budget) as exploration:
            if not walk.go(exploration, shape):
                return None
            budget.spend()
            task = walk.environment.compose(start.task, exploration.steps, task_id)
        if task is None:
            return None
        detail = {"depth_matched": self.options.depth_matched, "calls": len(exploration.steps)}
        origin = Origin(self.name, iteration, None, (start.task.id,), detail)
        context = ExplorationContext(None, "none: exploration at random")
        return CandidateTask(attrs.evolve(task, id=task_id, origin=origin), context, tuple(exploration.steps))


@frozen
class _Walk:
    """Walks in one evolution."""

    options: RandomOptions
    environment: Environment
    catalog: Catalog
    values: ArgumentValues
    rng: random.Random

    def go(self, exploration: Exploration, shape: SolvedTask) -> bool:
        """Walk until there are as many steps as in `shape`'s solution; False when no further call can be made before that."""
        prefix = self._prefix(exploration.start)
        if prefix and not exploration.play_start(prefix):
            return False
        if self.options.depth_matched:
            needs: Sequence[bool | None] = [shape.depends(index) for index in range(len(shape.steps))]
        else:
            needs = [None] * self.rng.randint(1, max(len(one.steps) for one in self.values.solved))
        # A walk from a prefix adds the rest of the shape's length, and at least one call.
        rest = needs[min(len(exploration.steps), len(needs) - 1) :]
        return all(self._step(exploration, needed and bool(exploration.steps)) for needed in rest)

    def _prefix(self, start: Task) -> int:
        several = any(action.turn for one in self.values.solved for action in one.task.solution)
        if not several or self.rng.random() >= self.options.prefix:
            return 0
        return self.rng.randint(1, len(start.solution))

    def _step(self, exploration: Exploration, needed: bool | None) -> bool:
        """Add one call; False when all tries fail. `needed`: whether it takes a value from an earlier result (None: by chance)."""
        names = list(self.catalog.tools)
        if needed:
            # Only tools that accept a value of the results so far; tools that accept one of the newest result are preferred.
            for newest in (1, None):
                fitting = [name for name in names if self._linkable(exploration, name, newest)]
                if fitting:
                    names = fitting
                    break
            else:
                return False
        for _ in range(self.options.tries):
            name = self.rng.choice(names)
            arguments = self._arguments(exploration, name, needed)
            if arguments is None or exploration.has_call(name, arguments):
                continue
            if exploration.try_call(name, arguments) is not None:
                return True
        return False

    def _linkable(self, exploration: Exploration, name: str, newest: int | None) -> list[Argument]:
        arguments = self.catalog.arguments[name]
        return [a for a in arguments if a.required and not a.choices and fitting_results(exploration.steps, self.catalog, a, newest)]

    def _arguments(self, exploration: Exploration, name: str, needed: bool | None) -> dict[str, Any] | None:
        given: dict[str, Any] = {}
        linked = None
        if needed:
            newest = 1 if self._linkable(exploration, name, 1) else None
            linked = self.rng.choice(self._linkable(exploration, name, newest))
            given[linked.name] = self.rng.choice(fitting_results(exploration.steps, self.catalog, linked, newest)).value
        for argument in self.catalog.arguments[name]:
            if argument is linked or (not argument.required and self.rng.random() >= self.options.optional):
                continue
            value = self._value(exploration, name, argument, needed)
            if value is not None:
                given[argument.name] = value
            elif argument.required:
                return None
        return given

    def _value(self, exploration: Exploration, name: str, argument: Argument, needed: bool | None) -> Any:
        found = [] if needed is False or argument.choices else fitting_results(exploration.steps, self.catalog, argument)
        if bool in argument.types and not argument.choices:
            return self.rng.random() < 0.5
        if found and self.rng.random() < 0.5:
            return self.rng.choice(found).value
        drawn = self.values.draw(exploration.start, name, argument, self.rng, beyond=False)
        return drawn if drawn is not None or not found else self.rng.choice(found).value


@hookimpl
def coevolve_synthesizers() -> list[type[Synthesizer]]:
    return [RandomExploration]
