"""Explore one episode through the environment's contract: make calls, undo those that fail, and count every call to the environment."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
from attrs import define, field

from coevolve import Action, Environment, Episode, PlannedRun, Step, Task, perform

from .catalog import Catalog, same_call


class BudgetExhausted(Exception):
    """The evolution has no environment calls left."""


@define
class CallBudget:
    """How many environment calls (opened episodes, steps, compositions) are left."""

    left: int

    def spend(self, calls: int = 1) -> None:
        """Count `calls` before they are made; raises BudgetExhausted when fewer are left."""
        if self.left < calls:
            raise BudgetExhausted
        self.left -= calls


def calls_estimate(name: str, plan: PlannedRun, max_calls: int, repair_calls: int) -> list[str]:
    """The line of a run's plan with the upper bound on a synthesizer's environment calls; none where it is never asked."""
    more = f", and {repair_calls:,} for each repair of a refused candidate" if repair_calls else ""
    calls = plan.syntheses * max_calls
    return [f"exploration by {name}: at most {calls:,} environment calls{more}"] if plan.syntheses else []


@define
class Exploration:
    """One open episode that is explored. `steps` are the calls that succeeded, each with the number of its user turn."""

    environment: Environment
    catalog: Catalog
    episode: Episode
    start: Task
    budget: CallBudget
    turn: int = 0
    steps: list[Step] = field(factory=list)
    _before: Any = None
    """The snapshot before the text that `play_start` played last."""

    def try_call(self, name: str, arguments: dict[str, Any]) -> Step | None:
        """Make one call. A call that fails or ends the episode is undone, and None is returned."""
        self.budget.spend()
        before = self.episode.snapshot()
        arguments = {argument.name: arguments[argument.name] for argument in self.catalog.arguments[name] if argument.name in arguments}
        # The action has no turn number here: `script` would first move on to that turn, but the episode is in it already.
        seen = self.episode.step(self.environment.script([Action(name, arguments)])[0])
        if seen.done or seen.fault or len(seen.steps) != 1 or seen.steps[0].error is not None:
            self.episode.restore(before)
            return None
        step = attrs.evolve(seen.steps[0], action=attrs.evolve(seen.steps[0].action, turn=self.turn))
        self.steps.append(step)
        return step

    def has_call(self, name: str, arguments: dict[str, Any]) -> bool:
        """Whether one of the steps is this call with these arguments."""
        return any(same_call(step.action, Action(name, arguments)) for step in self.steps)

    def play_start(self, count: int) -> bool:
        """Make the first `count` calls of the start task's solution; False when one of them fails."""
        return self._play(self.start.solution[:count])

    def play(self, actions: Sequence[Action]) -> bool:
        """Make all these calls, in the turns that they name; False when one fails or the episode ends before the last one."""
        before = len(self.steps)
        return self._play(actions) and len(self.steps) == before + len(actions)

    def _play(self, actions: Sequence[Action]) -> bool:
        before = len(self.steps)
        # Their turns count from the episode's beginning. Texts that only lead to the present turn were played before.
        texts = self.environment.script([attrs.evolve(a, turn=max(0, a.turn - self.turn)) for a in actions]) if actions else ()
        for seen in perform(self.episode, self._paid(texts)):
            if seen.done:
                self.episode.restore(self._before)
                break
            for step in seen.steps:
                if step.error is not None:
                    return False
                turn = actions[min(len(self.steps) - before, len(actions) - 1)].turn
                self.steps.append(attrs.evolve(step, action=attrs.evolve(step.action, turn=turn)))
                self.turn = turn
            if len(self.steps) - before >= len(actions):
                break
        return True

    def _paid(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield each text after its call is counted and a snapshot is taken."""
        for text in texts:
            self.budget.spend()
            self._before = self.episode.snapshot()
            yield text

    def checkpoint(self) -> tuple[Any, int, int]:
        """The present point of the exploration, for `roll_back`."""
        return self.episode.snapshot(), len(self.steps), self.turn

    def roll_back(self, checkpoint: tuple[Any, int, int]) -> None:
        """Undo every call since `checkpoint`."""
        snapshot, count, self.turn = checkpoint
        self.episode.restore(snapshot)
        del self.steps[count:]


@contextmanager
def open_exploration(environment: Environment, catalog: Catalog, start: Task, budget: CallBudget) -> Iterator[Exploration]:
    """Open an episode of `start` for exploration, and close it at the end. Opening costs one call of the budget."""
    budget.spend()
    with environment.open(start) as episode:
        yield Exploration(environment, catalog, episode, start, budget)
