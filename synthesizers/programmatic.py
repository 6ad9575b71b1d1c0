"""Guided exploration without an LLM: explore links between calls that are likely to fail and that the pool does not cover yet.

A link is drawn by its weight (link_weights.py) and explored in a chain of calls that are otherwise known to work (chains.py). Where the
environment knows what its users want (optional.HasGoals), nothing is chained: goals are drawn in the worlds of pool tasks, and one with a
heavy link is chosen (goal_search.py). In the paper an LLM explores (section 3); this component computes from the signals what the paper
puts into the LLM's prompt. Variants of the signalled tasks themselves teach little, because those tasks are in the pool and are trained on
anyway. So only forgetting signals get near neighbours of their task, and few of them.
"""

import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import attrs
from attrs import define, field, frozen, validators

from coevolve import CandidateTask, Environment, ExplorationContext, Feedback, Origin, PlannedRun, Signal, Synthesizer, Verdict, hookimpl

from .argument_values import ArgumentValues
from .call_exploration import BudgetExhausted, CallBudget, Exploration, open_exploration
from .catalog import Catalog, catalog_of, same_call
from .chains import Chains
from .goal_exploration import offers_goals
from .goal_search import GoalSearch
from .link_weights import LinkWeights, link_weights
from .links import Link, SolvedTask, Survey, link_uses
from .refused import EvolutionInput
from .repairs import repair


@frozen
class ProgrammaticOptions:
    """Options of guided exploration."""

    use_signals: bool = True
    """Whether failure estimates weigh the links. False explores what the pool lacks, without regard to signals (the arm "cover")."""
    without_signals: str = field(default="cover", validator=validators.in_(("cover", "nothing")))
    """What an evolution without signals does: "cover" explores what the pool lacks, so that it still grows; "nothing" yields no task."""
    shrinkage: float = field(default=4.0, validator=validators.gt(0.0))
    """k in the formulas of blame.py: how many rollouts the failure rate of the level above counts for. Chosen, not tuned."""
    neighbours: float = field(default=0.125, validator=[validators.ge(0.0), validators.le(1.0)])
    """Largest share of the wanted tasks for near neighbours of forgotten tasks, one for each forgetting signal (0: none, 1: no limit).
    Small by default, since forgotten tasks are trained on again anyway."""
    max_calls: int = field(default=4000, validator=validators.ge(1))
    """Most environment calls (opened episodes, steps, compositions) in one evolution."""
    choice: int = field(default=16, validator=validators.ge(1))
    """How many executed goals the next one is chosen from, where the environment offers goals. 1 is no choice: signals then do nothing."""
    repair_calls: int = field(default=300, validator=validators.ge(0))
    """Most environment calls of one repair of a refused candidate; 0: no repairs."""
    starts: int = field(default=4, validator=validators.ge(1))
    """How many start tasks are drawn for a chain. The one whose solution uses most of the link's apps is taken."""


class Programmatic:
    """Makes tasks out of chains of calls around links that are likely to fail and rare in the pool."""

    name: ClassVar[str] = "programmatic"
    Options: ClassVar[type] = ProgrammaticOptions

    def __init__(self, options: ProgrammaticOptions) -> None:
        self.options = options
        self._survey = Survey()
        self._known: EvolutionInput | None = None

    def estimate(self, plan: PlannedRun) -> list[str]:
        """How many environment calls the evolutions make at most, with the synthesis of the initial tasks, and a repair."""
        calls, repair = plan.syntheses * self.options.max_calls, self.options.repair_calls
        more = f", and {repair:,} for each repair of a refused candidate" if repair else ""
        return [f"exploration by {self.name}: at most {calls:,} environment calls{more}"] if plan.syntheses else []

    def repair(self, candidate: CandidateTask, verdict: Verdict, environment: Environment, rng: random.Random) -> CandidateTask | None:
        """The candidate longer, shorter, without a call or with other values, as the verdict's reason demands (repairs.py)."""
        return repair(self._known, candidate, verdict, environment, rng, self.options.repair_calls)

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        signals = feedback.signals if self.options.use_signals else ()
        if self.options.use_signals and not signals and self.options.without_signals == "nothing":
            return
        catalog = catalog_of(environment.describe())
        solved = self._survey.solved(feedback.pool, environment, catalog)
        if not solved:
            return
        options = self.options
        make_weights = partial(link_weights, feedback, signals, solved, catalog, options.shrinkage)
        weights = make_weights()
        self._known = EvolutionInput(self.name, feedback, catalog, solved, make_weights)
        search: GoalSearch | LinkSearch = LinkSearch(options, feedback, environment, catalog, solved, rng, signals, weights)
        if offers_goals(environment):
            search = GoalSearch(options.choice, options.max_calls, feedback, environment, catalog, solved, rng, signals, weights)
        try:
            yield from search.run()
        except BudgetExhausted:
            return


