"""The table learns from advantages, keeps its checkpoints, and forgets nothing that it was not taught."""

from pathlib import Path

import attrs
import pytest

from coevolve import Outcome, Policy, RolloutGroup, Sampling, UserError
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.testing import (
    ScriptedOptions,
    ScriptedPolicy,
    Stockroom,
    StockroomOptions,
    TabularOptions,
    TabularPolicy,
    TabularTrainer,
    TabularTrainerOptions,
)
from coevolve.testing.learner import skills

ROOM = Stockroom(StockroomOptions())
LIMITS = RolloutLimits(max_completions=20)


@attrs.define
class Run:
    """Settings and loop in one: what a trainer sees of them."""

    folder: Path
    steps: int = 30
    batch: int = 10
    rollouts: int = 8
    temperature: float = 1.0
    seed: int = 0
    planned: bool = False
    iteration: int = 0
    committed: list[Path] = attrs.field(factory=list)
    successes: list[float] = attrs.field(factory=list)

    def rollout(self, policy: Policy, iteration: int) -> list[RolloutGroup]:
        tasks = ROOM.tasks("train")[: self.batch]
        groups = RolloutRunner(ROOM, LIMITS, Clock()).run(policy, tasks, self.rollouts, Sampling(seed=iteration), iteration)
        self.successes.append(sum(group.mean or 0.0 for group in groups) / len(groups))
        return groups

    def finish_iteration(self, iteration: int, metrics: dict[str, float]) -> bool:
        return iteration % 10 == 0

    def commit(self, iteration: int, folder: Path) -> None:
        self.committed.append(folder)


def trained(run: Run, resume_from: Path | None = None) -> TabularTrainer:
    trainer = TabularTrainer(TabularTrainerOptions())
    trainer.setup(TabularPolicy(TabularOptions(strong=0.0)), run)
    trainer.train(run, resume_from)
    return trainer


def test_success_rises(tmp_path: Path) -> None:
    run = Run(tmp_path)
    trained(run)
    assert sum(run.successes[-5:]) / 5 > sum(run.successes[:5]) / 5 + 0.1


def test_a_resumed_training_is_the_same(tmp_path: Path) -> None:
    whole, first = Run(tmp_path / "whole"), Run(tmp_path / "first", steps=10)
    trained(whole)
    trained(first)
    trained(Run(tmp_path / "rest", iteration=10), first.committed[-1])
    table = "checkpoints/30/table.json"
    assert (tmp_path / "whole" / table).read_text() == (tmp_path / "rest" / table).read_text()


def test_a_saved_policy_loads(tmp_path: Path) -> None:
    trainer = trained(Run(tmp_path, steps=10))
    trainer.save_policy(tmp_path / "policy")
    loaded = TabularPolicy(TabularOptions(model=str(tmp_path / "policy")))
    policy = trainer.policy()
    assert isinstance(policy, TabularPolicy) and loaded.table == policy.table != {}
    with pytest.raises(UserError, match="holds no table"):
        TabularPolicy(TabularOptions(model=str(tmp_path / "nowhere")))


def test_only_a_table_can_be_trained(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="choose the policy 'tabular'"):
        TabularTrainer(TabularTrainerOptions()).setup(ScriptedPolicy(ScriptedOptions()), Run(tmp_path))


def test_a_perfect_table_solves_and_a_useless_one_fails() -> None:
    tasks = [task for task in ROOM.tasks("train") if any(skills(task))]
    for logit, success in ((50.0, 1.0), (-50.0, 0.0)):
        policy = TabularPolicy(TabularOptions(strong=logit, weak=logit))
        groups = RolloutRunner(ROOM, LIMITS, Clock()).run(policy, tasks, 2, Sampling(), 1)
        assert {score for group in groups for score in group.scores} == {success}


def test_some_failures_show_in_the_end_state_only() -> None:
    policy = TabularPolicy(TabularOptions(strong=-50.0, weak=-50.0))
    task = next(task for task in ROOM.tasks("train") if [a.name for a in task.solution] == ["staff.find", "door.admit"])
    (group,) = RolloutRunner(ROOM, LIMITS, Clock()).run(policy, [task], 1, Sampling(), 1)
    (trajectory,) = group.trajectories
    assert trajectory.score == 0.0 and all(step.error is None for step in trajectory.steps)


def test_the_scripted_policy_says_its_lines() -> None:
    task = ROOM.tasks("train")[0]
    policy = ScriptedPolicy(ScriptedOptions(lambda task, row: ROOM.script(task.solution) if row % 2 == 0 else ["nonsense"]))
    (group,) = RolloutRunner(ROOM, LIMITS, Clock()).run(policy, [task], 2, Sampling(), 1)
    assert group.scores == (1.0, 0.0)
    assert [t.outcome for t in group.trajectories] == [Outcome.COMPLETED] * 2
