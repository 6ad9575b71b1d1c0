"""The solve check: a task is accepted when a policy solves it in at least one of m fresh attempts.

    [validators]
    names = ["execution", "solvable"]

    [validators.solvable]
    attempts = 4

Execution cannot prove that a request and a solution mean the same; an agent that hears only the request and is scored by the solution is
evidence that they do. Place it behind "execution", which costs no tokens. The policy is the one in training, or a stronger one by name
(its options in `settings`); with the one in training, tasks that it cannot solve yet are lost too, so `attempts` should be large.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from attrs import field, frozen, validators

from coevolve import Attempts, CandidateTask, Environment, Reason, Task, TaskPool, UserError, Verdict, hookimpl


@frozen
class SolvableOptions:
    """Options of the solve check."""

    attempts: int = field(default=4, validator=validators.ge(1))
    """m: rollouts of the candidate."""
    needed: int = field(default=1, validator=validators.ge(1))
    """How many of them must succeed."""
    policy: str = ""
    """Name of the policy that tries; "" is the one in training."""
    settings: dict[str, bool | int | float | str] = field(factory=dict)
    """Options of that policy."""
    temperature: float = field(default=1.0, validator=validators.ge(0.0))
    """Of the sampling; 0 makes all attempts the same."""


class Solvable:
    """Lets a policy try."""

    name: ClassVar[str] = "solvable"
    Options: ClassVar[type] = SolvableOptions

    def __init__(self, options: SolvableOptions) -> None:
        if options.needed > options.attempts:
            raise UserError(f"validators.solvable.needed is {options.needed}, above the {options.attempts} attempts; lower it")
        if options.settings and not options.policy:
            raise UserError("validators.solvable.settings are options of a policy by name; set validators.solvable.policy too")
        self.options = options
        self._attempts: Attempts | None = None

    @property
    def wanted_policy(self) -> tuple[str, Mapping[str, Any]]:
        return self.options.policy, self.options.settings

    def bind_attempts(self, attempts: Attempts) -> None:
        self._attempts = attempts

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        if self._attempts is None:
            raise UserError('validator "solvable" needs bind_attempts before it validates')
        options = self.options
        group = self._attempts(candidate.task, options.attempts, options.temperature)
        solved, tried = sum(trajectory.success for trajectory in group.trajectories), len(group.scores)
        if solved >= options.needed:
            return Verdict(True, "accepted", f"{solved} of {tried} attempts solved it")
        if tried < options.attempts:
            fault = next(trajectory.fault for trajectory in group.trajectories if trajectory.score is None)
            return Verdict(False, Reason.ENVIRONMENT_ERROR, f"{options.attempts - tried} attempts broke off: {fault}")
        return Verdict(False, Reason.NOT_SOLVABLE, f"{solved} of {tried} attempts solved it, {options.needed} needed")


@hookimpl
def coevolve_validators() -> list[type[Solvable]]:
    return [Solvable]
