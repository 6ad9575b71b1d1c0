"""The solve check: accept a task when a policy solves it in at least one of m fresh attempts.

    [validators]
    names = ["execution", "solvable"]

    [validators.solvable]
    attempts = 4

Execution cannot prove that a request and its solution mean the same. It is evidence that they do when an agent reads only the request and
satisfies the scorer. Place this validator after "execution", which costs no tokens. The policy is the one in training, or a stronger one by
name. The policy in training also loses the tasks that it cannot solve yet, so `attempts` should then be large.
"""

from collections.abc import Sequence
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import Attempts, CandidateTask, Environment, PlannedRun, Reason, Services, Task, TaskPool, UserError, Verdict, hookimpl


@frozen
class SolvableOptions:
    """Options of the validator "solvable"."""

    attempts: int = field(default=4, validator=validators.ge(1))
    """m: how many rollouts of the candidate are made. More cost more tokens and lose fewer hard tasks."""
    needed: int = field(default=1, validator=validators.ge(1))
    """How many of the attempts must succeed. One success already shows that the request leads to the solution."""
    policy: str = ""
    """Name of the policy that makes the attempts; "" is the one in training, which needs no second model."""
    settings: dict[str, bool | int | float | str] = field(factory=dict)
    """Options of the policy that `policy` names."""
    temperature: float = field(default=1.0, validator=validators.ge(0.0))
    """Sampling temperature of the attempts. At 0 all attempts are the same, so that one would be enough."""


class Solvable:
    """Accepts a candidate that a policy solves often enough."""

    name: ClassVar[str] = "solvable"
    Options: ClassVar[type] = SolvableOptions

    def __init__(self, options: SolvableOptions) -> None:
        if options.needed > options.attempts:
            raise UserError(f"validators.solvable.needed is {options.needed}, above the {options.attempts} attempts; lower it")
        if options.settings and not options.policy:
            raise UserError("validators.solvable.settings are the options of a named policy; set validators.solvable.policy too")
        self.options = options
        self._attempts: Attempts | None = None

    def bind_services(self, services: Services) -> None:
        """Receive the attempts of the policy that the options name."""
        self._attempts = services.attempts(self.options.policy, self.options.settings)

    def estimate(self, plan: PlannedRun) -> list[str]:
        """How many attempts the policy makes at most."""
        return [f"attempts by a policy at candidates: at most {plan.candidates * self.options.attempts:,}"] if plan.candidates else []

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        if self._attempts is None:
            raise UserError('validator "solvable" needs bind_services before it validates')
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
