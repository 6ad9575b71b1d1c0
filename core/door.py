"""The pool's door: judges the candidates of a wave, as many as the evolution still wants, with one validator after the other.

    validators that judge one by one     one candidate after the other, each beside the pool and those of the wave that passed so far
    ValidatesTogether                    all that are left at once: their attempts are one batch of rollouts

So a candidate that cannot be executed costs no attempt, and validators without attempts judge as if candidates came one at a time. There
is one difference: a candidate that is refused as a copy of another one of its wave stays refused where a later validator refuses that one.
"""

from collections.abc import Sequence

import attrs
from attrs import frozen

from .contracts import Validator
from .errors import InfrastructureFault, UserError
from .isolation.guard import Guard
from .model import CandidateTask, RolloutGroup, Task, TaskPool, Verdict
from .optional import ValidatesTogether
from .refusals import Reason, Refusal
from .rollouts.policy_attempts import SharedAttempts

ACCEPTED = Verdict(True, "accepted")


@frozen
class Door:
    """The validators of a run. A candidate is accepted only when every one accepts; each judges the task as the one before it left it."""

    validators: Sequence[Validator]
    held_out: Sequence[Task]
    guard: Guard
    attempts: SharedAttempts
    """The attempts of the policy in training, which the validators share while a wave is judged."""

    def judge(self, wave: Sequence[CandidateTask], pool: TaskPool) -> list[Verdict]:
        """A verdict for each candidate beside `pool`, in order. A fault or a missed deadline refuses the candidate that it concerns.

        UserError where a validator returns something else than verdicts.
        """
        verdicts = unjudged(wave, pool)
        with self.attempts.shared():
            for validators in stretches(self.validators):
                left = [n for n, verdict in enumerate(verdicts) if verdict.accepted]
                if not left:
                    break
                candidates = [attrs.evolve(wave[n], task=verdicts[n].task or wave[n].task) for n in left]
                together = isinstance(validators[0], ValidatesTogether)
                found = self._together(validators[0], candidates, pool) if together else self._in_order(validators, candidates, pool)
                for n, verdict in zip(left, found, strict=True):
                    verdicts[n] = after(verdicts[n], verdict)
        return verdicts

    def _together(self, validator: Validator, candidates: Sequence[CandidateTask], pool: TaskPool) -> list[Verdict]:
        """What a validator finds of all candidates at once; where a fault ends that, of one after the other, each beside `pool` alone.

        The attempts that were made before the fault count.
        """
        assert isinstance(validator, ValidatesTogether)
        try:
            found = self.guard.run(lambda: validator.validate_all(candidates, self.guard.environment, pool, self.held_out))
        except InfrastructureFault:
            alone = [self._alone([validator], candidate, pool) for candidate in candidates]
            made = [self.attempts.made(candidate.task.id) for candidate in candidates]
            return [attrs.evolve(one, attempts=joined(one.attempts, more)) for one, more in zip(alone, made, strict=True)]
        if not isinstance(found, Sequence) or len(found) != len(candidates):
            count = f"{len(found)} verdicts" if isinstance(found, Sequence) else repr(type(found).__name__)
            raise UserError(f"validator {validator.name!r}: validate_all must return {len(candidates)} verdicts, not {count}")
        return [checked_verdict(one, validator, "validate_all") for one in found]

    def _in_order(self, validators: Sequence[Validator], candidates: Sequence[CandidateTask], pool: TaskPool) -> list[Verdict]:
        """What `validators` find of one candidate after the other, each beside `pool` and the candidates that they accepted before it."""
        found: list[Verdict] = []
        for candidate in candidates:
            verdict = self._alone(validators, candidate, pool)
            if verdict.accepted:
                pool = pool.with_tasks([verdict.task or candidate.task])
            found.append(verdict)
        return found

    def _alone(self, validators: Sequence[Validator], candidate: CandidateTask, pool: TaskPool) -> Verdict:
        """What `validators` find of one candidate, up to the first that refuses it. A fault keeps the attempts that were made before it."""

        def judged() -> Verdict:
            verdict = ACCEPTED
            for validator in validators:
                standing = attrs.evolve(candidate, task=verdict.task or candidate.task)
                found = validator.validate(standing, self.guard.environment, pool, self.held_out)
                verdict = after(verdict, checked_verdict(found, validator, "validate"))
                if not verdict.accepted:
                    break
            return verdict

        try:
            return self.guard.run(judged)
        except InfrastructureFault as fault:
            verdict = Refusal(Reason.ENVIRONMENT_ERROR, str(fault)).verdict
            return attrs.evolve(verdict, attempts=self.attempts.made(candidate.task.id))


def unjudged(wave: Sequence[CandidateTask], pool: TaskPool) -> list[Verdict]:
    """The verdicts before the first validator: candidates that their synthesizer refused, or whose id is taken, are refused."""
    taken = {task.id for task in pool}
    verdicts = []
    for candidate in wave:
        task = candidate.task
        if candidate.refused is not None:
            verdicts.append(attrs.evolve(candidate.refused, accepted=False))
        elif task.id in taken:
            verdicts.append(taken_id(task))
        else:
            taken.add(task.id)
            verdicts.append(ACCEPTED)
    return verdicts


def taken_id(task: Task) -> Verdict:
    """The refusal of a candidate whose id another one has."""
    detail = f"the id {task.id} is taken: synthesizer {task.origin.kind!r} must give each candidate an id of its own"
    return Verdict(False, Reason.MALFORMED, detail)


def stretches(validators: Sequence[Validator]) -> list[list[Validator]]:
    """The validators in their order: one that judges together stands alone, neighbours that judge one by one stand in one list."""
    found: list[list[Validator]] = []
    for validator in validators:
        if found and not isinstance(validator, ValidatesTogether) and not isinstance(found[-1][0], ValidatesTogether):
            found[-1].append(validator)
        else:
            found.append([validator])
    return found


def checked_verdict(found: object, validator: Validator, method: str) -> Verdict:
    """`found`, where it is a verdict; else a UserError that names the validator."""
    if not isinstance(found, Verdict):
        raise UserError(f"validator {validator.name!r}: {method} must return verdicts, not {type(found).__name__!r}")
    return found


def after(before: Verdict, found: Verdict) -> Verdict:
    """The verdict once a validator `found` its own: an accepting one keeps the task, both keep the attempts, of those `before` it."""
    attempts = joined(before.attempts, found.attempts)
    if not found.accepted:
        return attrs.evolve(found, attempts=attempts)
    return attrs.evolve(ACCEPTED, task=found.task or before.task, attempts=attempts)


def joined(before: RolloutGroup | None, found: RolloutGroup | None) -> RolloutGroup | None:
    """The attempts of both, in order. One that two validators shared is the same object in both, and is counted once.

    Its index would not tell: attempts at another temperature, or at the candidate before a validator made it shorter, have equal indices.
    """
    if before is None or found is None:
        return found if before is None else before
    known = {id(trajectory) for trajectory in before.trajectories}
    return attrs.evolve(found, trajectories=(*before.trajectories, *(t for t in found.trajectories if id(t) not in known)))
