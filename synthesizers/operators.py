"""Make new tasks by operators on solved tasks (variants.py). Variants keep the words of their parents and are checked by executing them.

One more operator needs what an environment may offer: "other_kind" makes a task of a goal and turns it into another kind of the benchmark
(optional.HasGoals, HasVariants: a function that comes late, much more data). For a share of the candidates, the parent is drawn from
the signalled tasks, otherwise from the whole pool; the operator is drawn at random. A candidate is minimised before it is yielded: added
calls that the scorer does not miss and that supply no later call are removed. When the scorer does not miss a call that the parent's
words ask for, the candidate is dropped. In the paper an LLM explores (section 3); this component needs no LLM.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import attrs
from attrs import define, field, frozen, validators

from coevolve import (
    SUCCESS,
    CandidateTask,
    Environment,
    ExplorationContext,
    Feedback,
    HasVariants,
    Origin,
    PlannedRun,
    Signal,
    Step,
    Synthesizer,
    Task,
    Verdict,
    hookimpl,
    perform,
)

from .argument_values import ArgumentValues
from .call_exploration import BudgetExhausted, CallBudget, calls_estimate
from .catalog import Catalog, catalog_of, same_call
from .goal_exploration import GoalExploration, offers_goals
from .links import SolvedTask, Survey, link_uses
from .refused import EvolutionInput
from .repairs import repair
from .variants import OPERATORS, TaskTurns, VariantBuilder, Variants, VariantTurn, numbered, task_turns

ALL = (*OPERATORS, "other_kind")
GOAL_OPERATORS = ("explore", "other_kind")


@frozen
class OperatorsOptions:
    """Options of the operators."""

    operators: tuple[str, ...] = field(default=(), validator=validators.deep_iterable(validators.in_(ALL)))
    """Names of the operators, drawn with equal probability (variants.py describes them). Empty: "explore" and "other_kind" where the
    environment offers goals, else all but "other_kind". The others repeat the pool's own sentences, with their flaws."""
    signalled: float = field(default=0.5, validator=[validators.ge(0.0), validators.le(1.0)])
    """Share of the tries whose parent is drawn from the signalled tasks, by strength. The others draw from the whole pool, for breadth."""
    longest: int = field(default=3, validator=validators.ge(1))
    """Most calls of a new turn. Longer turns seldom read like one request."""
    repair_calls: int = field(default=300, validator=validators.ge(0))
    """Most environment calls of one repair of a refused candidate that was made of a goal alone; 0: no repairs."""
    max_calls: int = field(default=4000, validator=validators.ge(1))
    """Most environment calls (opened episodes, steps, compositions) in one evolution."""


class Operators:
    """Makes new tasks out of the pool's solved tasks."""

    name: ClassVar[str] = "operators"
    Options: ClassVar[type] = OperatorsOptions

    def __init__(self, options: OperatorsOptions) -> None:
        self.options = options
        self._survey = Survey()
        self._known: EvolutionInput | None = None

    def estimate(self, plan: PlannedRun) -> list[str]:
        """How many environment calls the evolutions make at most, with the synthesis of the initial tasks, and a repair."""
        return calls_estimate(self.name, plan, self.options.max_calls, self.options.repair_calls)

    def repair(self, candidate: CandidateTask, verdict: Verdict, environment: Environment, rng: random.Random) -> CandidateTask | None:
        """The candidate longer, shorter or of another goal (goal_repairs.py); None for one that has turns of a pool task."""
        detail = candidate.task.origin.detail
        if detail.get("operator") != "explore" or "goal" not in detail or not offers_goals(environment):
            return None
        return repair(self._known, candidate, verdict, environment, rng, self.options.repair_calls)

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        catalog = catalog_of(environment.describe())
        solved = self._survey.solved(feedback.pool, environment, catalog)
        several = any(action.turn for one in solved for action in one.task.solution)
        parents = [found for one in solved if (found := task_turns(one, several)) is not None]
        if not parents:
            return
        self._known = EvolutionInput(self.name, feedback, catalog, solved)
        try:
            yield from _VariantSearch(self.options, feedback, environment, catalog, solved, parents, several, rng).run()
        except BudgetExhausted:
            return


