"""Operators on solved tasks: variants that are worded by what the pool's tasks say and checked by carrying them out (see variants.py).

For environments with several user turns, where most of a task's value is in its own words. A task's parent is drawn from the signalled
tasks for a share of the candidates, else from the whole pool; the operator at random. A candidate is minimised before it is yielded: of the
calls that an operator added, those go that the scorer does not miss and that hand nothing on; where the scorer does not miss a call that
the parent's words ask for, the candidate is dropped. The paper leaves exploration to an LLM (section 3); this needs none.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import attrs
from attrs import define, field, frozen, validators

from coevolve import SUCCESS, CandidateTask, Environment, ExplorationContext, Feedback, Origin, Signal, Step, Synthesizer, Task, hookimpl

from .catalog import Catalog, catalog_of
from .exploration import Budget, Exhausted, Values
from .links import Solved, Survey, handings
from .variants import OPERATORS, Kept, Trip, Turn, Variants, numbered, same_call, turns


@frozen
class OperatorsOptions:
    """Options of the operators."""

    operators: tuple[str, ...] = field(
        default=tuple(OPERATORS), validator=[validators.min_len(1), validators.deep_iterable(validators.in_(tuple(OPERATORS)))]
    )
    """Which ones, drawn with equal chances."""
    signalled: float = field(default=0.5, validator=[validators.ge(0.0), validators.le(1.0)])
    """Share of the tries that begin at a task with a signal, where there are signals; a signal counts by its strength."""
    longest: int = field(default=3, validator=validators.ge(1))
    """Most calls of a new turn."""
    max_calls: int = field(default=4000, validator=validators.ge(1))
    """Most environment calls (episodes, steps, compositions) for one evolution."""


class Operators:
    """Makes tasks out of tasks."""

    name: ClassVar[str] = "operators"
    Options: ClassVar[type] = OperatorsOptions

    def __init__(self, options: OperatorsOptions) -> None:
        self.options = options
        self._survey = Survey()

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        catalog = catalog_of(environment.describe())
        solved = self._survey.solved(feedback.pool, environment, catalog)
        several = any(action.turn for one in solved for action in one.task.solution)
        kept = [found for one in solved if (found := turns(one, several)) is not None]
        if not kept:
            return
        try:
            yield from _Search(self.options, feedback, environment, catalog, solved, kept, several, rng).run()
        except Exhausted:
            return


@define
class _Search:
    """One evolution."""

    options: OperatorsOptions
    feedback: Feedback
    environment: Environment
    catalog: Catalog
    solved: Sequence[Solved]
    kept: Sequence[Kept]
    several: bool
    """Whether tasks have several user turns."""
    rng: random.Random
    variants: Variants = field(init=False)
    budget: Budget = field(init=False)
    seen: set[str] = field(init=False)
    made: int = 0

    def __attrs_post_init__(self) -> None:
        uses: dict[str, int] = {}
        for one in self.solved:
            for step in one.steps:
                uses[step.action.name] = uses.get(step.action.name, 0) + 1
        self.variants = Variants(self.catalog, Values(self.catalog, self.solved), self.rng, uses, self.options.longest)
        self.budget = Budget(self.options.max_calls)
        self.seen = {task.query for task in self.feedback.pool}

    def run(self) -> Iterator[CandidateTask]:
        while True:
            operator = self.rng.choice(self.options.operators)
            parent, signal = self._parent()
            candidate = self._try(operator, parent, signal)
            if candidate is not None:
                self.seen.add(candidate.task.query)
                self.made += 1
                for step in candidate.exploration:
                    self.variants.uses[step.action.name] = self.variants.uses.get(step.action.name, 0) + 1
                yield candidate

    def _parent(self) -> tuple[Kept, Signal | None]:
        known = {kept.one.task.id: kept for kept in self.kept}
        signals = [signal for signal in self.feedback.signals if signal.task_id in known]
        if signals and self.rng.random() < self.options.signalled:
            signal = self.rng.choices(signals, [signal.strength + 0.01 for signal in signals])[0]
            return known[signal.task_id], signal
        return self.rng.choice(self.kept), None

    def _try(self, operator: str, parent: Kept, signal: Signal | None) -> CandidateTask | None:
        other = self._other(parent) if operator == "recombine" else None
        self.budget.spend()
        with self.environment.open(parent.one.task) as episode:
            trip = Trip(self.environment, self.catalog, episode, parent.one.task, self.budget)
            made = OPERATORS[operator](self.variants, trip, parent, [other] if other else [])
        task = self._minimal(parent.one.task, made) if made else None
        if task is None or task[0].query in self.seen:
            return None
        weakness = (
            f"{signal.kind} at {signal.task_id}, strength {signal.strength:.2f}" if signal else "none known: a variant of a pool task"
        )
        parents = (parent.one.task.id, *([other.one.task.id] if other else []))
        detail: dict[str, Any] = {"operator": operator, "calls": len(task[0].solution)}
        origin = Origin("operators", self.feedback.iteration, signal.id if signal else None, parents, detail)
        return CandidateTask(attrs.evolve(task[0], origin=origin), ExplorationContext(signal, weakness, (operator,)), tuple(task[1]))

    def _other(self, parent: Kept) -> Kept | None:
        """Another task to take turns from: of the same world where there is one, else one that uses no other apps."""
        rest = [kept for kept in self.kept if kept is not parent]
        world = [kept for kept in rest if self._same_world(kept.one.task, parent.one.task)]
        apps = self._apps(parent)
        near = world or [kept for kept in rest if self._apps(kept) <= apps]
        return self.rng.choice(near) if near else None

    def _apps(self, kept: Kept) -> set[str]:
        return {self.catalog.group(step.action.name) for step in kept.one.steps}

    @staticmethod
    def _same_world(first: Task, second: Task) -> bool:
        """Whether one was made from the other, or both from a third: then they begin alike."""
        families = [{task.id, *task.origin.parents[:1]} for task in (first, second)]
        return bool(families[0] & families[1])

    def _minimal(self, start: Task, made: list[Turn]) -> tuple[Task, list[Step]] | None:
        """The task that these turns make, without the added calls that its scorer does not miss."""
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
            made = [*made[:number], *([Turn(None, left)] if left else []), *made[number + 1 :]]

    def _compose(self, start: Task, made: Sequence[Turn], steps: list[Step]) -> Task | None:
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
        # Words that the environment divides otherwise would be said in other turns than the calls they ask for.
        return task if task is not None and len({action.turn for action in task.solution}) == len(made) else None

    def _spare(self, task: Task, steps: Sequence[Step]) -> Any:
        """A call of the solution that the scorer does not miss and that hands nothing on; None when there is none."""
        handing = [steps[handed.source].action for handed in handings(steps, self.catalog)]
        for index in reversed(range(len(task.solution))):
            action = task.solution[index]
            if len(task.solution) == 1 or any(same_call(action, source) for source in handing):
                continue
            if self._scores(task, [*task.solution[:index], *task.solution[index + 1 :]]):
                return action
        return None

    def _scores(self, task: Task, actions: Sequence[Any]) -> bool:
        self.budget.spend()
        with self.environment.open(task) as episode:
            for text in self.environment.script(actions):
                if episode.step(text).done:
                    break
            return episode.score() >= SUCCESS


@hookimpl
def coevolve_synthesizers() -> list[type[Synthesizer]]:
    return [Operators]
