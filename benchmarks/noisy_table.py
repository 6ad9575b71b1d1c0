"""Collect candidates of the noisy teacher without training, and count what each set of validators admits (see noisy_teacher.py).

The teacher explores around real rollouts: eight of the shipped policy for each task, with boundary signals where they are mixed or fail.
The same policy attempts the candidates in the solve check.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from coevolve import CandidateTask, RolloutGroup, Sampling, Signal, TaskPool, TeacherCall
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.validators.blind_solve import BlindSolve, BlindSolveOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.plugins.validators.minimal import Minimal, MinimalOptions
from coevolve.synthesizers.teacher import Teacher
from coevolve.synthesizers.teacher.options import TeacherOptions
from coevolve.testing import make_feedback, make_services

NEW_TOKENS = 48


@define
class MemoryJournal:
    """A journal in memory that replays nothing."""

    made: list[TeacherCall] = field(factory=list)

    def recall(self, key: str, request: Mapping[str, Any]) -> tuple[TeacherCall, ...]:
        return ()

    def record(self, call: TeacherCall) -> None:
        self.made.append(call)

    def calls(self) -> tuple[TeacherCall, ...]:
        return tuple(self.made)

    def notify(self, text: str) -> None:
        print(text)


def judged(
    url: str,
    teacher: Mapping[str, Any],
    arms: Mapping[str, Sequence[str]],
    grounded: Sequence[str],
    attempts: int,
    count: int,
    rng: random.Random,
) -> tuple[Counter[str], dict[str, tuple[Counter[str], Counter[str]]]]:
    """Count candidates by kind. For each arm (a set of validators), count the admitted by kind and the refused by reason."""
    desk = Desk(DeskOptions(train=count))
    train, held_out = desk.tasks("train"), desk.tasks("test")
    policy, runner = TransformersPolicy(TransformersOptions()), RolloutRunner(desk, RolloutLimits(), Clock())

    def tried(tasks: Any, number: int, temperature: float, first: int = 0) -> list[RolloutGroup]:
        return runner.run(policy, tasks, number, Sampling(temperature, NEW_TOKENS, rng.getrandbits(31)), 10, first=first)

    groups = runner.run(policy, list(train), 8, Sampling(1.0, NEW_TOKENS, rng.getrandbits(31)), 10)
    signals = [Signal("boundary", group.task.id, 10, 1.0, {"scores": list(group.scores)}) for group in groups]
    options = {key: value for key, value in teacher.items() if key != "name"} | {"explorations": count}
    synthesizer = Teacher(TeacherOptions(**options, base_url=url))
    synthesizer.bind_services(make_services(journal=MemoryJournal()))
    found = list(synthesizer.synthesize(make_feedback(train, groups, signals, iteration=10), desk, rng))
    results = {}
    for arm, names in arms.items():
        validators: dict[str, Any] = {
            "minimal": Minimal(MinimalOptions()),
            "execution": Execution(ExecutionOptions(grounding=arm in grounded)),
            "blind_solve": BlindSolve(BlindSolveOptions(attempts=attempts, needed=1)),
        }
        validators["blind_solve"].bind_services(make_services(attempts=tried))
        results[arm] = _through([validators[name] for name in names], found, desk, TaskPool(tuple(train)), held_out)
    runner.close()
    return Counter(candidate.task.intent for candidate in found), results


def _through(validators: Sequence[Any], found: Sequence[CandidateTask], desk: Any, pool: TaskPool, held_out: Any) -> Any:
    passed, reasons = Counter[str](), Counter[str]()
    for candidate in found:
        task, kind, verdict = candidate.task, candidate.task.intent, candidate.refused
        for validator in validators if verdict is None else ():
            verdict = validator.validate(CandidateTask(task), desk, pool, held_out)
            if not verdict.accepted:
                break
            task = verdict.task or task
        if verdict is not None and not verdict.accepted:
            reasons[str(verdict.reason)] += 1
        else:
            passed[kind] += 1
            pool = pool.with_tasks([task])
    return passed, reasons