@define
class LinkSearch:
    """The exploration of one evolution."""

    options: ProgrammaticOptions
    feedback: Feedback
    environment: Environment
    catalog: Catalog
    solved: Sequence[SolvedTask]
    rng: random.Random
    signals: Sequence[Signal]
    weights: LinkWeights
    chains: Chains = field(init=False)
    budget: CallBudget = field(init=False)
    seen: set[str] = field(init=False)
    made: int = 0

    def __attrs_post_init__(self) -> None:
        self.chains = Chains(self.catalog, ArgumentValues(self.catalog, self.solved), self.rng, self.solved)
        self.budget = CallBudget(self.options.max_calls)
        self.seen = {task.query for task in self.feedback.pool}

    def run(self) -> Iterator[CandidateTask]:
        """Yield candidates until no link is left or the budget is exhausted (BudgetExhausted)."""
        yield from self._neighbours()
        links = list(self.chains.candidate_links())
        strongest = {signal.task_id: signal for signal in sorted(self.signals, key=lambda signal: (signal.strength, signal.id))}
        while links:
            link = self.rng.choices(links, [self.weights(link) for link in links])[0]
            candidate = self._explore(link, strongest)
            # A failed try counts too; otherwise a link that never works would use up the budget.
            self.weights.count([link])
            if link in self.chains.broken:
                links.remove(link)
            if candidate is not None:
                yield candidate

    def _explore(self, link: Link, signals: dict[str, Signal]) -> CandidateTask | None:
        start = self._start({self.catalog.group(link.producer), self.catalog.group(link.consumer)})
        length = len(self.rng.choice(self.solved).steps)
        with open_exploration(self.environment, self.catalog, start.task, self.budget) as exploration:
            reached = self.chains.build(exploration, link, len(exploration.steps) + length) if self._prefix(exploration) else None
            if reached is None:
                return None
            signal = self.weights.rates.nearest_signal(link, signals)
            candidate = self._compose(exploration, ExplorationContext(signal, self.weights.describe(link), (str(link),)))
        # `compose` may drop calls that the request does not need. A task without the link's consuming call is not what was looked for.
        if candidate is not None and not any(same_call(action, reached.action) for action in candidate.task.solution):
            return None
        if candidate is not None:
            self.weights.count(use.link for use in link_uses(candidate.exploration, self.catalog) if use.link != link)
        return candidate

    def _start(self, groups: set[str]) -> SolvedTask:
        """Draw some start tasks and take the one whose solution uses most of the link's apps: not every world may offer these apps."""
        drawn = [self.rng.choice(self.solved) for _ in range(self.options.starts)]
        return max(drawn, key=lambda one: len(groups & {self.catalog.group(step.action.name) for step in one.steps}))

    def _prefix(self, exploration: Exploration) -> bool:
        """Where tasks have several user turns, play a part of the start task's solution before the chain. False when that fails."""
        if not any(action.turn for one in self.solved for action in one.task.solution):
            return True
        return exploration.play_start(self.rng.randint(1, len(exploration.start.solution)))

    def _neighbours(self) -> Iterator[CandidateTask]:
        """Yield neighbours of forgotten tasks: the same calls in another start task's world, with other values."""
        forgotten = [signal for signal in self.signals if signal.kind == "forgetting"]
        known = {one.task.id: one for one in self.solved}
        for signal in forgotten[: int(self.options.neighbours * self.feedback.wanted)]:
            one = known.get(signal.task_id)
            if one is None:
                continue
            with open_exploration(self.environment, self.catalog, self.rng.choice(self.solved).task, self.budget) as exploration:
                if not self.chains.retrace(exploration, one):
                    continue
                weakness = f"forgotten: solved lately ({max(signal.evidence.get('recent', [0]))}), now {signal.evidence.get('now')}"
                candidate = self._compose(
                    exploration, ExplorationContext(signal, weakness, (f"a neighbour of {signal.task_id}",)), signal.task_id
                )
            if candidate is not None:
                yield candidate

    def _compose(self, exploration: Exploration, context: ExplorationContext, *more_parents: str) -> CandidateTask | None:
        self.budget.spend()
        task_id = f"programmatic-{self.feedback.iteration}-{self.made}"
        task = self.environment.compose(exploration.start, exploration.steps, task_id)
        if task is None or task.query in self.seen:
            return None
        self.seen.add(task.query)
        self.made += 1
        detail: dict[str, Any] = {"targets": list(context.targets), "calls": len(exploration.steps)}
        signal = context.signal.id if context.signal else None
        origin = Origin("programmatic", self.feedback.iteration, signal, (exploration.start.id, *more_parents), detail)
        return CandidateTask(attrs.evolve(task, id=task_id, origin=origin), context, tuple(exploration.steps))


@hookimpl
def coevolve_synthesizers() -> list[type[Synthesizer]]:
    return [Programmatic]
