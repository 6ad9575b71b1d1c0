"""A plugin's command opens a run's trained policy; it attempts tasks once each, and every scored episode can be kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coevolve import Episode, Outcome, Task, UserError, trained_run
from coevolve.core.registry import Registry
from coevolve.core.run import prepare
from coevolve.core.run import trained_run as module


@pytest.fixture
def finished(runs: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run in the stockroom, whose plugin is installed."""
    runs.run(folder, "steps=1", "evaluation.every=0")
    monkeypatch.setattr(prepare, "load_plugins", lambda **_: runs.registry())
    return folder


@pytest.mark.parametrize("rows", [2, 32])
def test_each_task_is_tried_once_and_kept(finished: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(module, "ROWS", rows)
    found = []
    for _ in range(2):
        kept: dict[str, Any] = {}
        with trained_run(finished, "stockroom") as run:
            tasks = run.environment.tasks("test")[:5]

            def keep(task: Task, episode: Episode, kept: dict[str, Any] = kept, refused: Task = tasks[3]) -> None:
                if task is refused:
                    raise OSError("the disk is gone")
                kept[task.id] = episode.state()

            groups = run.attempt(tasks, keep)
        assert [group.task.id for group in groups] == [task.id for task in tasks]
        assert [len(group.trajectories) for group in groups] == [1] * 5
        faults = [group.trajectories[0].fault for group in groups if group.trajectories[0].outcome is Outcome.INFRASTRUCTURE_FAULT]
        assert faults == ["keep: OSError: the disk is gone"], "what could not be kept has no result"
        found.append(kept)
    assert found[0] == found[1] and len(found[0]) == 4


def test_it_is_the_trained_policy_that_tries(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    real: Callable[..., Any] = Registry.make

    def make(self: Registry, kind: str, chosen: Any) -> Any:
        made.append((kind, chosen.options))
        return real(self, kind, chosen)

    monkeypatch.setattr(Registry, "make", make)
    with trained_run(finished, "stockroom", ["policy.share=0.9"]) as run:
        assert run.folder == finished
    options = dict(made)["policy"]
    assert (options.model, options.share) == (str(finished / "policy"), 0.9)


def test_what_cannot_be_opened(runs: Any, finished: Path, tmp_path: Path) -> None:
    def opened(folder: Path, environment: str) -> str:
        with pytest.raises(UserError) as caught, trained_run(folder, environment):
            pass
        return str(caught.value)

    assert "nowhere is not a run folder" in opened(tmp_path / "nowhere", "stockroom")
    assert opened(finished, "desk").endswith("is on 'stockroom', not 'desk'; name a run on 'desk'")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.toml").write_text((finished / "config.toml").read_text())
    assert "no trained policy yet; finish it first: coevolve resume" in opened(tmp_path / "begun", "stockroom")
