"""What `resume --set` may change, and when config.toml says so: never before the run has taken the setting up."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from coevolve import UserError
from coevolve.core.run.drive import resume
from coevolve.core.run.resume_rules import check_changes
from coevolve.core.settings.config import load_config
from coevolve.testing import Stockroom, TabularTrainer


def groups(folder: Path) -> int:
    with sqlite3.connect(folder / "run.sqlite") as db:
        (found,) = db.execute("SELECT count(*) FROM groups").fetchone()
    db.close()
    return int(found)


@pytest.mark.parametrize(
    "setting", ["seed=1", "initial_tasks=7", "initial_synthetic=7", "train_split=test", "evaluation.split=train", "environment.name=desk"]
)
def test_what_holds_for_a_whole_run_is_refused(runs: Any, folder: Path, setting: str) -> None:
    runs.run(folder, "steps=2")
    before = (folder / "config.toml").read_text(), groups(folder)
    key = setting.partition("=")[0]
    with pytest.raises(UserError, match=rf"a resume cannot change {key} from .* to .*: .*; leave it as it is, .* --set {key}=\.\.\. --out"):
        resume(runs.registry(), folder, ["steps=4", setting])
    assert ((folder / "config.toml").read_text(), groups(folder)) == before
    assert resume(runs.registry(), folder)["iterations"] == 2


@pytest.mark.parametrize(
    ("sets", "key"),
    [
        (["trainer.lora_rank=4"], "trainer.lora_rank"),
        (["trainer.lora_alpha=4"], "trainer.lora_alpha"),
        (["trainer.num_iterations=2"], "trainer.num_iterations"),
        (["policy.model=m/nan"], "policy.model"),
        (["policy.name=vllm"], "policy.model"),  # another engine begins with its own default of a model
        (["environment.seed=5"], "environment.seed"),
        (["environment.name=bfcl"], "environment.name"),
    ],
)
def test_the_default_components_say_what_checkpoints_and_tasks_hang_on(runs: Any, tmp_path: Path, sets: Sequence[str], key: str) -> None:
    registry = runs.registry()
    own = tmp_path / "config.toml"
    own.write_text('policy.model = "m/own"')
    before = load_config(registry, file=own)
    with pytest.raises(UserError, match=rf"a resume cannot change {key} "):
        check_changes(before, load_config(registry, file=own, sets=sets), registry, tmp_path)


@pytest.mark.parametrize(
    "sets",
    [
        ["steps=900", "trainer.learning_rate=1e-7", "trainer.micro_batch=1", "policy.dtype=float32", "batch=4", "workers=3"],
        ["policy.name=vllm", "policy.model=m/own"],
        ["synthesizer.name=none"],
    ],
)
def test_all_else_may_change(runs: Any, tmp_path: Path, sets: Sequence[str]) -> None:
    registry = runs.registry()
    own = tmp_path / "config.toml"
    own.write_text('policy.model = "m/own"')
    check_changes(load_config(registry, file=own), load_config(registry, file=own, sets=sets), registry, tmp_path)


def test_a_setting_under_which_the_checkpoint_cannot_be_taken_up_is_not_kept(
    runs: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.run(folder, "steps=2")
    before = (folder / "config.toml").read_text()
    with monkeypatch.context() as patch:

        def refuse(self: Any, loop: Any, resume_from: Path | None) -> None:
            raise ValueError("loaded state dict contains a parameter group that doesn't match")

        patch.setattr(TabularTrainer, "train", refuse)
        with pytest.raises(ValueError, match="parameter group"):
            resume(runs.registry(), folder, ["steps=4", "trainer.rate=0.5"])
    assert (folder / "config.toml").read_text() == before
    assert resume(runs.registry(), folder)["iterations"] == 2


def test_a_setting_under_which_the_parts_cannot_be_made_is_not_kept(runs: Any, folder: Path) -> None:
    runs.run(folder, "steps=2")
    before = (folder / "config.toml").read_text()
    with pytest.raises(UserError, match=r"holds no table\.json"):
        resume(runs.registry(), folder, ["policy.model=nowhere"])
    assert (folder / "config.toml").read_text() == before


def test_a_setting_that_was_taken_up_is_kept_when_the_run_stops_in_the_next_iteration(
    runs: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.run(folder, "steps=2")
    with monkeypatch.context() as patch:

        def stop(self: Any, task: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(Stockroom, "open", stop)
        with pytest.raises(KeyboardInterrupt):
            resume(runs.registry(), folder, ["steps=4"])
    assert resume(runs.registry(), folder)["iterations"] == 4
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith("config")) == ["config.toml"]


def test_a_finished_run_takes_a_setting_up_too(runs: Any, folder: Path) -> None:
    runs.run(folder, "steps=2")
    resume(runs.registry(), folder, ["workers=2"])
    assert "workers = 2" in (folder / "config.toml").read_text()


def test_before_the_first_checkpoint_anything_may_change(runs: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:

        def stop(self: Any, loop: Any, resume_from: Path | None) -> None:
            raise KeyboardInterrupt

        patch.setattr(TabularTrainer, "train", stop)
        with pytest.raises(KeyboardInterrupt):
            runs.run(folder, "steps=2")
    assert resume(runs.registry(), folder, ["seed=3"])["iterations"] == 2
    assert "seed = 3" in (folder / "config.toml").read_text()


def test_a_setting_may_mend_settings_that_cannot_be_read_any_longer(runs: Any, folder: Path) -> None:
    runs.run(folder, "steps=2")
    file = folder / "config.toml"
    file.write_text(file.read_text().replace("steps = 2", "steps = -2"))
    with pytest.raises(UserError, match="steps"):
        resume(runs.registry(), folder)
    assert resume(runs.registry(), folder, ["steps=4"])["iterations"] == 4
