"""Where failed rollouts went wrong: blame for links, and failure rates that are shrunk towards their neighbours'.

A failed rollout is laid beside a successful one of its group (beside the task's own solution when none succeeded); the first call that
differs is to blame, and with it the link that feeds that call, or that this call feeds. Links before it count as handled. The rates are

    all      = (F + 1/2) / (N + 1)
    app      = (F_app + k all) / (N_app + k)           producing app
    pair     = (F_pair + k app) / (N_pair + k)         producing and consuming app
    link     = (F_link + k pair) / (N_link + k)

F failures, N rollouts that came to the link, k the strength of the shrinkage. So a failure says something about links never tried.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from attrs import define, evolve, field, frozen

from coevolve import RolloutGroup, Signal, Step, Trajectory

from .catalog import Catalog, same_call
from .links import Handing, Link, Solved, handings

Pair = tuple[str, str]


@frozen
class Seen:
    """What one rollout says of one link: 0 handled, up to 1 to blame."""

    link: Link
    failure: float
    task_id: str


def called(steps: Sequence[Step], catalog: Catalog) -> tuple[Step, ...]:
    """The calls among steps. Those that a block of code made stand for the block, and one that failed before it made any for itself."""
    if not any(step.inner for step in steps):
        return tuple(steps)
    calls = []
    for step, after in zip(steps, (*steps[1:], None), strict=True):
        if step.action.name in catalog.tools or (step.error is not None and (after is None or not after.inner)):
            calls.append(step)
    return tuple(calls)


def divergence(failed: Sequence[Step], reference: Sequence[Step]) -> int:
    """Index of the first step of `reference` that `failed` does not take; the length of `reference` when it takes them all."""
    for index, (ours, theirs) in enumerate(zip(failed, reference, strict=False)):
        if not same_call(ours.action, theirs.action) or (ours.error is None) != (theirs.error is None):
            return index
    return min(len(failed), len(reference))


def blamed(found: Sequence[Handing], index: int, failed: Sequence[Step], reference: Sequence[Step], catalog: Catalog) -> list[Handing]:
    """The links at a divergence: those that a lookup in another mode feeds, else the links into the call, else those out of it."""
    into = [handing for handing in found if handing.target == index]
    out = [handing for handing in found if handing.source == index]
    if index < min(len(failed), len(reference)):
        ours, theirs = failed[index].action, reference[index].action
        modes = catalog.modes(ours.name, ours.arguments) != catalog.modes(theirs.name, theirs.arguments)
        if ours.name == theirs.name and modes and out:
            return out
    return into or out


def read(group: RolloutGroup, solved: Solved | None, catalog: Catalog) -> list[Seen]:
    """What a group's rollouts say of the links in it."""
    scored = [evolve(t, steps=called(t.steps, catalog)) for t in group.trajectories if t.score is not None]
    good = [trajectory for trajectory in scored if trajectory.success]
    seen = [Seen(h.link, 0.0, group.task.id) for trajectory in good for h in handings(trajectory.steps, catalog)]
    references = list({repr([s.action for s in t.steps]): t.steps for t in good}.values()) or ([solved.steps] if solved else [])
    if not references:
        return seen
    linked = [handings(steps, catalog) for steps in references]
    for trajectory in scored:
        if not trajectory.success:
            seen += _failure(trajectory, references, linked, catalog)
    return seen


def _failure(
    trajectory: Trajectory, references: Sequence[Sequence[Step]], linked: Sequence[Sequence[Handing]], catalog: Catalog
) -> list[Seen]:
    steps = trajectory.steps
    best = max(range(len(references)), key=lambda i: divergence(steps, references[i]))
    index, reference, found = divergence(steps, references[best]), references[best], linked[best]
    guilty = blamed(found, index, steps, reference, catalog)
    handled = [handing for handing in found if handing.target < index and handing not in guilty]
    return [
        *(Seen(handing.link, 0.0, trajectory.task_id) for handing in handled),
        *(Seen(handing.link, 1 / len(guilty), trajectory.task_id) for handing in guilty),
    ]


@define
class Count:
    """Failures F among N."""

    failures: float = 0.0
    total: float = 0.0

    def add(self, failure: float) -> None:
        self.failures += failure
        self.total += 1

    def shrunk(self, prior: float, strength: float) -> float:
        return (self.failures + strength * prior) / (self.total + strength)


@define
class Rates:
    """Failure rates of links, known or not."""

    catalog: Catalog
    strength: float
    everything: Count = field(factory=Count)
    apps: dict[str, Count] = field(factory=lambda: defaultdict(Count))
    pairs: dict[Pair, Count] = field(factory=lambda: defaultdict(Count))
    links: dict[tuple[str, str, str], Count] = field(factory=lambda: defaultdict(Count))
    blame: dict[str, dict[Link, float]] = field(factory=lambda: defaultdict(dict))
    """Task id -> link -> blame."""

    def add(self, seen: Sequence[Seen]) -> None:
        for one in seen:
            app, pair = self._levels(one.link)
            for count in (self.everything, self.apps[app], self.pairs[pair], self.links[_bare(one.link)]):
                count.add(one.failure)
            if one.failure:
                of = self.blame[one.task_id]
                of[one.link] = of.get(one.link, 0.0) + one.failure

    def _levels(self, link: Link) -> tuple[str, Pair]:
        app = self.catalog.group(link.producer)
        return app, (app, self.catalog.group(link.consumer))

    def estimate(self, link: Link) -> float:
        """The link's failure rate, shrunk level by level."""
        app, pair = self._levels(link)
        rate = (self.everything.failures + 0.5) / (self.everything.total + 1)
        for count in (self.apps.get(app), self.pairs.get(pair), self.links.get(_bare(link))):
            if count is not None:
                rate = count.shrunk(rate, self.strength)
        return rate

    def words(self, link: Link) -> str:
        """The weakness around a link, for people and for the record."""
        app, pair = self._levels(link)
        levels = (f"{link.producer} -> {link.consumer}", self.links.get(_bare(link))), (f"{pair[0]} -> {pair[1]}", self.pairs.get(pair))
        parts = [f"{name}: {count.failures:.3g} of {count.total:.0f}" for name, count in (*levels, (app, self.apps.get(app))) if count]
        of = ", ".join(parts) if parts else f"all links: {self.everything.failures:.3g} of {self.everything.total:.0f}"
        return f"failed rollouts blamed on the handing over of values ({of}); estimated failure rate {self.estimate(link):.2f}"

    def signal(self, link: Link, signals: Mapping[str, Signal]) -> Signal | None:
        """The signal whose task's failures say most about a link: about itself, else its pair, else its app, else at all."""

        def near(other: Link) -> int:
            if _bare(other) == _bare(link):
                return 3
            return 2 if self._levels(other)[1] == self._levels(link)[1] else int(self._levels(other)[0] == self._levels(link)[0])

        best = max(
            ((near(other), blame, task_id) for task_id, of in self.blame.items() if task_id in signals for other, blame in of.items()),
            default=None,
        )
        if best is not None:
            return signals[best[2]]
        return max(signals.values(), key=lambda signal: (signal.strength, signal.id), default=None)


def _bare(link: Link) -> tuple[str, str, str]:
    return link.producer, link.consumer, link.argument
