from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
from shop import shop_task

from coevolve import Action, CandidateTask, NeedsServices, PlannedAttempts, Reason, RolloutGroup, Step, Task, TaskPool, UserError
from coevolve.core.record.store import Store
from coevolve.core.record.teacher_calls import LateJournal, StoreJournal
from coevolve.core.record.timing import Clock
from coevolve.core.registry import Registry
from coevolve.core.rollouts.policy_attempts import PolicyAttempts, attempt_key
from coevolve.core.rollouts.run_services import CheckedServices, RunServices
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.core.run.build import build
from coevolve.core.workers.remote_environment import placed_environment
from coevolve.plugins.validators.blind_solve import BlindSolve, BlindSolveOptions, side_by_side
from coevolve.synthesizers.teacher import Teacher, TeacherOptions
from coevolve.testing import (
    SmallRuns,
    Stockroom,
    StockroomOptions,
    TabularPolicy,
    TabularTrainer,
    make_group,
    make_services,
    make_trajectory,
)
from coevolve.testing.learner import skills

ROOM = Stockroom(StockroomOptions())
TASK = next(task for task in ROOM.tasks("train") if len(task.solution) > 2)
POOL = TaskPool(())


ONE_OF_FOUR = ("validators.blind_solve.attempts=4", "validators.blind_solve.needed=1")
RUNS = SmallRuns(sets=('validators.names=["blind_solve"]', *ONE_OF_FOUR))


@pytest.fixture(scope="module")
def registry() -> Registry:
    return RUNS.registry()


def built(registry: Registry, tmp_path: Any, *more: str) -> Any:
    """The loop's components, as a run builds them."""
    config = RUNS.config(registry, *more)
    with placed_environment(config, registry) as environment:
        return build(config, registry, tmp_path, Clock(), environment).keywords


def scored(*scores: float | None, **options: Any) -> Any:
    """The verdict when the attempts have these scores; one must do unless the options say otherwise."""
    made = BlindSolve(BlindSolveOptions(attempts=len(scores), **{"needed": 1, **options}))
    asked: list[Any] = []

    def attempts(tasks: Sequence[Task], count: int, temperature: float, first: int = 0) -> list[RolloutGroup]:
        asked.append((*tasks, count, temperature))
        return [make_group(task, scores) for task in tasks]

    made.bind_services(make_services(attempts=attempts))
    verdict = made.validate(CandidateTask(TASK), ROOM, POOL, ())
    assert asked == [(TASK, len(scores), made.options.temperature)]
    return verdict


def test_one_success_is_enough_unless_more_are_needed() -> None:
    assert isinstance(BlindSolve(BlindSolveOptions()), NeedsServices)
    assert (scored(0.0, 0.5, 0.0).accepted, scored(0.0, 0.49).reason) == (True, Reason.MISUNDERSTOOD)
    assert scored(1.0, 0.0, needed=2).reason == Reason.MISUNDERSTOOD
    assert scored(1.0, 1.0, needed=2).detail == "2 of 2 attempts solved it"


def test_attempts_that_break_off_prove_nothing() -> None:
    verdict = scored(None, 0.0)
    assert (verdict.accepted, verdict.reason) == (False, Reason.ENVIRONMENT_ERROR) and "the service is down" in verdict.detail
    assert scored(None, 1.0).accepted


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(UserError, match="needed is 5, above the 3 attempts"):
        BlindSolve(BlindSolveOptions(needed=5))
    with pytest.raises(UserError, match=r"set validators\.blind_solve\.policy too"):
        BlindSolve(BlindSolveOptions(settings={"weak": -9}))
    with pytest.raises(UserError, match="needs bind_services"):
        BlindSolve(BlindSolveOptions()).validate(CandidateTask(TASK), ROOM, POOL, ())


def test_the_policy_in_training_tries_as_it_is_now(registry: Registry, tmp_path: Any) -> None:
    parts = built(registry, tmp_path, "policy.strong=30", "policy.weak=-30")
    (blind,), table = parts["door"].validators, parts["trainer"].policy().table
    verdicts = {task.id: blind.validate(CandidateTask(task), ROOM, POOL, ()) for task in ROOM.tasks("train")}
    lost = [task for task in ROOM.tasks("train") if not verdicts[task.id].accepted]
    assert lost and len(lost) < len(verdicts)
    assert {verdicts[task.id].reason for task in lost} == {Reason.MISUNDERSTOOD}
    table.update({skill: 30.0 for skill in skills(lost[0]) if skill})
    assert blind.validate(CandidateTask(lost[0]), ROOM, POOL, ()).accepted


def test_another_policy_by_name(registry: Registry, tmp_path: Any) -> None:
    """The policy "scripted" plays the solution, so it solves every task; a weak policy solves none."""
    weak = ["policy.weak=-30", "policy.strong=-30"]
    (blind,) = built(registry, tmp_path, *weak, "validators.blind_solve.policy=scripted")["door"].validators
    assert blind.validate(CandidateTask(TASK), ROOM, POOL, ()).detail == "4 of 4 attempts solved it"
    with pytest.raises(UserError, match="expected"):
        built(registry, tmp_path, "validators.blind_solve.policy=scripted", "validators.blind_solve.settings={source=3}")
    with pytest.raises(UserError, match=r"unknown policy 'scriptde' \(did you mean 'scripted'\?\)"):
        built(registry, tmp_path, "validators.blind_solve.policy=scriptde")
    weak = ["validators.blind_solve.policy=tabular", "validators.blind_solve.settings={weak=-30, strong=-30}"]
    (blind,) = built(registry, tmp_path, *weak)["door"].validators
    assert blind.validate(CandidateTask(TASK), ROOM, POOL, ()).reason == Reason.MISUNDERSTOOD


