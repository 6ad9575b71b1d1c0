"""Guided exploration without an LLM: generalise the signals, and bring what the pool lacks next to where the agent fails.

    weight(link) = estimate(link)^2 * sqrt(popularity(link)) / (1 + its count in the pool's solutions)

The failures of signal-tagged rollouts are blamed on links between calls, the failure rates are shrunk from the link over its apps to the
whole (blame.py), and links next to the weak region that the pool does not cover yet are explored in chains that are otherwise known to work
(chains.py). Popularity is how often the pool's solutions use the two tools. The paper leaves the exploration to an LLM (section 3); what it
is told there, this explorer computes. Variants of the signalled tasks themselves teach little, for those are in the pool and get trained
anyway: only forgetting signals re-issue near neighbours, and few of them.
"""

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import attrs
from attrs import define, field, frozen, validators

from coevolve import Action, CandidateTask, Environment, ExplorationContext, Feedback, Origin, Signal, Step, Synthesizer, hookimpl

from .blame import Rates, read
from .catalog import Catalog, catalog_of
from .chains import Chains
from .exploration import Budget, Exhausted, Expedition, Values, expedition
from .links import Link, Solved, Survey, handings


@frozen
class ProgrammaticOptions:
    """Options of guided exploration."""

    use_signals: bool = True
    """False leaves the estimates out: the same operator only covers what the pool lacks (the arm "cover")."""
    without_signals: str = field(default="cover", validator=validators.in_(("cover", "nothing")))
    """What an evolution without any signal does: cover what the pool lacks, or yield nothing."""
    shrinkage: float = field(default=4.0, validator=validators.gt(0.0))
    """k: how many rollouts of a link the failure rate of its level above is worth."""
    neighbours: float = field(default=0.125, validator=[validators.ge(0.0), validators.le(1.0)])
    """Share of the wanted tasks that may be near neighbours of forgotten tasks (one for each forgetting signal)."""
    max_calls: int = field(default=4000, validator=validators.ge(1))
    """Most environment calls (episodes, steps, compositions) for one evolution."""
    starts: int = field(default=4, validator=validators.ge(1))
    """Start tasks drawn for a chain, of which the one whose solution uses most of the link's apps is taken."""


class Programmatic:
    """Explores untried links near those that failed."""

    name: ClassVar[str] = "programmatic"
    Options: ClassVar[type] = ProgrammaticOptions

    def __init__(self, options: ProgrammaticOptions) -> None:
        self.options = options
        self._survey = Survey()

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        signals = feedback.signals if self.options.use_signals else ()
        if self.options.use_signals and not signals and self.options.without_signals == "nothing":
            return
        catalog = catalog_of(environment.describe())
        solved = self._survey.solved(feedback.pool, environment, catalog)
        if not solved:
            return
        search = _Search(self.options, feedback, environment, catalog, solved, rng, signals)
        try:
            yield from search.run()
        except Exhausted:
            return