@define
class _VariantSearch:
    """The search for variants in one evolution."""

    options: OperatorsOptions
    feedback: Feedback
    environment: Environment
    catalog: Catalog
    solved: Sequence[SolvedTask]
    parents: Sequence[TaskTurns]
    several: bool
    """Whether tasks have several user turns."""
    rng: random.Random
    variants: Variants = field(init=False)
    budget: CallBudget = field(init=False)
    seen: set[str] = field(init=False)
    made: int = 0

    def __attrs_post_init__(self) -> None:
        uses: dict[str, int] = {}
        for one in self.solved:
            for step in one.steps:
                uses[step.action.name] = uses.get(step.action.name, 0) + 1
        self.variants = Variants(self.catalog, ArgumentValues(self.catalog, self.solved), self.rng, uses, self.options.longest)
        self.budget = CallBudget(self.options.max_calls)
        self.seen = {task.query for task in self.feedback.pool}

    def run(self) -> Iterator[CandidateTask]:
        goals = offers_goals(self.environment)
        chosen = self.options.operators or (GOAL_OPERATORS if goals else tuple(OPERATORS))
        operators = [name for name in chosen if name != "other_kind" or (goals and isinstance(self.environment, HasVariants))]
        while operators:
            operator = self.rng.choice(operators)
            parent, signal = self._parent()
            candidate = self._try(operator, parent, signal)
            if candidate is not None:
                self.seen.add(candidate.task.query)
                self.made += 1
                for step in candidate.exploration:
                    self.variants.uses[step.action.name] = self.variants.uses.get(step.action.name, 0) + 1
                yield candidate

    def _parent(self) -> tuple[TaskTurns, Signal | None]:
        known = {turns.solved.task.id: turns for turns in self.parents}
        signals = [signal for signal in self.feedback.signals if signal.task_id in known]
        if signals and self.rng.random() < self.options.signalled:
            signal = self.rng.choices(signals, [signal.strength + 0.01 for signal in signals])[0]
            return known[signal.task_id], signal
        return self.rng.choice(self.parents), None

    def _try(self, operator: str, parent: TaskTurns, signal: Signal | None) -> CandidateTask | None:
        if operator == "other_kind":
            return self._other_kind(parent, signal)
        other = self._other(parent) if operator == "recombine" else None
        self.budget.spend()
        with self.environment.open(parent.solved.task) as episode:
            builder = VariantBuilder(self.environment, self.catalog, episode, parent.solved.task, self.budget)
            made = OPERATORS[operator](self.variants, builder, parent, [other] if other else [])
        task = self._minimal(parent.solved.task, made) if made else None
        if task is None or task[0].query in self.seen:
            return None
        parents = (parent.solved.task.id, *([other.solved.task.id] if other else []))
        known = None if operator == "explore" else parent.solved.task.origin.detail.get("goal")
        detail = {"goal": " + ".join([*([known] if known else []), *builder.goals])} if builder.goals else {}
        return self._candidate(task[0], task[1], signal, parents, operator, **detail)

    def _other_kind(self, parent: TaskTurns, signal: Signal | None) -> CandidateTask | None:
        """A goal in the parent's world, as another kind of task; None when there is none. For environments with goals and variants."""
        assert isinstance(self.environment, HasVariants)
        self.budget.spend()
        goals = GoalExploration("operators", self.feedback.iteration, self.environment, self.catalog, self.budget, self.rng, self.seen)
        for one in goals.draw([parent.solved], 1):
            task_id = f"operators-{self.feedback.iteration}-{self.made}"
            task = self.environment.compose(one.start, one.steps, task_id, one.goal.query)
            made = self.environment.variants(task, self.rng.getrandbits(32)) if task else []
            if made:
                chosen = self.rng.choice(made)
                detail = {"goal": one.goal.kind, "variant": chosen.origin.detail.get("variant")}
                return self._candidate(chosen, one.steps, signal, (one.start.id,), "other_kind", **detail)
        return None

    def _candidate(
        self, task: Task, steps: Sequence[Step], signal: Signal | None, parents: tuple[str, ...], operator: str, **detail: Any
    ) -> CandidateTask:
        weakness = (
            f"{signal.kind} at {signal.task_id}, strength {signal.strength:.2f}" if signal else "none known: a variant of a pool task"
        )
        detail = {"operator": operator, "calls": len(task.solution), **detail}
        origin = Origin("operators", self.feedback.iteration, signal.id if signal else None, parents, detail)
        return CandidateTask(attrs.evolve(task, origin=origin), ExplorationContext(signal, weakness, (operator,)), tuple(steps))

    def _other(self, parent: TaskTurns) -> TaskTurns | None:
        """Another task to take turns from: one of the same world, else one that uses no apps but the parent's; None when there is none."""
        rest = [turns for turns in self.parents if turns is not parent]
        world = [turns for turns in rest if self._same_world(turns.solved.task, parent.solved.task)]
        apps = self._apps(parent)
        near = world or [turns for turns in rest if self._apps(turns) <= apps]
        return self.rng.choice(near) if near else None

    def _apps(self, turns: TaskTurns) -> set[str]:
        return {self.catalog.group(step.action.name) for step in turns.solved.steps}

    @staticmethod
    def _same_world(first: Task, second: Task) -> bool:
        """Whether one task was made from the other, or both from a third; then they start in the same world."""
        families = [{task.id, *task.origin.parents[:1]} for task in (first, second)]
        return bool(families[0] & families[1])

    def _minimal(self, start: Task, made: list[VariantTurn]) -> tuple[Task, list[Step]] | None:
        """The task of these turns and its steps, without the added calls that the scorer does not miss; None when there is no such task."""
        while True:
            steps = numbered(made, self.several)
            task = self._compose(start, made, steps)
            spare = self._spare(task, steps) if task else None
            if task is None or spare is None:
                return (task, steps) if task else None
            number = next(
                (n for n, turn in enumerate(made) if turn.text is None and any(same_call(s.action, spare) for s in turn.steps)), None
            )
            if number is None or not self.several:
                return None
            left = tuple(step for step in made[number].steps if not same_call(step.action, spare))
            made = [*made[:number], *([VariantTurn(None, left)] if left else []), *made[number + 1 :]]

    def _compose(self, start: Task, made: Sequence[VariantTurn], steps: list[Step]) -> Task | None:
        self.budget.spend()
        task_id = f"operators-{self.feedback.iteration}-{self.made}"
        if not self.several:
            return self.environment.compose(start, steps, task_id, made[0].text)
        texts = []
        for turn in made:
            worded = self.environment.compose(start, turn.steps, task_id) if turn.text is None else None
            text = turn.text or (worded.query if worded else "")
            if not text or "\n\n" in text:
                return None
            texts.append(text)
        task = self.environment.compose(start, steps, task_id, "\n\n".join(texts))
        # Otherwise the environment divides the words into other turns than those of the calls that they ask for.
        spoken = sum(bool(turn.steps) for turn in made)
        return task if task is not None and len({action.turn for action in task.solution}) == spoken else None

    def _spare(self, task: Task, steps: Sequence[Step]) -> Any:
        """The last call that the scorer does not miss and that supplies no later call; None when there is none."""
        sources = [steps[use.source].action for use in link_uses(steps, self.catalog)]
        for index in reversed(range(len(task.solution))):
            action = task.solution[index]
            if len(task.solution) == 1 or any(same_call(action, source) for source in sources):
                continue
            if self._scores(task, [*task.solution[:index], *task.solution[index + 1 :]]):
                return action
        return None

    def _scores(self, task: Task, actions: Sequence[Any]) -> bool:
        self.budget.spend()
        with self.environment.open(task) as episode:
            for _ in perform(episode, self.environment.script(actions)):
                pass
            return episode.score() >= SUCCESS


@hookimpl
def coevolve_synthesizers() -> list[type[Synthesizer]]:
    return [Operators]