def test_attempts_are_fresh_and_repeat_for_one_seed(registry: Registry) -> None:
    config = RUNS.config(registry)
    runner, trainer = RolloutRunner(ROOM, RolloutLimits(20, 5.0, 1), Clock()), TabularTrainer(TabularTrainer.Options())
    try:
        attempts = PolicyAttempts(runner, trainer, config, TabularPolicy(TabularPolicy.Options(strong=0.0, weak=0.0)))
        groups = [attempts([TASK], 8, 1.0)[0] for _ in range(2)]
        assert groups[0] == groups[1]
        assert len({repr(trajectory.messages) for trajectory in groups[0].trajectories}) > 1
        assert len({repr(trajectory.messages) for trajectory in attempts([TASK], 8, 0.0)[0].trajectories}) == 1
    finally:
        runner.close()


def test_a_misunderstanding_is_told_turn_by_turn() -> None:
    task = shop_task(("Show me the lamps.", [("list_lamps", {})]), ("Buy two.", [("buy_item", {"item_id": "LX72", "amount": 2})]))
    steps = [Step(Action("list_lamps"), "..."), Step(Action("buy_item", {"item_id": "LX71", "amount": 2}, 1), "...")]
    told = side_by_side(task, make_trajectory("x", 0.0, steps=[*steps, Step(Action("lookup"), "", inner=True)]))
    assert told == ('Turn 2: wanted buy_item(item_id="LX72", amount=2); made buy_item(item_id="LX71", amount=2).'), (
        "turns that agree and calls inside of others are left out"
    )
    nothing = attrs.evolve(make_trajectory("x", 0.0), fault="no call\nin the text")
    assert side_by_side(task, nothing) == (
        'Turn 1: wanted list_lamps(); made nothing. Turn 2: wanted buy_item(item_id="LX72", amount=2); made nothing. '
        "It ended with: no call in the text."
    )
    assert side_by_side(task, make_trajectory("x", 0.0, steps=[Step(action, "") for action in task.solution])).startswith("The same calls")
    verdict = scored(0.0, 1.0, 0.0, needed=2)
    assert verdict.detail.startswith("1 of 3 attempts solved it, 2 needed. Turn 1: wanted")


class Reading(Teacher):
    """A teacher that reads as the policy "scripted" or "tabular" does."""

    def __init__(self, options: TeacherOptions, name: str, settings: dict[str, Any]) -> None:
        super().__init__(options)
        self.read_with = name, settings

    def reader(self) -> tuple[str, dict[str, Any]]:
        return self.read_with


def test_the_teacher_reads_and_its_attempts_are_kept(registry: Registry, tmp_path: Path) -> None:
    config = RUNS.config(registry)
    runner, trainer = RolloutRunner(ROOM, RolloutLimits(20, 5.0, 1), Clock()), TabularTrainer(TabularTrainer.Options())
    store = Store(tmp_path / "run.sqlite", create=True)
    journal = LateJournal()
    journal.open(StoreJournal(store, print))
    chat: Any = None

    def attempts(name: str, **settings: Any) -> Any:
        teacher = Reading(TeacherOptions(), name, settings)
        return RunServices(config, registry, runner, trainer, journal, chat, teacher).attempts("teacher", {})

    try:
        first = attempts("scripted")([TASK], 2, 1.0)
        assert [trajectory.success for trajectory in first[0].trajectories] == [True, True]
        (call,) = journal.calls()
        assert (call.key, call.purpose) == (f"0/attempt/{TASK.id}", "attempt") and attempt_key(TASK) == call.key
        weak = attempts("tabular", weak=-30, strong=-30)
        assert weak([TASK], 2, 1.0) == first and len(journal.calls()) == 1, "a resumed run recalls what it paid for"
        assert not any(trajectory.success for trajectory in weak([TASK], 3, 1.0)[0].trajectories), "other attempts are asked for anew"
        alone = attempts("")
        alone([TASK], 2, 1.0)
        assert len(journal.calls()) == 2, "the policy in training is not a teacher's call"
    finally:
        runner.close()
        store.close()


def test_without_a_teacher_the_run_does_not_begin(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"this run has none: set synthesizer\.name='teacher'"):
        built(registry, tmp_path, "validators.blind_solve.policy=teacher")
    with pytest.raises(UserError, match="this run has none"):
        CheckedServices(RUNS.config(registry), registry).attempts("teacher", {})


def test_the_plan_counts_the_attempts() -> None:
    plan: Any = SimpleNamespace(judged=10)
    assert BlindSolve(BlindSolveOptions()).estimate(plan) == [], "the plan counts those of the policy in training once for all validators"
    assert BlindSolve(BlindSolveOptions()).attempts_at_most() == PlannedAttempts("", 3, 1.0)
    assert BlindSolve(BlindSolveOptions(policy="openai")).estimate(plan) == ["attempts by a policy at candidates: at most 30"]
    (line,) = BlindSolve(BlindSolveOptions(policy="teacher")).estimate(plan)
    assert line.startswith("attempts by the teacher at candidates: at most 30")
