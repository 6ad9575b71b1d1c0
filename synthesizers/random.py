"""Random exploration without signals: the baseline that a guided explorer has to beat (paper, arm "+ random exploration").

A plain random walk over valid calls finds requests of depth one, whatever its length, and so equals a static pool where the weakness lies
in compositions. The fair baseline is matched in depth: each candidate copies the length of a pool solution drawn at random, and which of
its calls need an earlier one. Nothing else is taken from the pool, and nothing from the signals.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import attrs
from attrs import field, frozen, validators

from coevolve import CandidateTask, Environment, ExplorationContext, Feedback, Origin, Synthesizer, Task, hookimpl

from .catalog import Argument, Catalog, catalog_of
from .exploration import Budget, Exhausted, Expedition, Values, expedition, results
from .links import Solved, Survey


@frozen
class RandomOptions:
    """Options of random exploration."""

    depth_matched: bool = True
    """Whether candidates have the lengths and dependences of the pool's solutions; false is the plain random walk."""
    max_calls: int = field(default=4000, validator=validators.ge(1))
    """Most environment calls (episodes, steps, compositions) for one evolution."""
    tries: int = field(default=12, validator=validators.ge(1))
    """Most calls tried for one step of a walk before the walk is given up."""
    prefix: float = field(default=0.75, validator=[validators.ge(0.0), validators.le(1.0)])
    """Where tasks have several user turns: how often a walk goes on from a part of the start task's solution (else from its beginning)."""
    optional: float = field(default=0.2, validator=[validators.ge(0.0), validators.le(1.0)])
    """How often an argument that is not required is given all the same."""


class RandomExploration:
    """Walks over valid calls from the worlds of pool tasks."""

    name: ClassVar[str] = "random"
    Options: ClassVar[type] = RandomOptions

    def __init__(self, options: RandomOptions) -> None:
        self.options = options
        self._survey = Survey()

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        catalog = catalog_of(environment.describe())
        solved = self._survey.solved(feedback.pool, environment, catalog)
        if not solved or not catalog.tools:
            return
        walk = _Walk(self.options, environment, catalog, Values(catalog, solved), rng)
        budget = Budget(self.options.max_calls)
        seen = {task.query for task in feedback.pool}
        made = 0
        try:
            while True:
                start, shape = rng.choice(solved), rng.choice(solved)
                task_id = f"{self.name}-{feedback.iteration}-{made}"
                candidate = self._candidate(walk, start, shape, budget, task_id, feedback.iteration)
                if candidate is not None and candidate.task.query not in seen:
                    seen.add(candidate.task.query)
                    made += 1
                    yield candidate
        except Exhausted:
            return

    def _candidate(self, walk: "_Walk", start: Solved, shape: Solved, budget: Budget, task_id: str, iteration: int) -> CandidateTask | None:
        with expedition(walk.environment, walk.catalog, start.task, budget) as trip:
            if not walk.go(trip, shape):
                return None
            budget.spend()
            task = walk.environment.compose(start.task, trip.steps, task_id)
        if task is None:
            return None
        detail = {"depth_matched": self.options.depth_matched, "calls": len(trip.steps)}
        origin = Origin(self.name, iteration, None, (start.task.id,), detail)
        context = ExplorationContext(None, "none: exploration at random")
        return CandidateTask(attrs.evolve(task, id=task_id, origin=origin), context, tuple(trip.steps))


@frozen
class _Walk:
    options: RandomOptions
    environment: Environment
    catalog: Catalog
    values: Values
    rng: random.Random

    def go(self, trip: Expedition, shape: Solved) -> bool:
        """Walk until the steps have the shape's length; False when the walk is stuck before."""
        prefix = self._prefix(trip.start)
        if prefix and not trip.follow(prefix):
            return False
        if self.options.depth_matched:
            needs: Sequence[bool | None] = [shape.depends(index) for index in range(len(shape.steps))]
        else:
            needs = [None] * self.rng.randint(1, max(len(one.steps) for one in self.values.solved))
        # A walk from a prefix adds what is left of the shape, and one call at least.
        rest = needs[min(len(trip.steps), len(needs) - 1) :]
        return all(self._step(trip, needed and bool(trip.steps)) for needed in rest)

    def _prefix(self, start: Task) -> int:
        several = any(action.turn for one in self.values.solved for action in one.task.solution)
        if not several or self.rng.random() >= self.options.prefix:
            return 0
        return self.rng.randint(1, len(start.solution))

    def _step(self, trip: Expedition, needed: bool | None) -> bool:
        """One call that succeeds. `needed`: whether it takes a value from an earlier result; None leaves that to chance."""
        names = list(self.catalog.tools)
        if needed:
            # Only tools that take something found so far, those that take the newest find first in line.
            for newest in (1, None):
                fitting = [name for name in names if self._linkable(trip, name, newest)]
                if fitting:
                    names = fitting
                    break
            else:
                return False
        for _ in range(self.options.tries):
            name = self.rng.choice(names)
            arguments = self._arguments(trip, name, needed)
            if arguments is None or trip.did(name, arguments):
                continue
            if trip.attempt(name, arguments) is not None:
                return True
        return False

    def _linkable(self, trip: Expedition, name: str, newest: int | None) -> list[Argument]:
        arguments = self.catalog.arguments[name]
        return [a for a in arguments if a.required and not a.choices and results(trip.steps, self.catalog, name, a, newest)]

    def _arguments(self, trip: Expedition, name: str, needed: bool | None) -> dict[str, Any] | None:
        given: dict[str, Any] = {}
        linked = None
        if needed:
            newest = 1 if self._linkable(trip, name, 1) else None
            linked = self.rng.choice(self._linkable(trip, name, newest))
            given[linked.name] = self.rng.choice(results(trip.steps, self.catalog, name, linked, newest)).value
        for argument in self.catalog.arguments[name]:
            if argument is linked or (not argument.required and self.rng.random() >= self.options.optional):
                continue
            value = self._value(trip, name, argument, needed)
            if value is not None:
                given[argument.name] = value
            elif argument.required:
                return None
        return given

    def _value(self, trip: Expedition, name: str, argument: Argument, needed: bool | None) -> Any:
        found = [] if needed is False or argument.choices else results(trip.steps, self.catalog, name, argument)
        if bool in argument.types and not argument.choices:
            return self.rng.random() < 0.5
        if found and self.rng.random() < 0.5:
            return self.rng.choice(found).value
        drawn = self.values.draw(trip.start, name, argument, self.rng, beyond=False)
        return drawn if drawn is not None or not found else self.rng.choice(found).value


@hookimpl
def coevolve_synthesizers() -> list[type[Synthesizer]]:
    return [RandomExploration]
