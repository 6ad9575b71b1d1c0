"""The blind solve: a policy that sees only the request and the tools attempts the task, and must end where the scorer accepts.

    [validators]
    names = ["minimal", "request", "execution", "blind_solve"]

    [validators.blind_solve]
    policy = "teacher"
    attempts = 3
    needed = 2

Execution cannot prove that a request and its solution mean the same. It is evidence that they do when a reader who knows neither the
solution nor the exploration behind it does the same thing. It costs a model's tokens; validators/frontier.py has the order of the two.

By default two of three attempts must agree with the solution. One success would admit a request with two readings, because one reader in
two meets the right one by chance. Success in all attempts would lose good tasks to a slip of the reader. A reader that succeeds in 95 of
100 attempts at a clear request passes 99 of 100 such requests so, and one that guesses one of two readings passes every second request.
The policy in training (`policy = ""`) also fails where it is not able enough yet. It needs more attempts, and one success must do
(`attempts = 8`, `needed = 1`).
"""

import json
from collections.abc import Sequence
from typing import ClassVar

import attrs
from attrs import field, frozen, validators

from coevolve import (
    TEACHER,
    Action,
    Attempts,
    CandidateTask,
    Environment,
    PlannedAttempts,
    PlannedRun,
    Reason,
    RolloutGroup,
    Services,
    Task,
    TaskPool,
    Trajectory,
    UserError,
    Verdict,
    hookimpl,
    one_line,
)

MOST = 240
"""Most characters of one turn's calls in a verdict."""
LONGEST = 1_600
"""Most characters of a verdict's detail."""


@frozen
class BlindSolveOptions:
    """Options of the validator "blind_solve"."""

    attempts: int = field(default=3, validator=validators.ge(1))
    """n: how many fresh episodes the policy makes."""
    needed: int = field(default=2, validator=validators.ge(1))
    """k: how many of them must be solved."""
    policy: str = ""
    """Who attempts: "teacher" for the model behind the run's synthesizer, "" for the policy in training, or another policy by name."""
    settings: dict[str, bool | int | float | str] = field(factory=dict)
    """Options of the policy that `policy` names; for "teacher" they replace its own."""
    temperature: float = field(default=1.0, validator=validators.ge(0.0))
    """Sampling temperature of the attempts. At 0 all attempts are the same, so that one would be enough."""


class BlindSolve:
    """Accepts a candidate that a reader of its request solves often enough."""

    name: ClassVar[str] = "blind_solve"
    Options: ClassVar[type] = BlindSolveOptions

    def __init__(self, options: BlindSolveOptions) -> None:
        if options.needed > options.attempts:
            raise UserError(f"validators.blind_solve.needed is {options.needed}, above the {options.attempts} attempts; lower it")
        if options.settings and not options.policy:
            raise UserError("validators.blind_solve.settings are the options of a named policy; set validators.blind_solve.policy too")
        self.options = options
        self._attempts: Attempts | None = None

    def bind_services(self, services: Services) -> None:
        """Receive the attempts of the policy that the options name. UserError for "teacher" in a run without one."""
        self._attempts = services.attempts(self.options.policy, self.options.settings)

    def attempts_at_most(self) -> PlannedAttempts:
        """All attempts at a candidate."""
        return PlannedAttempts(self.options.policy, self.options.attempts, self.options.temperature)

    def estimate(self, plan: PlannedRun) -> list[str]:
        """How many attempts a policy other than the one in training makes at most; a repaired candidate is attempted again."""
        if not plan.judged or not self.options.policy:
            return []
        who = "the teacher" if self.options.policy == TEACHER else "a policy"
        more = " (in calls of the teacher's endpoint that its estimate leaves out)" if self.options.policy == TEACHER else ""
        return [f"attempts by {who} at candidates: at most {plan.judged * self.options.attempts:,}{more}"]

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        return self.validate_all([candidate], environment, pool, held_out)[0]

    def validate_all(
        self, candidates: Sequence[CandidateTask], environment: Environment, pool: TaskPool, held_out: Sequence[Task]
    ) -> list[Verdict]:
        """Verdicts for all candidates, whose attempts are one batch."""
        if self._attempts is None:
            raise UserError('validator "blind_solve" needs bind_services before it validates')
        groups = self._attempts([candidate.task for candidate in candidates], self.options.attempts, self.options.temperature)
        return [attrs.evolve(self._verdict(group), attempts=None if self.options.policy else group) for group in groups]

    def _verdict(self, group: RolloutGroup) -> Verdict:
        options = self.options
        solved, tried = sum(trajectory.success for trajectory in group.trajectories), len(group.scores)
        count = f"{solved} of {tried} attempts solved it"
        if solved >= options.needed:
            return Verdict(True, "accepted", count)
        if tried < options.attempts and solved + options.attempts - tried >= options.needed:
            fault = next(trajectory.fault for trajectory in group.trajectories if trajectory.score is None)
            return Verdict(False, Reason.ENVIRONMENT_ERROR, f"{options.attempts - tried} attempts broke off: {fault}")
        failed = next(trajectory for trajectory in group.trajectories if trajectory.score is not None and not trajectory.success)
        detail = f"{count}, {options.needed} needed. {side_by_side(group.task, failed)}"
        return Verdict(False, Reason.MISUNDERSTOOD, detail if len(detail) <= LONGEST else f"{detail[: LONGEST - 3]}...")


def side_by_side(task: Task, trajectory: Trajectory) -> str:
    """The wanted and the made calls of each turn in which they differ."""
    made = [step.action for step in trajectory.steps if not step.inner]
    parts = []
    for turn in sorted({action.turn for action in (*task.solution, *made)}):
        wanted = [_call(action) for action in task.solution if action.turn == turn]
        found = [_call(action) for action in made if action.turn == turn]
        if wanted != found:
            parts.append(f"Turn {turn + 1}: wanted {_joined(wanted)}; made {_joined(found)}.")
    if trajectory.fault:
        parts.append(f"It ended with: {one_line(trajectory.fault, 160)}.")
    return " ".join(parts) or "The same calls were made, and the scorer refused the end."


def _call(action: Action) -> str:
    given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False, default=str)}" for name, value in action.arguments.items())
    return f"{action.name}({given})"


def _joined(calls: Sequence[str]) -> str:
    return one_line("; ".join(calls), MOST) or "nothing"


@hookimpl
def coevolve_validators() -> list[type[BlindSolve]]:
    return [BlindSolve]
