"""Repair a refused chain of calls (repairs.py). Each repair plays calls of the refused candidate again in a fresh episode."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from attrs import define, field

from coevolve import Action, CandidateTask, Step, Task

from .argument_values import ArgumentValues
from .call_exploration import Exploration, open_exploration
from .catalog import same_call
from .chains import Chains
from .links import Link, LinkUse, SolvedTask, link_uses
from .refused import DROPPABLE, NOT_EXECUTABLE, TOO_LONG, TOO_SHORT, RefusedCandidate, named_call

TRIES = 6
"""Links that are tried as the next one after the same calls."""
TWICE = 2
"""How many of them are followed by a second link."""
WORLDS = 4
"""Worlds in which the same kind of calls is tried with other values."""
ADDED = 2
"""Most links that are added."""


@define
class LinkRepair:
    """The repair of one candidate that was explored call by call."""

    refused: RefusedCandidate
    chains: Chains = field(init=False)
    links: list[Link] = field(init=False)
    """Every link that may be added."""

    def __attrs_post_init__(self) -> None:
        one, known = self.refused, self.refused.known
        self.chains = Chains(one.catalog, ArgumentValues(one.catalog, known.solved), one.rng, known.solved)
        self.links = list(self.chains.candidate_links())

    def made(self) -> CandidateTask | None:
        """The repaired candidate; None when there is none. Raises BudgetExhausted."""
        reason = self.refused.verdict.reason
        kinds: list[tuple[frozenset[str], Callable[[], CandidateTask | None]]] = [
            (DROPPABLE, self.without),
            (TOO_SHORT, self.longer),
            (TOO_LONG, self.shorter),
            (NOT_EXECUTABLE, self.again),
        ]
        return next((make() for reasons, make in kinds if reason in reasons), None)

    def without(self) -> CandidateTask | None:
        """The calls without the one that the verdict names, and without others that the scorer does not miss then."""
        refused, actions = self.refused, self.refused.actions
        named = named_call(refused.verdict, refused.candidate.task.solution)
        dropped = next((n for n, action in enumerate(actions) if named is not None and same_call(action, named)), None)
        if dropped is None:
            return None
        for kept in self._rests(dropped):
            while kept:
                found = self._played([actions[n] for n in kept])
                if found is None:
                    break
                task, steps = found
                spare = refused.spare(task, steps)
                if spare is None:
                    return refused.repaired(task, steps)
                kept = [n for place, n in enumerate(kept) if place != spare]
        return None

    def _rests(self, dropped: int) -> Iterator[list[int]]:
        """The indices without a call: all others, then all others but those that take a value from it."""
        every = range(len(self.refused.actions))
        yield [n for n in every if n != dropped]
        gone = {dropped}
        for use in sorted(self._uses(), key=lambda use: use.target):
            if use.source in gone:
                gone.add(use.target)
        yield [n for n in every if n not in gone]

    def longer(self) -> CandidateTask | None:
        """The calls again, then one or two links more. Where nothing can follow, the last calls give way to a longer end."""
        actions = self.refused.actions
        for kept in range(len(actions), 0, -1):
            with self._open(self.refused.start) as exploration:
                if not exploration.play(actions[:kept]):
                    continue
                if (found := self._extended(exploration, ADDED)) is not None:
                    return found
        return None

    def _extended(self, exploration: Exploration, most: int, links: tuple[Link, ...] = ()) -> CandidateTask | None:
        """The shortest extension by at most `most` links that makes a longer task; what was added is undone when there is none."""
        refused, checkpoint = self.refused, exploration.checkpoint()
        tried: list[tuple[Link, list[Step]]] = []
        for link in self._next_links(exploration):
            before = len(exploration.steps)
            if not self._follow(exploration, link):
                continue
            task = refused.composed(exploration.start, exploration.steps)
            if task is not None and refused.length(task) > refused.length(refused.candidate.task):
                return refused.repaired(task, exploration.steps, (*links, link))
            tried.append((link, exploration.steps[before:]))
            exploration.roll_back(checkpoint)
        for link, added in tried[:TWICE] if most > 1 else ():
            if exploration.play([step.action for step in added]):
                found = self._extended(exploration, most - 1, (*links, link))
                if found is not None:
                    return found
            exploration.roll_back(checkpoint)
        return None

    def _next_links(self, exploration: Exploration) -> list[Link]:
        """Some links to follow, drawn by weight: those that take the newest call's result; any, where there is none."""
        onward = [link for link in self.links if self._goes_on(exploration, link)]
        others = [link for link in self.links if not self._goes_on(exploration, link)]
        return self._drawn(onward, TRIES) or self._drawn(others, TRIES)

    def _goes_on(self, exploration: Exploration, link: Link) -> bool:
        """Whether a link takes the result of the newest call."""
        last = exploration.steps[-1].action
        return (link.producer, link.modes) == (last.name, self.refused.catalog.modes(last.name, last.arguments))

    def _drawn(self, links: Sequence[Link], count: int) -> list[Link]:
        """Some of the links without replacement, heavy ones first by chance (Efraimidis and Spirakis, 2006)."""
        rng, weights = self.refused.rng, self.refused.known.weights
        keyed = [(rng.expovariate(max(weights(link), 1e-9)), number, link) for number, link in enumerate(links)]
        return [link for _, _, link in sorted(keyed, key=lambda one: one[:2])[:count]]

    def _follow(self, exploration: Exploration, link: Link) -> bool:
        """Carry the link out, from the last call's result where it is that link's producer. False when a call fails; all is undone then."""
        if self._goes_on(exploration, link):
            return self.chains.follow(exploration, exploration.steps[-1], link) is not None
        return self.chains.build(exploration, link, 0) is not None

    def shorter(self) -> CandidateTask | None:
        """The shortest part of the calls that holds a target link (any link where it has none) and makes a task."""
        refused, actions = self.refused, self.refused.actions
        for kept, needed in self._parts():
            found = self._played([actions[n] for n in kept])
            if found is None or refused.length(found[0]) >= refused.length(refused.candidate.task):
                continue
            if any(same_call(actions[needed], action) for action in found[0].solution):
                return refused.repaired(*found)
        return None

    def _parts(self) -> list[tuple[tuple[int, ...], int]]:
        """Parts of the calls, the shortest first, each with a call that must stay in it."""
        uses, count = self._uses(), len(self.refused.actions)
        targets = [use for use in uses if str(use.link) in self.refused.targets] or uses
        parts: dict[tuple[int, ...], int] = {}

        def closure(index: int) -> set[int]:
            return {index}.union(*(closure(use.source) for use in uses if use.target == index))

        for use in targets:
            for part in (closure(use.target), range(use.target + 1), range(use.source, use.target + 1), range(use.source, count)):
                parts.setdefault(tuple(sorted(part)), use.target)
        if not targets:
            parts = {tuple(sorted(closure(index))): index for index in range(count)}
        return sorted((one for one in parts.items() if len(one[0]) < count), key=lambda one: (len(one[0]), one[0]))

    def again(self) -> CandidateTask | None:
        """The same kind of calls with other values, in this world and in others; failing that, another chain around a target link."""
        refused, known = self.refused, self.refused.known
        steps = tuple(refused.steps)
        shown = SolvedTask(refused.candidate.task, steps, tuple(self._uses()))
        worlds = [refused.start, *(refused.rng.choice(known.solved).task for _ in range(WORLDS - 1))]
        targets = list(dict.fromkeys(use.link for use in self._uses() if str(use.link) in refused.targets))
        for start in worlds:
            with self._open(start) as exploration:
                if steps and self.chains.retrace(exploration, shown) and (found := self._fresh(exploration, start)):
                    return found
        for start in worlds if targets else ():
            with self._open(start) as exploration:
                if self.chains.build(exploration, targets[0], len(steps)) and (found := self._fresh(exploration, start)):
                    return found
        return None

    def _fresh(self, exploration: Exploration, start: Task) -> CandidateTask | None:
        task = self.refused.composed(start, exploration.steps)
        if task is None or task.solution == self.refused.candidate.task.solution:
            return None
        return self.refused.repaired(task, exploration.steps, start=start)

    def _uses(self) -> list[LinkUse]:
        return link_uses(self.refused.steps, self.refused.catalog)

    def _played(self, actions: Sequence[Action]) -> tuple[Task, list[Step]] | None:
        """A task of these calls, and their steps; None when one fails or they make no task."""
        with self._open(self.refused.start) as exploration:
            task = self.refused.composed(exploration.start, exploration.steps) if exploration.play(actions) else None
            return None if task is None else (task, exploration.steps)

    def _open(self, start: Task) -> AbstractContextManager[Exploration]:
        return open_exploration(self.refused.environment, self.refused.catalog, start, self.refused.budget)
