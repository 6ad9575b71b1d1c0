"""Guided exploration without an LLM: explore links between calls that are likely to fail and that the pool does not cover yet.

A link is drawn by its weight (link_weights.py) and carried out in a chain of calls that are otherwise known to work (link_search.py). Where
the environment knows what its users want (optional.HasGoals), nothing is chained: goals are drawn in the worlds of pool tasks, and one with
a heavy link is chosen (goal_search.py). In the paper an LLM explores (section 3); this component computes from the signals what the paper
puts into the LLM's prompt. Variants of the signalled tasks themselves teach little, because those tasks are in the pool and are trained on
anyway. So only forgetting signals get near neighbours of their task, and few of them.
"""

import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import CandidateTask, Environment, Feedback, PlannedRun, Signal, Synthesizer, Verdict, hookimpl

from .call_exploration import BudgetExhausted, calls_estimate
from .catalog import Catalog, catalog_of
from .goal_exploration import offers_goals
from .goal_search import GoalSearch
from .link_search import LinkSearch
from .link_weights import LinkWeights, Weighing, link_weights
from .links import SolvedTask, Survey
from .refused import EvolutionInput
from .repairs import repair


@frozen
class ProgrammaticOptions:
    """Options of guided exploration."""

    use_signals: bool = True
    """Whether failure estimates weigh the links. False explores what the pool lacks, without regard to signals (the arm "cover")."""
    without_signals: str = field(default="cover", validator=validators.in_(("cover", "nothing")))
    """What an evolution without signals does: "cover" explores what the pool lacks, so that it still grows; "nothing" yields no task."""
    estimates: str = field(default="effects", validator=validators.in_(("effects", "levels")))
    """How failure rates are estimated: "effects" learns from all scores what failing links have in common (random_effects.py); "levels"
    sums the failures of signalled tasks by producing app (blame.py)."""
    estimate_power: float = field(default=3.0, validator=[validators.ge(0.0), validators.le(10.0)])
    """Exponent of the failure rate in a link's weight (link_weights.py); 0 ignores it."""
    count_power: float = field(default=3.0, validator=[validators.ge(0.0), validators.le(10.0)])
    """Exponent of a link's count in the pool, which divides its weight; 0 ignores it."""
    rare: float = field(default=1.0, validator=[validators.ge(0.0), validators.le(100.0)])
    """How much a rare signal of strength 1 adds to the weight of the links around its rarest tool (0: nothing)."""
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
        return calls_estimate(self.name, plan, self.options.max_calls, self.options.repair_calls)

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
        make_weights = partial(self.weights, feedback, signals, solved, catalog)
        weights = make_weights()
        self._known = EvolutionInput(self.name, feedback, catalog, solved, make_weights)
        given = (feedback, environment, catalog, solved, rng, signals, weights)
        search: GoalSearch | LinkSearch = LinkSearch(options.max_calls, options.starts, options.neighbours, *given)
        if offers_goals(environment):
            search = GoalSearch(options.choice, options.max_calls, *given)
        try:
            yield from search.run()
        except BudgetExhausted:
            return

    def weights(self, feedback: Feedback, signals: Sequence[Signal], solved: Sequence[SolvedTask], catalog: Catalog) -> LinkWeights:
        """The weights of an evolution's links; a synthesizer with weights of its own overrides this."""
        options = self.options
        weighing = Weighing(options.estimates, options.estimate_power, options.count_power, options.rare, options.shrinkage)
        return link_weights(feedback, signals, solved, catalog, weighing)


@hookimpl
def coevolve_synthesizers() -> list[type[Synthesizer]]:
    return [Programmatic]
