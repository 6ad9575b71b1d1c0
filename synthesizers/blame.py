"""Find the links on which failed rollouts went wrong, and estimate the failure rates of all links from them.

A failed rollout is compared with a successful one of its group, or with the task's own solution when none succeeded. The first call that
differs is blamed: the links that feed it, or those that it feeds. Links before it count as handled. The failure rates are shrunk level
by level, so that a failure also raises the rates of similar links that were never tried:

    all      = (F + 1/2) / (N + 1)
    app      = (F_app + k all) / (N_app + k)           producing app
    pair     = (F_pair + k app) / (N_pair + k)         producing and consuming app
    link     = (F_link + k pair) / (N_link + k)

F is the number of failures, N that of rollouts which reached the link, k the strength of the shrinkage. This method is the project's own.
Where random effects give the estimates (link_weights.py), these rates only name a candidate's signal and describe the weakness in words.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from attrs import define, evolve, field, frozen

from coevolve import RolloutGroup, Signal, Step, Trajectory

from .catalog import Catalog, same_call
from .links import Link, LinkUse, SolvedTask, link_uses

Pair = tuple[str, str]


@frozen
class LinkOutcome:
    """How one rollout handled one link: `failure` is 0 when it handled the link, and up to 1 when the link is blamed."""

    link: Link
    failure: float
    task_id: str


def tool_calls(steps: Sequence[Step], catalog: Catalog) -> tuple[Step, ...]:
    """The tool calls among `steps`.

    The calls that a block of code made stand for the block. A block that failed before it made any call stands for itself.
    """
    if not any(step.inner for step in steps):
        return tuple(steps)
    calls = []
    for step, after in zip(steps, (*steps[1:], None), strict=True):
        if step.action.name in catalog.tools or (step.error is not None and (after is None or not after.inner)):
            calls.append(step)
    return tuple(calls)


def divergence(failed: Sequence[Step], reference: Sequence[Step]) -> int:
    """Index of the first step of `reference` that `failed` does not take; the length of the shorter one when there is none.

    A call that succeeds in one of them and fails in the other counts as different.
    """
    for index, (ours, theirs) in enumerate(zip(failed, reference, strict=False)):
        if not same_call(ours.action, theirs.action) or (ours.error is None) != (theirs.error is None):
            return index
    return min(len(failed), len(reference))


def blamed_links(uses: Sequence[LinkUse], index: int, failed: Sequence[Step], reference: Sequence[Step], catalog: Catalog) -> list[LinkUse]:
    """The link uses to blame for a divergence at `index`.

    When only the modes of the call differ (a lookup in the wrong form), these are the links out of it. Otherwise they are the links into
    it, or those out of it when there are none.
    """
    into = [use for use in uses if use.target == index]
    out = [use for use in uses if use.source == index]
    if index < min(len(failed), len(reference)):
        ours, theirs = failed[index].action, reference[index].action
        modes = catalog.modes(ours.name, ours.arguments) != catalog.modes(theirs.name, theirs.arguments)
        if ours.name == theirs.name and modes and out:
            return out
    return into or out


def link_outcomes(group: RolloutGroup, solved: SolvedTask | None, catalog: Catalog) -> list[LinkOutcome]:
    """The outcomes of all links in a group's scored rollouts. `solved` is the reference when no rollout succeeded."""
    scored = [evolve(t, steps=tool_calls(t.steps, catalog)) for t in group.trajectories if t.score is not None]
    good = [trajectory for trajectory in scored if trajectory.success]
    outcomes = [LinkOutcome(use.link, 0.0, group.task.id) for uses in _uses_of_each(good, catalog) for use in uses]
    references = list({repr([s.action for s in t.steps]): t.steps for t in good}.values()) or ([solved.steps] if solved else [])
    if not references:
        return outcomes
    linked = [link_uses(steps, catalog) for steps in references]
    for trajectory in scored:
        if not trajectory.success:
            outcomes += _failed_outcomes(trajectory, references, linked, catalog)
    return outcomes


def _uses_of_each(trajectories: Sequence[Trajectory], catalog: Catalog) -> list[list[LinkUse]]:
    """The link uses of each trajectory; those that are equal are searched once, since most successes of a group are."""
    known: list[tuple[Sequence[Step], list[LinkUse]]] = []
    found = []
    for trajectory in trajectories:
        uses = next((uses for steps, uses in known if steps == trajectory.steps), None)
        if uses is None:
            uses = link_uses(trajectory.steps, catalog)
            known.append((trajectory.steps, uses))
        found.append(uses)
    return found


