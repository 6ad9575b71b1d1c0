"""`coevolve leaderboard`: the trained policy attempts what the environment asks for, and every finished episode is handed over."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from coevolve import Episode, HasLeaderboard, Outcome, Rolls, Task, UserError, hookimpl
from coevolve.core import leaderboard
from coevolve.core.cli.main import main
from coevolve.core.leaderboard import submit
from coevolve.core.registry import Registry
from coevolve.core.settings.config import Config
from coevolve.testing import Stockroom


class Board(Stockroom):
    """The stockroom with a leaderboard, which takes the world's state and refuses one task's."""

    name: ClassVar[str] = "board"
    asked: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    def leaderboard(self, folder: Path, name: str, roll: Rolls) -> Sequence[str]:
        tasks, kept = self.tasks("test")[:5], dict[str, Any]()

        def keep(task: Task, episode: Episode) -> None:
            if task is tasks[3]:
                raise OSError("the disk is gone")
            kept[task.id] = episode.state()

        groups = roll(tasks, keep)
        assert [group.task.id for group in groups] == [task.id for task in tasks]
        assert [len(group.trajectories) for group in groups] == [1] * 5
        faults = [group.trajectories[0].fault for group in groups if group.trajectories[0].outcome is Outcome.INFRASTRUCTURE_FAULT]
        self.asked.append((name, kept))
        return [f"{len(kept)} of {len(tasks)} in {folder}", *map(str, faults)]


class Plugin:
    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return [Board]


Parts = tuple[Registry, Config, Path]


@pytest.fixture
def finished(runs: Any, folder: Path) -> Parts:
    """A run on the board."""
    registry = runs.registry(Plugin())
    config = runs.config(registry, "environment.name=board", "steps=1", "evaluation.every=0")
    runs.run(folder, "environment.name=board", "steps=1", "evaluation.every=0", plugins=(Plugin(),))
    return registry, config, folder


@pytest.mark.parametrize("rows", [2, 32])
def test_each_task_is_tried_once_and_kept(finished: Parts, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    registry, config, folder = finished
    assert issubclass(Board, HasLeaderboard) and not issubclass(Stockroom, HasLeaderboard)
    monkeypatch.setattr(leaderboard, "ROWS", rows)
    monkeypatch.setattr(Board, "asked", [])
    lines = submit(config, registry, folder, folder / "out", None)
    assert lines[0] == f"4 of 5 in {folder / 'out'}"
    assert lines[1:] == ("keep: OSError: the disk is gone",), "what could not be kept has no result"
    again = submit(config, registry, folder, folder / "out", "mine")
    assert again == lines
    (first, kept), (second, kept_again) = Board.asked
    assert (first, second) == ("run", "mine") and kept == kept_again and len(kept) == 4


def test_it_is_the_trained_policy_that_tries(finished: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    registry, config, folder = finished
    made: list[Any] = []
    component: Callable[..., Any] = registry.component("policy", config.policy.name)

    def build(options: Any) -> Any:
        made.append(options)
        return component(options)

    real = Registry.component
    monkeypatch.setattr(Registry, "component", lambda self, kind, name: build if kind == "policy" else real(self, kind, name))
    submit(config, registry, folder, folder / "out", None)
    assert [options.model for options in made] == [str(folder / "policy")]


def test_what_there_is_not_is_told_in_one_line(runs: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    registry = runs.registry(Plugin())
    with pytest.raises(UserError, match="'stockroom' has no leaderboard"):
        submit(runs.config(registry), registry, tmp_path, tmp_path / "out", None)
    with pytest.raises(UserError, match="no trained policy yet; finish it first: coevolve resume"):
        submit(runs.config(registry, "environment.name=board"), registry, tmp_path, tmp_path / "out", None)
    assert main(["leaderboard", "desk", str(tmp_path)]) == 2
    assert "is not a run folder" in capfd.readouterr().err
    (tmp_path / "config.toml").write_text(
        'environment.name = "desk"\npolicy.name = "scripted"\ntrainer.name = "grpo"\nsampler.name = "uniform"\n'
    )
    for name, words in (("desk", "'desk' has no leaderboard"), ("bfcl", "is on 'desk', not 'bfcl'"), ("dsk", "did you mean 'desk'")):
        assert main(["leaderboard", name, str(tmp_path)]) == 2
        told = capfd.readouterr().err
        assert words in told and told.count("\n") == 1
    assert not (tmp_path / "leaderboard").exists()
