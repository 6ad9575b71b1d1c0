"""How much a link is worth exploring.

    weight(link) = estimate(link)^2 * sqrt(popularity(link)) / (1 + its count)

The failures of the signalled tasks' rollouts are blamed on links, and the failure rates of all links are estimated from them (blame.py).
Popularity is (1 + calls of the producer) (1 + calls of the consumer) in the pool's solutions. The count is that of the link's uses in the
pool's solutions, and in this evolution's candidates and tries.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field

from coevolve import Feedback, Signal

from .blame import FailureRates, link_outcomes
from .catalog import Catalog
from .links import Link, SolvedTask


@define
class LinkWeights:
    """The weights of one evolution's links."""

    rates: FailureRates
    uses: Mapping[str, int]
    """Tool -> calls in the pool's solutions."""
    guided: bool
    """Whether there are signals; without, every estimate is 1."""
    counts: dict[Link, float] = field(factory=dict)

    def __call__(self, link: Link) -> float:
        """The weight of a link (the formula above)."""
        popularity = (1 + self.uses.get(link.producer, 0)) * (1 + self.uses.get(link.consumer, 0))
        estimate = self.rates.estimate(link) if self.guided else 1.0
        return estimate**2 * math.sqrt(popularity) / (1 + self.counts.get(link, 0))

    def count(self, links: Iterable[Link]) -> None:
        """Add one to the count of each of these links."""
        for link in links:
            self.counts[link] = self.counts.get(link, 0) + 1

    def describe(self, link: Link) -> str:
        """The weakness around a link, in words."""
        return self.rates.describe(link) if self.guided else "none known: a link that the pool lacks"


def link_weights(
    feedback: Feedback, signals: Sequence[Signal], solved: Sequence[SolvedTask], catalog: Catalog, strength: float
) -> LinkWeights:
    """The weights after the rollouts of the tasks that `signals` tag. `strength`: the shrinkage k of blame.py, in rollouts."""
    rates = FailureRates(catalog, strength)
    known = {one.task.id: one for one in solved}
    tagged = {signal.task_id for signal in signals}
    for group in feedback.groups:
        if group.task.id in tagged:
            rates.add(link_outcomes(group, known.get(group.task.id), catalog))
    uses: dict[str, int] = {}
    for one in solved:
        for step in one.steps:
            uses[step.action.name] = uses.get(step.action.name, 0) + 1
    weights = LinkWeights(rates, uses, bool(signals))
    for one in solved:
        weights.count(use.link for use in one.link_uses)
    return weights
