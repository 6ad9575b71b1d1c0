"""How much a link is worth exploring.

    weight(link) = estimate(link)^a * sqrt(popularity(link)) / (1 + its count)^b * bonus(link)

- The estimate is that of the link's failure rate. "effects" (random_effects.py) reads the scores of all tasks from the history and learns
  from them what failing links have in common. "levels" (blame.py) reads the rollouts of signalled tasks and assumes that failures cluster
  by the producing app. Without signals every estimate is 1.
- Popularity is (1 + calls of the producer) (1 + calls of the consumer) in the pool's solutions. The count is that of the link's uses in
  the pool's solutions, and in this evolution's candidates and tries.
- The bonus is 1 + `rare` times the strength of a rare signal, for links of that tool of the signal's task that the fewest rollouts used;
  the strongest signal counts where there are several. For all other links it is 1.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field, frozen

from coevolve import Feedback, Signal

from .blame import FailureRates, link_outcomes
from .catalog import Catalog
from .links import Link, SolvedTask
from .random_effects import RandomEffects, ScoredTask, fit


@frozen
class Weighing:
    """How weights are computed; the options of the synthesizer give the values."""

    estimates: str = "effects"
    """"effects" or "levels"."""
    estimate_power: float = 3.0
    """a in the formula."""
    count_power: float = 3.0
    """b in the formula."""
    rare: float = 1.0
    """Strength of the bonus for rare signals."""
    shrinkage: float = 4.0
    """k in the formulas of blame.py, in rollouts."""


@define
class LinkWeights:
    """The weights of one evolution's links."""

    weighing: Weighing
    rates: FailureRates
    """The estimates with "levels". With "effects" they only tell which signal a candidate goes back to, and what is known in words."""
    uses: Mapping[str, int]
    """Tool -> calls in the pool's solutions."""
    guided: bool
    """Whether there are signals; without, every estimate is 1."""
    effects: RandomEffects | None = None
    """The estimates with "effects"; None with "levels" and without signals."""
    rare: Mapping[str, float] = field(factory=dict)
    """Tool -> strength of the rare signal that named it."""
    counts: dict[Link, float] = field(factory=dict)
    _uncounted: dict[Link, float] = field(factory=dict, init=False)

    def __call__(self, link: Link) -> float:
        """The weight of a link (the formula above)."""
        if link not in self._uncounted:
            popularity = (1 + self.uses.get(link.producer, 0)) * (1 + self.uses.get(link.consumer, 0))
            power = self.weighing.estimate_power
            likely: float = self.estimate(link) ** power if self.guided else 1.0
            bonus = 1 + self.weighing.rare * max(self.rare.get(link.producer, 0.0), self.rare.get(link.consumer, 0.0))
            self._uncounted[link] = likely * math.sqrt(popularity) * bonus
        divisor: float = (1 + self.counts.get(link, 0)) ** self.weighing.count_power
        return self._uncounted[link] / divisor

    def estimate(self, link: Link) -> float:
        """The estimated failure rate of a link, in (0, 1)."""
        return self.effects.failure_rate(link) if self.effects else self.rates.estimate(link)

    def count(self, links: Iterable[Link]) -> None:
        """Add one to the count of each of these links."""
        for link in links:
            self.counts[link] = self.counts.get(link, 0) + 1

    def describe(self, link: Link) -> str:
        """The weakness around a link, in words."""
        if not self.guided:
            return "none known: a link that the pool lacks"
        text = self.rates.describe(link)
        group = self.effects.strongest(link) if self.effects else None
        if group is not None:
            text += f"; tasks with {group[0]} {group[1]} fail more often than others"
        return f"{text}; estimated failure rate {self.estimate(link):.2f}"


def link_weights(
    feedback: Feedback, signals: Sequence[Signal], solved: Sequence[SolvedTask], catalog: Catalog, weighing: Weighing
) -> LinkWeights:
    """The weights after what the rollouts and `signals` showed."""
    rates = FailureRates(catalog, weighing.shrinkage)
    known = {one.task.id: one for one in solved}
    tagged = {signal.task_id for signal in signals}
    for group in feedback.groups:
        if group.task.id in tagged:
            rates.add(link_outcomes(group, known.get(group.task.id), catalog))
    uses: dict[str, int] = {}
    for one in solved:
        for step in one.steps:
            uses[step.action.name] = uses.get(step.action.name, 0) + 1
    effects = fit(_scores(feedback, solved), catalog) if signals and weighing.estimates == "effects" else None
    weights = LinkWeights(weighing, rates, uses, bool(signals), effects, _rare_tools(feedback, signals, known))
    for one in solved:
        weights.count(use.link for use in one.link_uses)
    return weights


def _scores(feedback: Feedback, solved: Sequence[SolvedTask]) -> list[ScoredTask]:
    """The last score of every attempted task: the policy as it is now, as far as rollouts show it."""
    attempts = feedback.history.attempts
    return [
        ScoredTask(tuple(use.link for use in one.link_uses), attempts[one.task.id][-1].score) for one in solved if attempts.get(one.task.id)
    ]


def _rare_tools(feedback: Feedback, signals: Sequence[Signal], known: Mapping[str, SolvedTask]) -> dict[str, float]:
    """The tool of each rare signal's task that the fewest rollouts were about, with the strongest such signal."""
    seen: dict[str, int] = {}
    for task_id, solved in known.items():
        rollouts = sum(attempt.rollouts or 1 for attempt in feedback.history.attempts.get(task_id, ()))
        for tool in {step.action.name for step in solved.steps}:
            seen[tool] = seen.get(tool, 0) + rollouts
    found: dict[str, float] = {}
    for signal in signals:
        if signal.kind == "rare" and (one := known.get(signal.task_id)) is not None and one.steps:
            tool = min((step.action.name for step in one.steps), key=lambda name: (seen[name], name))
            found[tool] = max(signal.strength, found.get(tool, 0.0))
    return found
