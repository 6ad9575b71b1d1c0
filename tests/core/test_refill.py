"""Groups with equal scores are replaced by further tasks: within the bound, counted, the same after a resume and on every process."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import CoevolveError, HasReward, LoopState, RolloutGroup, TaskPool, TooManyFaults, Trajectory, hookimpl
from coevolve.core.record.store import Store
from coevolve.core.rollouts.refill import Refill, untouched
from coevolve.core.rollouts.rewards import is_mixed, reward_of
from coevolve.core.rollouts.run_health import StallNotice
from coevolve.core.run.drive import resume
from coevolve.core.run.ranks import DistributedRolloutRunner, LeaderLoop, RankResult, RolloutRequest
from coevolve.plugins.trainers.grpo.options import GrpoOptions
from coevolve.plugins.trainers.grpo.trainer import Grpo
from coevolve.testing import TabularTrainer, make_group, make_task, make_trajectory

SETS = ("trainer.name=counting", "policy.name=tabular", "steps=6", "batch=6", "rollouts=4", "initial_tasks=40")


class Counting(TabularTrainer):
    """Keeps the groups of each update; with `ranks` the loop is the one that rank 0's trainer sees."""

    name: ClassVar[str] = "counting"
    updates: ClassVar[list[list[RolloutGroup]]] = []
    ranks: ClassVar[Any] = None

    def train(self, loop: LoopState, resume_from: Path | None) -> None:
        if self.ranks:
            runner: Any = loop.runner  # type: ignore[attr-defined]
            runner.__class__ = DistributedRolloutRunner
            runner.ranks, runner.trainer = self.ranks, self
            loop = LeaderLoop(loop, self.ranks)
        super().train(loop, resume_from)

    def _update_all(self, groups: Sequence[RolloutGroup]) -> dict[str, float]:
        self.updates.append(list(groups))
        return super()._update_all(groups)


class Trainers:
    @hookimpl
    def coevolve_trainers(self) -> list[type[Any]]:
        return [Counting]


class Stop:
    """Interrupts the run in its fifth iteration."""

    @hookimpl
    def coevolve_iteration_finished(self, iteration: int) -> None:
        if iteration == 5:
            raise KeyboardInterrupt


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> list[list[RolloutGroup]]:
    found: list[list[RolloutGroup]] = []
    monkeypatch.setattr(Counting, "updates", found)
    return found


def visits(folder: Path) -> list[tuple[int, str, float]]:
    store = Store(folder / "run.sqlite")
    found = store.rows("SELECT iteration, task_id, mean FROM groups ORDER BY number")
    store.close()
    return found


@given(st.lists(st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), min_size=2, max_size=3), min_size=4, max_size=12))
def test_mixed_groups_come_first_in_the_order_of_their_rollouts(scores: list[list[float | None]]) -> None:
    groups = [make_group(f"t{n}", tuple(of_one)) for n, of_one in enumerate(scores)]
    refill = Refill(4, rounds=1)
    mixed = [group for group in groups if is_mixed(group)]
    assert refill.trained(groups) == [*mixed, *(group for group in groups if group not in mixed)][:4]
    assert Refill(4, rounds=0).trained(groups) == groups, "without a refill the order of the rollouts stays"
    assert refill.missing(groups) == 4 - len(mixed)
    assert len(untouched(TaskPool(tuple(make_task(f"t{n}") for n in range(15))), groups)) == 15 - len(groups)


class ByProgress(Counting):
    """Maximises progress."""

    name: ClassVar[str] = "by_progress"

    def reward(self, trajectory: Trajectory) -> float | None:
        return trajectory.progress


def test_groups_are_mixed_where_what_the_trainer_maximises_differs() -> None:
    failed = [attrs.evolve(make_trajectory("t0", 0.0, index=n), progress=progress) for n, progress in enumerate((0.0, 0.5, None))]
    group, equal = RolloutGroup(make_task("t0"), 1, tuple(failed)), make_group("t1", (1.0, 1.0))
    trainers = [trainer(trainer.Options()) for trainer in (Counting, ByProgress, Grpo)]
    grpo = Grpo(GrpoOptions(progress_weight=0.2))
    for trainer, expected in zip((*trainers, grpo), (False, True, False, True), strict=True):
        reward = reward_of(trainer)
        assert is_mixed(group, reward) == expected and not is_mixed(equal, reward)
        assert Refill(2, 1, reward).missing([group, equal]) == 2 - expected
        assert Refill(1, 1, reward).trained([equal, group]) == [group if expected else equal]
        assert (StallNotice(1, reward).seen([group, equal]) is None) == expected
    assert isinstance(grpo, HasReward) and [grpo.reward(t) for t in failed] == [0.0, pytest.approx(0.1), 0.0]


