"""Guided exploration of links: draw a link by its weight (link_weights.py) and carry it out in a chain of calls (chains.py).

Forgetting signals get near neighbours of their task first: the same calls in another start task's world, with other values.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
from attrs import define, field

from coevolve import CandidateTask, Environment, ExplorationContext, Feedback, Origin, Signal

from .argument_values import ArgumentValues
from .call_exploration import CallBudget, Exploration, open_exploration
from .catalog import Catalog, same_call
from .chains import Chains
from .link_weights import LinkWeights
from .links import Link, SolvedTask, link_uses


@define
class LinkSearch:
    """The exploration of one evolution in an environment that offers no goals."""

    max_calls: int
    """Most environment calls of the evolution."""
    starts: int
    """How many start tasks are drawn for a chain."""
    neighbours: float
    """Largest share of the wanted tasks for near neighbours of forgotten tasks."""
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
        self.budget = CallBudget(self.max_calls)
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
        drawn = [self.rng.choice(self.solved) for _ in range(self.starts)]
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
        for signal in forgotten[: int(self.neighbours * self.feedback.wanted)]:
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