def _failed_outcomes(
    trajectory: Trajectory, references: Sequence[Sequence[Step]], linked: Sequence[Sequence[LinkUse]], catalog: Catalog
) -> list[LinkOutcome]:
    """Outcomes of a failed rollout, against the reference that it follows longest. The links to blame share a failure of 1."""
    steps = trajectory.steps
    best = max(range(len(references)), key=lambda i: divergence(steps, references[i]))
    index, reference, uses = divergence(steps, references[best]), references[best], linked[best]
    guilty = blamed_links(uses, index, steps, reference, catalog)
    handled = [use for use in uses if use.target < index and use not in guilty]
    return [
        *(LinkOutcome(use.link, 0.0, trajectory.task_id) for use in handled),
        *(LinkOutcome(use.link, 1 / len(guilty), trajectory.task_id) for use in guilty),
    ]


@define
class FailureCount:
    """F failures among N outcomes; F may be a fraction, since several links can share a failure."""

    failures: float = 0.0
    total: float = 0.0

    def add(self, failure: float) -> None:
        self.failures += failure
        self.total += 1

    def shrunk(self, prior: float, strength: float) -> float:
        """The failure rate, as if `strength` more outcomes with the rate `prior` had been counted."""
        return (self.failures + strength * prior) / (self.total + strength)


@define
class FailureRates:
    """Failure rates of links, for links that were tried and for all others."""

    catalog: Catalog
    strength: float
    everything: FailureCount = field(factory=FailureCount)
    apps: dict[str, FailureCount] = field(factory=lambda: defaultdict(FailureCount))
    pairs: dict[Pair, FailureCount] = field(factory=lambda: defaultdict(FailureCount))
    links: dict[tuple[str, str, str], FailureCount] = field(factory=lambda: defaultdict(FailureCount))
    blame: dict[str, dict[Link, float]] = field(factory=lambda: defaultdict(dict))
    """Task id -> link -> sum of the failures blamed on it."""

    def add(self, outcomes: Sequence[LinkOutcome]) -> None:
        """Count outcomes at all four levels."""
        for one in outcomes:
            app, pair = self._levels(one.link)
            for count in (self.everything, self.apps[app], self.pairs[pair], self.links[_without_modes(one.link)]):
                count.add(one.failure)
            if one.failure:
                of = self.blame[one.task_id]
                of[one.link] = of.get(one.link, 0.0) + one.failure

    def _levels(self, link: Link) -> tuple[str, Pair]:
        app = self.catalog.group(link.producer)
        return app, (app, self.catalog.group(link.consumer))

    def estimate(self, link: Link) -> float:
        """The link's failure rate in (0, 1), shrunk level by level."""
        app, pair = self._levels(link)
        rate = (self.everything.failures + 0.5) / (self.everything.total + 1)
        for count in (self.apps.get(app), self.pairs.get(pair), self.links.get(_without_modes(link))):
            if count is not None:
                rate = count.shrunk(rate, self.strength)
        return rate

    def describe(self, link: Link) -> str:
        """The weakness around a link in words: the counts at each level."""
        app, pair = self._levels(link)
        name = f"{link.producer} -> {link.consumer}"
        levels = (name, self.links.get(_without_modes(link))), (f"{pair[0]} -> {pair[1]}", self.pairs.get(pair)), (app, self.apps.get(app))
        parts = [f"{name}: {count.failures:.3g} of {count.total:.0f}" for name, count in levels if count]
        of = ", ".join(parts) if parts else f"all links: {self.everything.failures:.3g} of {self.everything.total:.0f}"
        return f"failed rollouts blamed on values passed between calls ({of})"

    def nearest_signal(self, link: Link, signals: Mapping[str, Signal]) -> Signal | None:
        """The signal (by task id in `signals`) whose task has the most relevant failures.

        Failures of the link itself count most, then those of its pair of apps, of its producing app, and of any link. Without a failure
        it is the strongest signal; None when there are no signals.
        """

        def relevance(other: Link) -> int:
            if _without_modes(other) == _without_modes(link):
                return 3
            return 2 if self._levels(other)[1] == self._levels(link)[1] else int(self._levels(other)[0] == self._levels(link)[0])

        best = max(
            ((relevance(other), blame, task_id) for task_id, of in self.blame.items() if task_id in signals for other, blame in of.items()),
            default=None,
        )
        if best is not None:
            return signals[best[2]]
        return max(signals.values(), key=lambda signal: (signal.strength, signal.id), default=None)


def _without_modes(link: Link) -> tuple[str, str, str]:
    return link.producer, link.consumer, link.argument
