"""The door judges waves: order, what stands beside a candidate, faults, and what several validators share."""

import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from coevolve import (
    CandidateTask,
    InfrastructureFault,
    Reason,
    RolloutGroup,
    Task,
    TaskPool,
    UserError,
    ValidatesTogether,
    Verdict,
    hookimpl,
)
from coevolve.core.door import Door, joined
from coevolve.core.isolation.guard import Guard
from coevolve.core.rollouts.policy_attempts import SharedAttempts
from coevolve.testing import Stockroom, StockroomOptions, make_group

ROOM = Stockroom(StockroomOptions())
TASKS = tuple(ROOM.tasks("train"))[:6]
WAVE = tuple(CandidateTask(task) for task in TASKS)
POOL = TaskPool(tuple(ROOM.tasks("train"))[10:12])
OK = Verdict(True, "accepted")


class Alone:
    """Judges one candidate at a time by `judge`, and notes what stood beside each."""

    name: ClassVar[str] = "alone"

    def __init__(self, judge: Callable[[Task], Verdict] = lambda task: OK) -> None:
        self.judge, self.seen, self.beside = judge, list[str](), list[list[str]]()

    def validate(self, candidate: CandidateTask, environment: Any, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        self.seen.append(candidate.task.id)
        self.beside.append([task.id for task in pool.tasks[len(POOL) :]])
        return self.judge(candidate.task)


class Together(Alone):
    """Judges all at once; `fault` breaks that."""

    name: ClassVar[str] = "together"

    def __init__(self, judge: Callable[[Task], Verdict] = lambda task: OK, fault: bool = False) -> None:
        super().__init__(judge)
        self.fault, self.batches = fault, list[int]()

    def validate_all(self, candidates: Sequence[CandidateTask], environment: Any, pool: TaskPool, held_out: Any) -> list[Verdict]:
        self.batches.append(len(candidates))
        if self.fault:
            raise InfrastructureFault("the engine is gone")
        return [self.judge(candidate.task) for candidate in candidates]


class CountedAttempts:
    """Attempts whose scores `score` gives; counts them."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, tasks: Sequence[Task], count: int, temperature: float, first: int = 0) -> list[RolloutGroup]:
        self.made += count * len(tasks)
        made = [make_group(task, [0.0] * (first + count)) for task in tasks]
        return [attrs.evolve(group, trajectories=group.trajectories[first:]) for group in made]


def door(*validators: Any, attempts: Any = None) -> Door:
    return Door(validators, (), Guard(ROOM, 5.0), attempts or SharedAttempts(CountedAttempts()))  # type: ignore[arg-type]


def refusing(*numbers: int) -> Callable[[Task], Verdict]:
    bad = {TASKS[n].id for n in numbers}
    return lambda task: Verdict(False, "bad", task.id) if task.id in bad else OK


def judged(of: Door, wave: Sequence[CandidateTask] = WAVE) -> list[Verdict]:
    try:
        return of.judge(wave, POOL)
    finally:
        of.guard.close()


def test_a_candidate_stands_beside_those_of_its_wave_that_passed() -> None:
    first, second = Alone(refusing(1)), Alone(refusing(3))
    verdicts = judged(door(first, second))
    assert [verdict.accepted for verdict in verdicts] == [True, False, True, False, True, True]
    ids = [task.id for task in TASKS]
    assert first.seen == ids and second.seen == [ids[n] for n in (0, 2, 3, 4, 5)]
    assert first.beside[-1] == second.beside[-1] == [ids[n] for n in (0, 2, 4)], "a refused candidate stands beside nobody"


@pytest.mark.parametrize("together", [False, True])
def test_a_wave_is_judged_as_its_candidates_one_at_a_time(together: bool) -> None:
    def judge_all(waves: Sequence[Sequence[CandidateTask]]) -> list[Verdict]:
        of = door(Alone(refusing(2)), Together(refusing(4)) if together else Alone(refusing(4)), Alone())
        admitted: list[Task] = []
        found: list[Verdict] = []
        for wave in waves:
            verdicts = of.judge(wave, POOL.with_tasks(admitted))
            admitted += [candidate.task for candidate, verdict in zip(wave, verdicts, strict=True) if verdict.accepted]
            found += verdicts
        of.guard.close()
        return found

    assert judge_all([WAVE]) == judge_all([[candidate] for candidate in WAVE]) == judge_all([WAVE[:2], WAVE[2:]])


def test_those_that_are_left_are_judged_together() -> None:
    batch, last = Together(refusing(0, 5)), Together()
    assert isinstance(batch, ValidatesTogether)
    verdicts = judged(door(Alone(refusing(1)), batch, last))
    assert [verdict.accepted for verdict in verdicts] == [False, False, True, True, True, False]
    assert (batch.batches, last.batches) == ([5], [3]) and not batch.seen
    none = Together()
    judged(door(Alone(lambda task: Verdict(False, "bad")), none))
    assert none.batches == [], "nobody is left"


def test_a_fault_refuses_the_candidate_that_it_concerns() -> None:
    def broken(task: Task) -> Verdict:
        if task is TASKS[2]:
            raise InfrastructureFault("the lights went out")
        return OK

    for validator in (Alone(broken), Together(broken, fault=True), Together(broken)):
        verdicts = judged(door(validator))
        assert [verdict.accepted for verdict in verdicts] == [True, True, False, True, True, True]
        assert (verdicts[2].reason, verdicts[2].detail) == (Reason.ENVIRONMENT_ERROR, "the lights went out")


def test_what_the_synthesizer_refused_itself_is_not_judged() -> None:
    alone = Alone()
    wave = (attrs.evolve(WAVE[0], refused=Verdict(True, "cut_off", "it ends")), WAVE[1])
    assert judged(door(alone), wave) == [Verdict(False, "cut_off", "it ends"), OK]
    assert alone.seen == [TASKS[1].id]


def test_a_validator_gets_the_task_as_the_one_before_left_it() -> None:
    shorter = Alone(lambda task: Verdict(True, "accepted", task=attrs.evolve(task, query=f"{task.query}!")))
    for validator in (Alone(), Together()):
        twice = Alone(shorter.judge)
        verdicts = judged(door(shorter, validator, twice))
        assert [verdict.task and verdict.task.query for verdict in verdicts] == [f"{task.query}!!" for task in TASKS]


def test_validators_share_attempts_within_a_wave() -> None:
    counted = CountedAttempts()
    attempts = SharedAttempts(counted)  # type: ignore[arg-type]

    class Asking(Together):
        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

        def validate_all(self, candidates: Sequence[CandidateTask], environment: Any, pool: TaskPool, held_out: Any) -> list[Verdict]:
            groups = attempts([candidate.task for candidate in candidates], self.count, 1.0)
            return [Verdict(True, "accepted", attempts=group) for group in groups]

    of = door(Asking(3), Asking(8), Asking(5), attempts=attempts)
    for times in (1, 2):  # the next wave may meet other weights, so it shares nothing with this one
        verdicts = of.judge(WAVE, POOL)
        assert counted.made == 8 * len(WAVE) * times
        assert all(v.attempts and [t.index for t in v.attempts.trajectories] == list(range(8)) for v in verdicts)
    of.guard.close()
    attempts(TASKS, 2, 1.0)
    attempts(TASKS, 2, 1.0)
    assert counted.made == (8 * 2 + 2 * 2) * len(WAVE), "outside of a wave nothing is kept"


def test_a_later_refusal_keeps_the_attempts_of_the_validators_before() -> None:
    group = make_group(TASKS[0], [1.0, 0.0])
    trying = Alone(lambda task: Verdict(True, "accepted", attempts=group))
    (verdict,) = judged(door(trying, Alone(refusing(0))), WAVE[:1])
    assert (verdict.accepted, verdict.attempts) == (False, group)
    assert joined(group, None) == joined(None, group) == joined(group, group) == group


def test_attempts_are_joined_by_what_they_are_not_by_their_index_or_value() -> None:
    first, second = make_group(TASKS[0], [1.0, 0.0]), make_group(TASKS[0], [1.0, 0.0])
    assert first == second and first.trajectories[0] is not second.trajectories[0]
    both = joined(first, attrs.evolve(second, trajectories=(*first.trajectories, *second.trajectories)))
    assert both is not None and [t.index for t in both.trajectories] == [0, 1, 0, 1], "at another temperature, say"


def test_a_copy_of_a_candidate_that_is_refused_later_stays_refused() -> None:
    copy = Alone()
    copy.judge = lambda task: Verdict(False, "copy") if TASKS[0].id in copy.beside[-1] and task is TASKS[1] else OK
    verdicts = judged(door(copy, Together(refusing(0))), WAVE[:3])
    assert [verdict.reason for verdict in verdicts] == ["bad", "copy", "accepted"]
    assert [verdict.reason for verdict in judged(door(copy, Together(refusing(0))), WAVE[1:2])] == ["accepted"]


def test_an_id_that_is_taken_is_refused_before_any_validator() -> None:
    alone = Alone()
    wave = (CandidateTask(POOL.tasks[0]), WAVE[0], CandidateTask(attrs.evolve(TASKS[1], id=TASKS[0].id)), WAVE[1])
    verdicts = judged(door(alone, Together()), wave)
    assert [verdict.reason for verdict in verdicts] == ["malformed", "accepted", "malformed", "accepted"]
    assert verdicts[0].detail.startswith(f"the id {POOL.tasks[0].id} is taken: synthesizer 'seed' must give")
    assert alone.seen == [TASKS[0].id, TASKS[1].id]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([OK] * 5, "validator 'together': validate_all must return 6 verdicts, not 5 verdicts"),
        ([OK] * 5 + [None], "validator 'together': validate_all must return verdicts, not 'NoneType'"),
        (None, "validator 'together': validate_all must return 6 verdicts, not 'NoneType'"),
        ((OK for _ in WAVE), "must return 6 verdicts, not 'generator'"),
    ],
)
def test_wrong_verdicts_name_their_validator(found: Any, words: str) -> None:
    broken = Together()
    broken.validate_all = lambda *_: found  # type: ignore[method-assign]
    with pytest.raises(UserError, match=re.escape(words)):
        judged(door(broken))
    with pytest.raises(UserError, match="validator 'alone': validate must return verdicts, not 'bool'"):
        judged(door(Alone(lambda task: True)))  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("alone", [False, True])
def test_attempts_before_a_fault_are_kept(alone: bool) -> None:
    counted = CountedAttempts()
    attempts = SharedAttempts(counted)  # type: ignore[arg-type]

    class Asking(Alone):
        """Asks for one attempt at each candidate, and breaks down at the third one."""

        def validate(self, candidate: CandidateTask, environment: Any, pool: TaskPool, held_out: Any) -> Verdict:
            (group,) = attempts([candidate.task], 1, 1.0)
            if candidate.task is TASKS[2]:
                raise InfrastructureFault("the engine is gone")
            return Verdict(True, "accepted", attempts=group)

    class Breaking(Asking):
        """Makes two attempts at all candidates, then breaks down."""

        def validate_all(self, candidates: Sequence[CandidateTask], environment: Any, pool: TaskPool, held_out: Any) -> list[Verdict]:
            attempts([candidate.task for candidate in candidates], 2, 1.0)
            raise InfrastructureFault("the engine is gone")

    verdicts = judged(door(Alone(), Asking() if alone else Breaking(), attempts=attempts))
    assert [verdict.accepted for verdict in verdicts] == [True, True, False, True, True, True]
    made = 1 if alone else 2
    assert [verdict.attempts and len(verdict.attempts.trajectories) for verdict in verdicts] == [made] * 6
    assert counted.made == made * 6 and verdicts[2].reason == Reason.ENVIRONMENT_ERROR


@attrs.frozen
class NoOptions:
    """No options."""


class Halving(Together):
    """Accepts every second candidate of a run, and notes the sizes of the waves."""

    name: ClassVar[str] = "halving"
    Options: ClassVar[type] = NoOptions
    waves: ClassVar[list[int]] = []

    def __init__(self, options: NoOptions) -> None:
        super().__init__()

    def validate_all(self, candidates: Sequence[CandidateTask], environment: Any, pool: TaskPool, held_out: Any) -> list[Verdict]:
        begun = sum(self.waves)
        self.waves.append(len(candidates))
        return [OK if (begun + n) % 2 == 0 else Verdict(False, "odd") for n in range(len(candidates))]


class HalvingPlugin:
    @hookimpl
    def coevolve_validators(self) -> list[type]:
        return [Halving]


@pytest.mark.parametrize(("budget", "waves", "admitted"), [(8, [4, 2, 1], 4), (1, [4], 2)])
def test_a_wave_has_as_many_candidates_as_are_wanted(
    runs: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, budget: int, waves: list[int], admitted: int
) -> None:
    monkeypatch.setattr(Halving, "waves", [])
    sets = ("steps=4", "evolve_every=2", "tasks_per_evolution=4", "synthesizer.name=random", 'validators.names=["halving"]')
    runs.run(folder, *sets, f"candidates_per_task={budget}", plugins=(HalvingPlugin(),))
    assert Halving.waves == waves
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        verdicts = db.execute("SELECT accepted FROM verdicts ORDER BY candidate_number").fetchall()
    assert [bool(row[0]) for row in verdicts] == [n % 2 == 0 for n in range(sum(waves))], "stored in the order of making"
    assert sum(row[0] for row in verdicts) == admitted
