from typing import Any

import pytest

from coevolve import CandidateTask, NeedsServices, Reason, RolloutGroup, Task, TaskPool, UserError
from coevolve.core.record.timing import Clock
from coevolve.core.registry import Registry
from coevolve.core.rollouts.policy_attempts import PolicyAttempts
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.core.run.build import build
from coevolve.core.workers.remote_environment import placed_environment
from coevolve.plugins.validators.blind_solve import BlindSolve, BlindSolveOptions
from coevolve.testing import SmallRuns, Stockroom, StockroomOptions, TabularPolicy, TabularTrainer, make_group, make_services
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
    """The verdict when the attempts have these scores."""
    made = BlindSolve(BlindSolveOptions(attempts=len(scores), **options))
    asked: list[Any] = []

    def attempts(task: Task, count: int, temperature: float) -> RolloutGroup:
        asked.append((task, count, temperature))
        return make_group(task, scores)

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
    with pytest.raises(UserError, match="needed is 5, above the 4 attempts"):
        BlindSolve(BlindSolveOptions(needed=5))
    with pytest.raises(UserError, match=r"set validators\.blind_solve\.policy too"):
        BlindSolve(BlindSolveOptions(settings={"weak": -9}))
    with pytest.raises(UserError, match="needs bind_services"):
        BlindSolve(BlindSolveOptions()).validate(CandidateTask(TASK), ROOM, POOL, ())


def test_the_policy_in_training_tries_as_it_is_now(registry: Registry, tmp_path: Any) -> None:
    parts = built(registry, tmp_path, "policy.strong=30", "policy.weak=-30")
    (blind,), table = parts["validators"], parts["trainer"].policy().table
    verdicts = {task.id: blind.validate(CandidateTask(task), ROOM, POOL, ()) for task in ROOM.tasks("train")}
    lost = [task for task in ROOM.tasks("train") if not verdicts[task.id].accepted]
    assert lost and len(lost) < len(verdicts)
    assert {verdicts[task.id].reason for task in lost} == {Reason.MISUNDERSTOOD}
    table.update({skill: 30.0 for skill in skills(lost[0]) if skill})
    assert blind.validate(CandidateTask(lost[0]), ROOM, POOL, ()).accepted


def test_another_policy_by_name(registry: Registry, tmp_path: Any) -> None:
    """The policy "scripted" plays the solution, so it solves every task; a weak policy solves none."""
    (blind,) = built(registry, tmp_path, "policy.weak=-30", "policy.strong=-30", "validators.blind_solve.policy=scripted")["validators"]
    assert blind.validate(CandidateTask(TASK), ROOM, POOL, ()).detail == "4 of 4 attempts solved it"
    with pytest.raises(UserError, match="expected"):
        built(registry, tmp_path, "validators.blind_solve.policy=scripted", "validators.blind_solve.settings={source=3}")
    with pytest.raises(UserError, match=r"unknown policy 'scriptde' \(did you mean 'scripted'\?\)"):
        built(registry, tmp_path, "validators.blind_solve.policy=scriptde")
    weak = ["validators.blind_solve.policy=tabular", "validators.blind_solve.settings={weak=-30, strong=-30}"]
    (blind,) = built(registry, tmp_path, *weak)["validators"]
    assert blind.validate(CandidateTask(TASK), ROOM, POOL, ()).reason == Reason.MISUNDERSTOOD


def test_attempts_are_fresh_and_repeat_for_one_seed(registry: Registry) -> None:
    config = RUNS.config(registry)
    runner, trainer = RolloutRunner(ROOM, RolloutLimits(20, 5.0, 1), Clock()), TabularTrainer(TabularTrainer.Options())
    try:
        attempts = PolicyAttempts(runner, trainer, config, TabularPolicy(TabularPolicy.Options(strong=0.0, weak=0.0)))
        groups = [attempts(TASK, 8, 1.0) for _ in range(2)]
        assert groups[0] == groups[1]
        assert len({repr(trajectory.messages) for trajectory in groups[0].trajectories}) > 1
        assert len({repr(trajectory.messages) for trajectory in attempts(TASK, 8, 0.0).trajectories}) == 1
    finally:
        runner.close()
