"""Shorten solutions: remove the calls that nobody needs, from the last to the first, until every call is needed.

    [validators]
    names = ["minimal", "execution"]

A call is removed when the task's scorer accepts the solution without it, the world ends in the same state, and no later call takes a
value that only this call's result holds. The last condition keeps lookups: a scorer that sees only the end state accepts an agent that
guesses the value, but an agent can meet the request only by looking it up. Values are traced through the observations, so a lookup also
stays when a later call takes an equal value by chance. A scorer that demands each result (BFCL) keeps every call.

The environment makes the shorter task (`compose`), with the same id, query and origin. Only solutions that fail to execute are refused.
"""

from collections.abc import Container, Sequence
from typing import ClassVar

import attrs
from attrs import field, frozen, validators

from coevolve import Action, CandidateTask, Environment, Reason, Refusal, Replay, Step, Task, TaskPool, Verdict, hookimpl, play

from .grounding import SpokenText, literals, mode_arguments
from .replays import failure


@frozen
class MinimalOptions:
    """Options of the validator "minimal"."""

    max_completions: int = field(default=200, validator=validators.ge(1))
    """Most completions of one replay. A longer solution is refused: it could not be checked to its end."""
    max_replays: int = field(default=200, validator=validators.ge(1))
    """Most replays of one candidate, which bounds the time. Calls removed until then stay removed."""


class Minimal:
    """Accepts a candidate whose solution executes, with the useless calls removed."""

    name: ClassVar[str] = "minimal"
    Options: ClassVar[type] = MinimalOptions

    def __init__(self, options: MinimalOptions) -> None:
        self.options = options

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        try:
            return self._minimise(candidate.task, environment)
        except Refusal as refusal:
            return refusal.verdict
        except Exception as error:  # noqa: BLE001 - whatever the environment raises is an infrastructure fault, never an acceptance
            return Verdict(False, Reason.ENVIRONMENT_ERROR, f"{type(error).__name__}: {error}")

    def _minimise(self, task: Task, environment: Environment) -> Verdict:
        if not task.solution:
            return Verdict(True, "accepted", "it has no solution to shorten")
        right = self._play(environment, task, environment.script(task.solution))
        if problem := failure(right, len(task.solution)):
            raise Refusal(Reason.CALL_FAILED, problem)
        if not right.solved:
            return Verdict(True, "accepted", "its scorer does not accept its solution")
        kept = self._without_useless(environment, task, right)
        if len(kept) == len(task.solution):
            return Verdict(True, "accepted")
        shorter = self._composed(environment, task, right, kept)
        if shorter is None:
            return Verdict(True, "accepted", f"{len(kept)} of {len(task.solution)} calls would do, which the environment does not word so")
        return Verdict(True, "accepted", f"{len(kept)} of {len(task.solution)} calls do", shorter)

    def _without_useless(self, environment: Environment, task: Task, right: Replay) -> list[Action]:
        kept, steps, texts = list(task.solution), right.own_steps, environment.script(task.solution)
        request, left, index = SpokenText(), self.options.max_replays, len(kept) - 1
        request.add(task.query)
        modes = mode_arguments(environment)
        while index >= 0 and left > 0:
            rest = [*kept[:index], *kept[index + 1 :]]
            if rest and not _supplies(steps, index, request, modes) and (fewer := environment.script(rest)) != texts:
                left -= 1
                tried = self._play(environment, task, fewer)
                if tried.solved and tried.state == right.state and failure(tried, len(rest)) is None:
                    kept, steps, texts, index = rest, tried.own_steps, fewer, len(rest)
            index -= 1
        return kept

    def _composed(self, environment: Environment, task: Task, right: Replay, kept: Sequence[Action]) -> Task | None:
        """The task with the kept calls only; None when the environment composes another task."""
        texts = environment.script(kept)
        composed = environment.compose(task, self._play(environment, task, texts).steps, task.id, task.query)
        if composed is None or composed.query != task.query or environment.script(composed.solution) != texts:
            return None
        again = self._play(environment, composed, texts)
        if not again.solved or again.state != right.state:
            return None
        return attrs.evolve(composed, id=task.id, intent=task.intent or composed.intent, origin=task.origin)

    def _play(self, environment: Environment, task: Task, texts: Sequence[str]) -> Replay:
        return play(environment, task, texts[: self.options.max_completions])


def _supplies(steps: Sequence[Step], index: int, request: SpokenText, modes: Container[tuple[str, str]]) -> bool:
    """Whether a later call takes a value that is in this step's observation, but neither in the request nor in that of an equal call."""
    step, observed = steps[index], SpokenText()
    observed.add(step.observation)
    for place, later in enumerate(steps[index + 1 :], index + 1):
        again = any(
            other.action == step.action and other.observation == step.observation
            for number, other in enumerate(steps[:place])
            if number != index
        )
        taken = {name: value for name, value in later.action.arguments.items() if (later.action.name, name) not in modes}
        if not again and any(observed.contains(value) and not request.contains(value) for value in literals(taken)):
            return True
    return False


@hookimpl
def coevolve_validators() -> list[type[Minimal]]:
    return [Minimal]