def test_a_run_refills_by_the_reward_of_its_trainer(runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Plugin:
        @hookimpl
        def coevolve_trainers(self) -> list[type[Any]]:
            return [ByProgress]

    monkeypatch.setattr(ByProgress, "reward", lambda self, trajectory: trajectory.score and float(trajectory.index))
    runs.run(tmp_path / "by", *SETS, "trainer.name=by_progress", "refill=2", "policy.share=0.0", "policy.strong=50.0", plugins=(Plugin(),))
    assert len(visits(tmp_path / "by")) == 6 * 6, "every rollout has another reward, so no group is replaced"


def test_equal_scores_are_replaced_up_to_the_bound(runs: Any, tmp_path: Path, updates: list[list[RolloutGroup]]) -> None:
    plain = runs.run(tmp_path / "plain", *SETS, plugins=(Trainers(),))
    before = sum(is_mixed(group) for update in updates for group in update)
    updates.clear()
    summary = runs.run(tmp_path / "refilled", *SETS, "refill=2", plugins=(Trainers(),))
    found = visits(tmp_path / "refilled")
    assert summary["rollouts"] == 4 * len(found) > plain["rollouts"] == 6 * 6 * 4
    for iteration, update in enumerate(updates, 1):
        of_iteration = [task for number, task, _ in found if number == iteration]
        assert len(update) == 6
        assert 6 <= len(of_iteration) <= 18
        assert len(set(of_iteration)) == len(of_iteration), "no task twice"
        mixed = [is_mixed(group) for group in update]
        assert mixed == sorted(mixed, reverse=True)
        assert all(mixed) or len(of_iteration) > 6, "an iteration that lacks mixed groups has looked for more"
    assert sum(is_mixed(group) for update in updates for group in update) > before


def test_the_history_and_the_signals_hold_all_groups(runs: Any, folder: Path) -> None:
    runs.run(folder, *SETS, "refill=3", "evolve_every=5", plugins=(Trainers(),))
    store = Store(folder / "run.sqlite")
    attempts = store.history().attempts
    signalled = {task for (task,) in store.rows("SELECT task_id FROM signals")}
    store.close()
    assert sum(map(len, attempts.values())) == len(visits(folder)) > 36
    assert signalled <= {task for _, task, _ in visits(folder)}
    mixed = {task for number, task, mean in visits(folder) if 0 < mean < 1 and number <= 5}
    assert signalled == mixed


def test_without_refill_the_draws_are_those_of_the_batch(runs: Any, tmp_path: Path) -> None:
    runs.run(tmp_path / "plain", *SETS, "steps=1", plugins=(Trainers(),))
    runs.run(tmp_path / "refilled", *SETS, "steps=1", "refill=4", plugins=(Trainers(),))
    plain, refilled = visits(tmp_path / "plain"), visits(tmp_path / "refilled")
    assert plain == refilled[:6]


def test_a_pool_that_is_used_up_ends_the_refill(runs: Any, folder: Path, updates: list[list[RolloutGroup]]) -> None:
    runs.run(folder, *SETS, "refill=1000", "initial_tasks=8", "synthesizer.name=none", plugins=(Trainers(),))
    found = visits(folder)
    assert max(sum(number == iteration for number, _, _ in found) for iteration in range(1, 7)) <= 8
    assert all(len(update) == 6 for update in updates)
    runs.run(folder.parent / "small", *SETS, "refill=2", "initial_tasks=4", "synthesizer.name=none", plugins=(Trainers(),))
    assert len(visits(folder.parent / "small")) == 36, "a pool smaller than the batch repeats tasks, and has none left to refill with"


def test_a_resumed_run_refills_in_the_same_way(runs: Any, tmp_path: Path) -> None:
    runs.run(tmp_path / "whole", *SETS, "refill=2", plugins=(Trainers(),))
    with pytest.raises(KeyboardInterrupt):
        runs.run(tmp_path / "parts", *SETS, "refill=2", plugins=(Trainers(), Stop()))
    resume(runs.registry(Trainers()), tmp_path / "parts")
    assert visits(tmp_path / "whole") == visits(tmp_path / "parts")
    tables = [(tmp_path / name / "policy" / "table.json").read_text() for name in ("whole", "parts")]
    assert tables[0] == tables[1]


def test_an_environment_that_broke_down_is_noticed_before_the_refill(runs: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coevolve.testing import Stockroom

    def broken(self: Stockroom, task: Any) -> Any:
        raise OSError("the shop is closed")

    original, opened = Stockroom.open, []

    def open_(self: Stockroom, task: Any) -> Any:
        opened.append(task.id)
        return broken(self, task) if started else original(self, task)

    started = False
    monkeypatch.setattr(Stockroom, "open", open_)

    class Begin:
        @hookimpl
        def coevolve_evaluated(self, iteration: int) -> None:
            nonlocal started
            started = True
            opened.clear()

    with pytest.raises(TooManyFaults):
        runs.run(folder, *SETS, "refill=5", "synthesizer.name=none", plugins=(Trainers(), Begin()))
    assert len(opened) == 6 * 4


class OneRank:
    """The messages of rank 0, which is alone."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def share(self, rows: int) -> range:
        return range(rows)

    def broadcast(self, message: Any = None) -> Any:
        self.sent.append(message)
        return message

    def gather(self, part: Any) -> list[Any]:
        return [part]


def test_every_round_is_asked_of_all_processes_which_train_on_the_same_groups(
    runs: Any, tmp_path: Path, updates: list[list[RolloutGroup]], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.run(tmp_path / "alone", *SETS, "refill=2", plugins=(Trainers(),))
    alone = [[group.task.id for group in update] for update in updates]
    ranks = OneRank()
    monkeypatch.setattr(Counting, "ranks", ranks)
    runs.run(tmp_path / "ranks", *SETS, "refill=2", plugins=(Trainers(),))
    assert visits(tmp_path / "alone") == visits(tmp_path / "ranks")
    asked = [message for message in ranks.sent if isinstance(message, RolloutRequest) and message.iteration == 1]
    assert 1 < len(asked) <= 3 and len(asked[0].tasks) == 6
    assert len({message.sampling.seed for message in asked}) == len(asked), "each round has a seed of its own"
    results = [m.result for m in ranks.sent if isinstance(m, RankResult) and isinstance(m.result, list)]
    assert [[group.task.id for group in result] for result in results] == alone


def test_a_bound_that_nobody_means_is_refused(runs: Any) -> None:
    for value in ("-1", "1.5", "1e9"):
        with pytest.raises(CoevolveError, match="refill"):
            runs.config(runs.registry(), f"refill={value}")
