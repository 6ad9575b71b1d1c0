"""The pool's door: judges the candidates of a wave, as many as the evolution still wants, with one validator after the other.

    validators that judge one by one     one candidate after the other, each beside the pool and those of the wave that passed so far
    ValidatesTogether                    all that are left at once: their attempts are one batch of rollouts

So a validator without attempts judges as if candidates came one at a time, and a candidate that cannot be executed costs no attempt.
"""

from collections.abc import Sequence
from itertools import groupby

import attrs
from attrs import frozen

from .contracts import Validator
from .errors import InfrastructureFault
from .isolation.guard import Guard
from .model import CandidateTask, RolloutGroup, Task, TaskPool, Verdict
from .optional import ValidatesTogether
from .refusals import Reason, Refusal
from .rollouts.policy_attempts import SharedAttempts


@frozen
class Door:
    """The validators of a run. A candidate is accepted only when every one accepts; each judges the task as the one before it left it."""

    validators: Sequence[Validator]
    held_out: Sequence[Task]
    guard: Guard
    attempts: SharedAttempts
    """The attempts of the policy in training, which the validators share while a wave is judged."""

    def judge(self, wave: Sequence[CandidateTask], pool: TaskPool) -> list[Verdict]:
        """A verdict for each candidate beside `pool`, in order. A fault or a missed deadline refuses the candidate that it concerns."""
        verdicts = [attrs.evolve(c.refused, accepted=False) if c.refused else Verdict(True, "accepted") for c in wave]
        with self.attempts.shared():
            for together, validators in groupby(self.validators, lambda validator: isinstance(validator, ValidatesTogether)):
                for some in [[v] for v in validators] if together else [list(validators)]:
                    left = [n for n, verdict in enumerate(verdicts) if verdict.accepted]
                    standing = [attrs.evolve(wave[n], task=verdicts[n].task or wave[n].task) for n in left]
                    for n, found in zip(left, self._found(some, standing, pool), strict=True):
                        verdicts[n] = after(verdicts[n], found)
        return verdicts

    def _found(self, validators: Sequence[Validator], candidates: Sequence[CandidateTask], pool: TaskPool) -> Sequence[Verdict]:
        """What `validators` find: one that judges together, or some that do not."""
        validator = validators[0]
        if isinstance(validator, ValidatesTogether):
            if not candidates:
                return []
            try:
                return self.guard.run(lambda: validator.validate_all(candidates, self.guard.environment, pool, self.held_out))
            except InfrastructureFault:
                return [self._one(validators, candidate, pool) for candidate in candidates]
        found: list[Verdict] = []
        for candidate in candidates:
            found.append(self._one(validators, candidate, pool))
            if found[-1].accepted:
                pool = pool.with_tasks([found[-1].task or candidate.task])
        return found

    def _one(self, validators: Sequence[Validator], candidate: CandidateTask, pool: TaskPool) -> Verdict:
        """What `validators` find of one candidate, up to the first that refuses it."""

        def judged() -> Verdict:
            verdict = Verdict(True, "accepted")
            for validator in validators:
                standing = attrs.evolve(candidate, task=verdict.task or candidate.task)
                verdict = after(verdict, validator.validate(standing, self.guard.environment, pool, self.held_out))
                if not verdict.accepted:
                    break
            return verdict

        try:
            return self.guard.run(judged)
        except InfrastructureFault as fault:
            return Refusal(Reason.ENVIRONMENT_ERROR, str(fault)).verdict


def after(before: Verdict, found: Verdict) -> Verdict:
    """The verdict once a validator `found` its own: an accepting one keeps the task, both keep the attempts, of those `before` it."""
    attempts = joined(before.attempts, found.attempts)
    if not found.accepted:
        return attrs.evolve(found, attempts=attempts)
    return Verdict(True, "accepted", task=found.task or before.task, attempts=attempts)


def joined(before: RolloutGroup | None, found: RolloutGroup | None) -> RolloutGroup | None:
    """The attempts of both; those that two validators shared are counted once."""
    if before is None or found is None:
        return before or found
    return attrs.evolve(found, trajectories=(*before.trajectories, *(t for t in found.trajectories if t not in before.trajectories)))
