"""The frontier: the policy in training attempts each candidate, which must be neither too easy nor too hard for it as it is now.

    [validators]
    names = ["minimal", "request", "execution", "frontier"]

    [validators.frontier]
    attempts = 4
    low = 1
    high = 2

    solved > high    refused as too_easy       GRPO learns nothing from a group in which all rollouts score the same,
    solved < low     refused as too_hard       so a task pays where the policy solves it now and then (paper: the boundary signal)
    else             accepted

Order: first the checks that make no attempt, then this validator, then `blind_solve`. A candidate that the checks refuse costs no attempt,
one that is too easy or too hard costs no reader, and a `blind_solve` by the policy in training begins with the attempts made here.

All candidates of a wave that are undecided make their next attempts in one batch, only as many as could decide, and a candidate stops once
no outcome of the attempts that are left would change its verdict: with the settings above three attempts decide where all three are solved.

With `of = "progress"` the sum of the attempts' progress takes the place of the number solved, so the same bounds hold: an attempt that
does half of the task counts half, and progress that is 0 or 1 counts as success does. A rollout without a progress counts its score.
"""

from collections.abc import Sequence
from math import fsum
from typing import ClassVar, Literal

import attrs
from attrs import field, frozen, validators

from coevolve import (
    Attempts,
    CandidateTask,
    Environment,
    PlannedAttempts,
    Reason,
    RolloutGroup,
    Services,
    Task,
    TaskPool,
    UserError,
    Verdict,
    hookimpl,
)

ROUNDING = 1e-9
"""A sum of progress may miss a bound by so much and still reach it."""
ACCEPTED = "accepted"


@frozen
class FrontierOptions:
    """Options of the validator "frontier"."""

    attempts: int = field(default=4, validator=validators.ge(1))
    """n: how many fresh episodes the policy makes at most."""
    low: float = field(default=1, validator=validators.ge(0))
    """Least number of attempts that must be solved; fewer are too hard. 0: no candidate is too hard."""
    high: float = field(default=2, validator=validators.ge(0))
    """Largest number of attempts that may be solved; more are too easy. The same as `attempts`: no candidate is too easy."""
    of: Literal["success", "progress"] = "success"
    """What the bounds are compared with: the number of solved attempts, or the sum of the attempts' progress, in [0, attempts]."""
    temperature: float = field(default=1.0, validator=validators.ge(0.0))
    """Sampling temperature of the attempts. At 0 all attempts are the same."""


def decision(solved: float, left: int, low: float, high: float) -> str | None:
    """`Reason.TOO_EASY`, `Reason.TOO_HARD` or "accepted" where `left` more attempts cannot change it; None while they can.

    >>> [str(decision(solved, 1, low=1, high=2)) for solved in range(4)]
    ['None', 'accepted', 'None', 'too_easy']
    """
    if solved > high + ROUNDING:
        return Reason.TOO_EASY
    if solved + left < low - ROUNDING:
        return Reason.TOO_HARD
    return ACCEPTED if solved >= low - ROUNDING and solved + left <= high + ROUNDING else None


def attempts_needed(solved: float, left: int, low: float, high: float, broken: int = 0) -> int:
    """The smallest number of further attempts, of `left`, that may decide; 0 where it is decided, or where not even all of them can.

    `broken` attempts had no score, so they might have been solved or not.
    """
    if decision(solved, left + broken, low, high):
        return 0
    for count in range(1, left + 1):
        outcomes = (0, count, min(count, max(0, low - solved)))  # the last is the one that may be accepted soonest
        if any(decision(solved + more, left - count + broken, low, high) for more in outcomes):
            return count
    return 0


class Frontier:
    """Accepts a candidate that the policy in training solves now and then."""

    name: ClassVar[str] = "frontier"
    Options: ClassVar[type] = FrontierOptions

    def __init__(self, options: FrontierOptions) -> None:
        if options.low > options.high:
            raise UserError(f"validators.frontier.low is {options.low:g}, above high, which is {options.high:g}; no candidate could pass")
        if options.high > options.attempts:
            raise UserError(f"validators.frontier.high is {options.high:g}, above the {options.attempts} attempts; lower it")
        self.options = options
        self._attempts: Attempts | None = None

    def bind_services(self, services: Services) -> None:
        """Receive the attempts of the policy in training."""
        self._attempts = services.attempts("", {})

    def attempts_at_most(self) -> PlannedAttempts:
        """Those of a candidate that stays undecided to the end."""
        return PlannedAttempts("", self.options.attempts, self.options.temperature)

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        return self.validate_all([candidate], environment, pool, held_out)[0]

    def validate_all(
        self, candidates: Sequence[CandidateTask], environment: Environment, pool: TaskPool, held_out: Sequence[Task]
    ) -> list[Verdict]:
        """Verdicts for all candidates. Those that are undecided have made equally many attempts, and make the next ones in one batch."""
        if self._attempts is None:
            raise UserError('validator "frontier" needs bind_services before it validates')
        groups = [RolloutGroup(candidate.task, candidate.task.origin.iteration, ()) for candidate in candidates]
        first = 0
        while needed := {n: count for n, group in enumerate(groups) if (count := self._needed(group))}:
            count = min(needed.values())
            made = self._attempts([groups[n].task for n in needed], count, self.options.temperature, first)
            for n, more in zip(needed, made, strict=True):
                groups[n] = attrs.evolve(groups[n], trajectories=(*groups[n].trajectories, *more.trajectories))
            first += count
        return [self._verdict(group) for group in groups]

    def _solved(self, group: RolloutGroup) -> float:
        scored = [t for t in group.trajectories if t.score is not None]
        if self.options.of == "success":
            return sum(t.success for t in scored)
        return fsum(t.score or 0.0 if t.progress is None else t.progress for t in scored)

    def _needed(self, group: RolloutGroup) -> int:
        options, tried = self.options, len(group.trajectories)
        broken = tried - len(group.scores)
        return attempts_needed(self._solved(group), options.attempts - tried, options.low, options.high, broken)

    def _verdict(self, group: RolloutGroup) -> Verdict:
        options, solved, scored = self.options, self._solved(group), len(group.scores)
        attempts = group if group.trajectories else None
        of = f"{solved:g} of {scored} attempts solved it" if options.of == "success" else f"progress {solved:.2f} in {scored} attempts"
        match decision(solved, options.attempts - scored, options.low, options.high):
            case Reason.TOO_EASY:
                return Verdict(False, Reason.TOO_EASY, f"{of}, at most {options.high:g} of {options.attempts} may be", attempts=attempts)
            case Reason.TOO_HARD:
                return Verdict(False, Reason.TOO_HARD, f"{of}, at least {options.low:g} of {options.attempts} must be", attempts=attempts)
            case None:
                broken = [t.fault for t in group.trajectories if t.score is None]
                return Verdict(False, Reason.ENVIRONMENT_ERROR, f"{len(broken)} attempts broke off: {broken[0]}", attempts=attempts)
        return Verdict(True, ACCEPTED, of, attempts=attempts)


@hookimpl
def coevolve_validators() -> list[type[Frontier]]:
    return [Frontier]
