"""What is written for the leaderboard: the engine's own commands take it and come to the scores of the rollouts."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from coevolve import Episode, InfrastructureFault, Outcome, RolloutGroup, Sampling, Task, Trajectory, UserError
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.environments.appworld import leaderboard
from coevolve.environments.appworld.environment import AppWorld
from coevolve.testing import ScriptedOptions, ScriptedPolicy

NAMES = {split: [f"{split}_{n}" for n in (1, 2)] for split in leaderboard.SPLITS}
Keep = Callable[[Task, Any], None]


@attrs.define
class Tasks:
    """Two splits without an engine."""

    root: Path
    kind: str = "full"
    known: tuple[str, ...] = leaderboard.SPLITS

    def splits(self) -> tuple[str, ...]:
        return self.known

    def tasks(self, split: str) -> Sequence[Task]:
        return [Task(name, "appworld", "Do it.") for name in NAMES[split]]


@attrs.frozen
class Files:
    """An episode that can only be exported."""

    def export(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "dbs").touch()


@attrs.define
class Rolled:
    """Rolls out anything but what is `lost` so many times."""

    lost: dict[str, int] = attrs.field(factory=dict)
    asked: list[list[str]] = attrs.field(factory=list)

    def __call__(self, tasks: Sequence[Task], keep: Keep) -> list[RolloutGroup]:
        self.asked.append([task.id for task in tasks])
        groups = []
        for task in tasks:
            left = self.lost.get(task.id, 0)
            self.lost[task.id] = left - 1
            if left <= 0:
                keep(task, Files())
            outcome = Outcome.INFRASTRUCTURE_FAULT if left > 0 else Outcome.COMPLETED
            one = Trajectory(task.id, 0, 0, (), (), outcome, None if left > 0 else 0.0, "its world was lost" if left > 0 else None)
            groups.append(RolloutGroup(task, 0, (one,)))
        return groups


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tasks:
    def engine(folder: Path, command: str, experiment: str, split: str) -> str:
        assert command == "evaluate" and sorted(path.name for path in (folder / "data" / "tasks").iterdir()) == ["a_1"]
        written = folder / "experiments" / "outputs" / experiment
        assert sorted(path.name for path in (written / "tasks").iterdir()) == NAMES[split]
        (written / "evaluations").mkdir(exist_ok=True)
        figures = {"aggregate": {"task_goal_completion": 50.0, "scenario_goal_completion": 0.0}}
        (written / "evaluations" / f"{split}.json").write_text(json.dumps(figures))
        return ""

    (tmp_path / "user" / "data" / "tasks" / "a_1").mkdir(parents=True)
    monkeypatch.setattr(leaderboard, "engine", engine)
    return Tasks(tmp_path / "user")


def test_both_experiments_are_written_and_what_is_next_is_told(source: Tasks, tmp_path: Path) -> None:
    lines = leaderboard.leaderboard(source, tmp_path / "out", "mine", Rolled())
    assert lines[0] == "test_normal: TGC 50.0, SGC 0.0 over 2 tasks, by the engine's own evaluation"
    packs = [line for line in lines if " pack mine_test_" in line]
    assert len(packs) == 2 and all(str(tmp_path / "out") in line for line in packs)
    assert not [line for line in lines if "tiny" in line]
    source.kind = "tiny"
    assert [line for line in leaderboard.leaderboard(source, tmp_path / "out", "mine", Rolled()) if "tiny world is no benchmark" in line]


def test_lost_worlds_are_tried_again_and_what_is_there_stays(source: Tasks, tmp_path: Path) -> None:
    rolled = Rolled({"test_normal_2": 1, "test_challenge_1": 2})
    with pytest.raises(
        InfrastructureFault, match=r"1 of 2 tasks have no result \(test_challenge_1: its world was lost\); the same command"
    ):
        leaderboard.leaderboard(source, tmp_path / "out", "mine", rolled)
    assert rolled.asked == [NAMES["test_normal"], ["test_normal_2"], NAMES["test_challenge"], ["test_challenge_1"]]
    again = Rolled()
    leaderboard.leaderboard(source, tmp_path / "out", "mine", again)
    assert again.asked == [["test_challenge_1"]]


def test_what_cannot_be_is_refused_in_one_line(source: Tasks, tmp_path: Path) -> None:
    for name in ("Mine", "my run", "", "-x", "../x"):
        with pytest.raises(UserError, match="--name"):
            leaderboard.leaderboard(source, tmp_path / "out", name, Rolled())
    with pytest.raises(UserError, match="--out"):
        leaderboard.leaderboard(source, tmp_path / "memory", "mine", Rolled())
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write"):
        leaderboard.leaderboard(source, tmp_path / "file", "mine", Rolled())
    (tmp_path / "other" / "data").mkdir(parents=True)
    with pytest.raises(UserError, match="is other data"):
        leaderboard.leaderboard(source, tmp_path / "other", "mine", Rolled())
    with pytest.raises(UserError, match="no split 'test_challenge'"):
        leaderboard.leaderboard(Tasks(source.root, known=("train", "test_normal")), tmp_path / "out", "mine", Rolled())
    assert not (tmp_path / "out").exists() and not (tmp_path / "memory").exists()


@pytest.mark.nightly
def test_the_engine_takes_it_and_comes_to_the_same_scores(environment: AppWorld, tmp_path: Path) -> None:
    """Gold solutions, but for a task each that is not done, whose code ends its world, and whose world cannot be evaluated."""
    spoilt = "import json\njson.dumps = json.dump = None\nrandom._os.sys.modules['appworld.apps.api_lib'].save_local_dbs = None\n"
    idle, dead, broken, *_ = (task.id for task in environment.tasks("test_normal"))
    texts = {idle: [""], dead: ["```python\nprint(1)\n```", "```python\nrandom._os.abort()\n```"], broken: [f"```python\n{spoilt}```"]}
    policy = ScriptedPolicy(ScriptedOptions(lambda task, row: texts.get(task.id) or environment.script(task.solution)))
    runner = RolloutRunner(environment, RolloutLimits(max_completions=5, timeout=120.0, workers=4), Clock())
    groups: list[RolloutGroup] = []

    def roll(tasks: Sequence[Task], keep: Callable[[Task, Episode], None]) -> list[RolloutGroup]:
        groups.extend(runner.run(policy, tasks, 1, Sampling(0.0), 0, keep))
        return groups

    out = tmp_path / "out"
    try:
        lines = environment.leaderboard(out, "mine", roll)
    finally:
        runner.close()
    assert {group.task.id for group in groups if group.mean == 0.0} == {idle, dead, broken}
    assert len(groups) == 12 and all(group.mean is not None for group in groups)
    assert lines[0].startswith("test_normal: TGC 50.0, SGC 50.0 over 6 tasks") and lines[1].startswith("test_challenge: TGC 100.0")
    for split in leaderboard.SPLITS:
        written = out / "experiments" / "outputs" / f"mine_{split}"
        report = json.loads((written / "evaluations" / f"{split}.json").read_text())["individual"]
        assert {name: found["success"] for name, found in report.items()} == {
            group.task.id: group.mean == 1.0 for group in groups if group.task.id in report
        }
        assert all((written / "tasks" / name / "logs" / "environment_io.md").is_file() for name in report)
    packed = leaderboard.engine(out, "pack", "mine_test_normal", "test_normal", "m", "a method", "l", "a model", "http://localhost")
    assert "bundle ready" in packed
    assert (out / "experiments" / "outputs" / "mine_test_normal" / "leaderboard.bundle").stat().st_size > 1_000
    assert (out / "data").is_symlink(), "the data is linked, not copied"
