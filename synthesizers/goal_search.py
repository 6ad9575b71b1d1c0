"""Guided exploration of goals: of some goals that work, take one whose links are heavy (link_weights.py).

    weight(goal) = (heaviest of its links, or the mean weight of all links where it has none) / (1 + tasks made of this kind of goal)

Half of the goals are drawn in the worlds of signalled tasks, where there are signals.
"""

import random
from collections.abc import Iterator, Sequence

from attrs import define, field

from coevolve import CandidateTask, Environment, ExplorationContext, Feedback, Signal

from .call_exploration import CallBudget
from .catalog import Catalog
from .goal_exploration import ExecutedGoal, GoalExploration, goal_kinds
from .link_weights import LinkWeights
from .links import Link, SolvedTask


@define
class GoalSearch:
    """The exploration of one evolution in an environment that offers goals."""

    choice: int
    """How many executed goals the next one is chosen from."""
    max_calls: int
    """Most environment calls of the evolution."""
    feedback: Feedback
    environment: Environment
    catalog: Catalog
    solved: Sequence[SolvedTask]
    rng: random.Random
    signals: Sequence[Signal]
    weights: LinkWeights
    goals: GoalExploration = field(init=False)

    def __attrs_post_init__(self) -> None:
        pool = self.feedback.pool.tasks
        budget = CallBudget(self.max_calls)
        seen, kinds = {task.query for task in pool}, goal_kinds(pool)
        self.goals = GoalExploration("programmatic", self.feedback.iteration, self.environment, self.catalog, budget, self.rng, seen, kinds)

    def run(self) -> Iterator[CandidateTask]:
        """Yield candidates until the worlds yield no new goal or the budget is exhausted (BudgetExhausted)."""
        known: list[ExecutedGoal] = []
        strongest = {signal.task_id: signal for signal in sorted(self.signals, key=lambda signal: (signal.strength, signal.id))}
        while True:
            known = [one for one in known if one.goal.query not in self.goals.seen]
            if len(known) < self.choice:
                known += self.goals.draw(self._starts(), self.choice - len(known))
            if not known:
                return
            chosen = self.rng.choices(known, [self.weight(one) for one in known])[0]
            known.remove(chosen)
            self.weights.count(chosen.links)
            candidate = self.goals.candidate(chosen, self._context(chosen, strongest), targets=[str(link) for link in chosen.links])
            if candidate is not None:
                yield candidate

    def weight(self, one: ExecutedGoal) -> float:
        """The weight of a goal in the draw (the formula above)."""
        links = one.links or tuple(self.weights.counts)
        weights = [self.weights(link) for link in links] or [1.0]
        heaviest = max(weights) if one.links else sum(weights) / len(weights)
        return heaviest / (1 + self.goals.kinds.get(one.goal.kind, 0))

    def _starts(self) -> list[SolvedTask]:
        """Start tasks in the order in which they are tried: every second one is a signalled task."""
        tagged = {signal.task_id for signal in self.signals}
        signalled = [one for one in self.solved if one.task.id in tagged]
        return [self.rng.choice(signalled if signalled and number % 2 else self.solved) for number in range(2 * self.choice)]

    def _context(self, one: ExecutedGoal, strongest: dict[str, Signal]) -> ExplorationContext:
        heaviest: Link | None = max(one.links, key=self.weights, default=None)
        if heaviest is None:
            return ExplorationContext(None, "none known: a goal without a link between calls", (one.goal.kind,))
        signal = self.weights.rates.nearest_signal(heaviest, strongest)
        return ExplorationContext(signal, self.weights.describe(heaviest), (one.goal.kind, str(heaviest)))