@define
class _Search:
    """One evolution's exploration."""

    options: ProgrammaticOptions
    feedback: Feedback
    environment: Environment
    catalog: Catalog
    solved: Sequence[Solved]
    rng: random.Random
    signals: Sequence[Signal]
    rates: Rates = field(init=False)
    chains: Chains = field(init=False)
    budget: Budget = field(init=False)
    counts: dict[Link, float] = field(factory=dict)
    """Link -> its count in the pool's solutions, in candidates and in failed tries of this evolution."""
    seen: set[str] = field(init=False)
    made: int = 0

    def __attrs_post_init__(self) -> None:
        self.rates = Rates(self.catalog, self.options.shrinkage)
        self.chains = Chains(self.catalog, Values(self.catalog, self.solved), self.rng, self.solved)
        self.budget = Budget(self.options.max_calls)
        self.seen = {task.query for task in self.feedback.pool}
        known = {one.task.id: one for one in self.solved}
        tagged = {signal.task_id for signal in self.signals}
        for group in self.feedback.groups:
            if group.task.id in tagged:
                self.rates.add(read(group, known.get(group.task.id), self.catalog))
        for one in self.solved:
            for handing in one.handings:
                self.counts[handing.link] = self.counts.get(handing.link, 0) + 1

    def run(self) -> Iterator[CandidateTask]:
        yield from self._neighbours()
        links = list(self.chains.candidates())
        strongest = {signal.task_id: signal for signal in sorted(self.signals, key=lambda signal: (signal.strength, signal.id))}
        while links:
            weights = [self.weight(link) for link in links]
            link = self.rng.choices(links, weights)[0]
            candidate = self._explore(link, strongest)
            # A try that came to nothing makes the link less attractive too, or a hopeless one would eat the budget.
            self.counts[link] = self.counts.get(link, 0) + 1
            if link in self.chains.broken:
                links.remove(link)
            if candidate is not None:
                yield candidate

    def weight(self, link: Link) -> float:
        """How much a link is worth exploring."""
        popularity = (1 + self.chains.uses.get(link.producer, 0)) * (1 + self.chains.uses.get(link.consumer, 0))
        estimate = self.rates.estimate(link) if self.signals else 1.0
        return estimate**2 * math.sqrt(popularity) / (1 + self.counts.get(link, 0))

    def _explore(self, link: Link, signals: dict[str, Signal]) -> CandidateTask | None:
        start = self._start({self.catalog.group(link.producer), self.catalog.group(link.consumer)})
        length = len(self.rng.choice(self.solved).steps)
        with expedition(self.environment, self.catalog, start.task, self.budget) as trip:
            reached = self.chains.build(trip, link, len(trip.steps) + length) if self._prefix(trip) else None
            if reached is None:
                return None
            signal = self.rates.signal(link, signals)
            weakness = self.rates.words(link) if self.signals else "none known: a link that the pool lacks"
            candidate = self._compose(trip, ExplorationContext(signal, weakness, (str(link),)))
        # Composing keeps what the request needs; a task that does without the link is not what was looked for.
        if candidate is not None and not any(_same_call(action, reached.action) for action in candidate.task.solution):
            return None
        if candidate is not None:
            for handing in handings(candidate.exploration, self.catalog):
                if handing.link != link:
                    self.counts[handing.link] = self.counts.get(handing.link, 0) + 1
        return candidate

    def _start(self, groups: set[str]) -> Solved:
        """A start task; one whose solution uses the link's apps where few tasks can use them at all."""
        drawn = [self.rng.choice(self.solved) for _ in range(self.options.starts)]
        return max(drawn, key=lambda one: len(groups & {self.catalog.group(step.action.name) for step in one.steps}))

    def _prefix(self, trip: Expedition) -> bool:
        """Where tasks have several user turns, a chain goes on from a part of the start task's solution."""
        if not any(action.turn for one in self.solved for action in one.task.solution):
            return True
        return trip.follow(self.rng.randint(1, len(trip.start.solution)))

    def _neighbours(self) -> Iterator[CandidateTask]:
        """Forgotten tasks again, in other worlds and with other things in them."""
        forgotten = [signal for signal in self.signals if signal.kind == "forgetting"]
        known = {one.task.id: one for one in self.solved}
        for signal in forgotten[: int(self.options.neighbours * self.feedback.wanted)]:
            one = known.get(signal.task_id)
            if one is None:
                continue
            with expedition(self.environment, self.catalog, self.rng.choice(self.solved).task, self.budget) as trip:
                if not self.chains.retrace(trip, one):
                    continue
                weakness = f"forgotten: solved lately ({max(signal.evidence.get('recent', [0]))}), now {signal.evidence.get('now')}"
                candidate = self._compose(trip, ExplorationContext(signal, weakness, (f"a neighbour of {signal.task_id}",)), signal.task_id)
            if candidate is not None:
                yield candidate

    def _compose(self, trip: Expedition, context: ExplorationContext, *more_parents: str) -> CandidateTask | None:
        self.budget.spend()
        task_id = f"programmatic-{self.feedback.iteration}-{self.made}"
        task = self.environment.compose(trip.start, trip.steps, task_id)
        if task is None or task.query in self.seen:
            return None
        self.seen.add(task.query)
        self.made += 1
        detail: dict[str, Any] = {"targets": list(context.targets), "calls": len(trip.steps)}
        signal = context.signal.id if context.signal else None
        origin = Origin("programmatic", self.feedback.iteration, signal, (trip.start.id, *more_parents), detail)
        exploration: tuple[Step, ...] = tuple(trip.steps)
        return CandidateTask(attrs.evolve(task, id=task_id, origin=origin), context, exploration)


def _same_call(first: Action, second: Action) -> bool:
    return first.name == second.name and dict(first.arguments) == dict(second.arguments)


@hookimpl
def coevolve_synthesizers() -> list[type[Synthesizer]]:
    return [Programmatic]
