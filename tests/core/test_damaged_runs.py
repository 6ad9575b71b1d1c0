"""A run whose files were lost or damaged: what can go on goes on to the same end, the rest is said in one line, nothing more is lost."""

import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coevolve import UserError, hookimpl
from coevolve.core.cli.show import show
from coevolve.core.record.checkpoints import SEAL, damage, seal
from coevolve.core.run.drive import resume


class Notes:
    """Keeps where a run went on from and the diagnoses."""

    def __init__(self) -> None:
        self.began: list[int] = []
        self.texts: list[str] = []

    @hookimpl
    def coevolve_run_started(self, folder: Path, config: dict[str, Any], iteration: int) -> None:
        self.began.append(iteration)

    @hookimpl
    def coevolve_diagnosed(self, iteration: int, text: str) -> None:
        self.texts.append(text)


def rows(folder: Path) -> list[Any]:
    with sqlite3.connect(folder / "run.sqlite") as db:
        found = db.execute("SELECT iteration, task_id, mean FROM groups ORDER BY number").fetchall()
    db.close()
    return found


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-3])


def changed(file: Path) -> None:
    found = bytearray(file.read_bytes())
    found[1] ^= 1
    file.write_bytes(found)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda c: cut(c / "table.json"), "table.json is not what was written"),
        (lambda c: changed(c / "table.json"), "table.json is not what was written"),
        (lambda c: (c / "table.json").unlink(), "table.json is missing"),
        (lambda c: (c / SEAL).unlink(), f"{SEAL} is missing"),
        (lambda c: cut(c / SEAL), "it cannot be read"),
        (shutil.rmtree, "its folder is missing"),
    ],
)
def test_a_damaged_checkpoint_is_told_and_the_one_before_leads_to_the_same_end(
    runs: Any, folder: Path, harm: Callable[[Path], None], words: str
) -> None:
    runs.run(folder)
    before, policy = rows(folder), (folder / "policy" / "table.json").read_text()
    harm(folder / "checkpoints" / "6")
    notes = Notes()
    resume(runs.registry(notes), folder)
    assert notes.began == [4]
    assert f"the checkpoint of iteration 6, {folder / 'checkpoints' / '6'}, is damaged ({words}" in notes.texts[0]
    assert "going on from iteration 4" in notes.texts[0]
    assert rows(folder) == before and (folder / "policy" / "table.json").read_text() == policy


def test_without_a_whole_checkpoint_nothing_is_touched(runs: Any, folder: Path) -> None:
    runs.run(folder)
    before = rows(folder)
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(UserError, match=r"iteration 6.*folder is missing.*no earlier one is whole: restore .*coevolve run --config"):
        resume(runs.registry(), folder)
    assert rows(folder) == before


def test_a_seal_holds_files_in_folders(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "weights").write_bytes(b"abc")
    seal(tmp_path)
    assert damage(tmp_path) is None
    seal(tmp_path)
    assert damage(tmp_path) is None, "a seal does not seal itself"
    (tmp_path / "inner" / "weights").write_bytes(b"abd")
    assert damage(tmp_path) == "inner/weights is not what was written"


@pytest.mark.parametrize("lose", [Path.unlink, lambda file: file.write_bytes(b"")])
def test_a_lost_record_of_a_run_with_checkpoints_is_no_new_run(runs: Any, folder: Path, lose: Callable[[Path], None]) -> None:
    runs.run(folder)
    policy = (folder / "policy" / "table.json").read_text()
    lose(folder / "run.sqlite")
    with pytest.raises(UserError, match=r"has checkpoints, but its run\.sqlite is lost: restore it"):
        resume(runs.registry(), folder)
    assert (folder / "policy" / "table.json").read_text() == policy


def test_a_run_stopped_before_it_had_a_record_begins(runs: Any, folder: Path) -> None:
    runs.run(folder, "steps=2")
    shutil.rmtree(folder / "checkpoints")
    (folder / "run.sqlite").unlink()
    assert resume(runs.registry(), folder)["iterations"] == 2


@pytest.mark.parametrize("name", [".lock", "config.toml.new"])
def test_a_folder_in_the_place_of_a_file_is_one_line(runs: Any, folder: Path, name: str) -> None:
    runs.run(folder, "steps=2")
    (folder / name).unlink(missing_ok=True)
    (folder / name).mkdir()
    with pytest.raises(UserError, match=rf"cannot write .*{re.escape(name)}: .*; move it away$"):
        resume(runs.registry(), folder, ["steps=4"])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda file: file.write_text("hello " * 100), "file is not a database"),
        (lambda file: file.write_bytes(file.read_bytes()[:5000]), "malformed"),
    ],
)
def test_a_damaged_record_is_one_line_without_advice_to_resume(runs: Any, folder: Path, damage: Callable[[Path], Any], words: str) -> None:
    runs.run(folder)
    damage(folder / "run.sqlite")
    for use in (lambda: resume(runs.registry(), folder), lambda: show(folder, None, None)):  # type: ignore[arg-type]
        with pytest.raises(UserError, match=rf"run\.sqlite: .*{words}; restore it from a copy"):
            use()


@pytest.mark.parametrize(
    "sql", ["DROP TABLE tasks", "DROP TABLE meta", "DROP TABLE groups", "DROP TABLE checkpoints", "ALTER TABLE tasks DROP COLUMN task"]
)
def test_a_record_that_lacks_a_table_is_one_line_without_advice_to_resume(runs: Any, folder: Path, sql: str) -> None:
    runs.run(folder, "steps=2")
    with sqlite3.connect(folder / "run.sqlite") as db:
        db.execute(sql)
    db.close()
    with pytest.raises(UserError, match=r"cannot use the run's file .*run\.sqlite: .*no .*; restore it from a copy"):
        resume(runs.registry(), folder, ["steps=4"])


@pytest.mark.parametrize(("table", "column"), [("tasks", "task"), ("trajectories", "trajectory")])
@pytest.mark.parametrize("text", ["nonsense", "{}", "[1]"])
def test_a_damaged_row_is_one_line(runs: Any, folder: Path, table: str, column: str, text: str) -> None:
    runs.run(folder)
    with sqlite3.connect(folder / "run.sqlite") as db:
        db.execute(f"UPDATE {table} SET {column} = ? WHERE number = 2", (text,))
    db.close()
    with pytest.raises(UserError, match=r"cannot use the run's file .*run\.sqlite: .*; restore it from a copy"):
        resume(runs.registry(), folder)


def test_a_finished_run_resumed_keeps_its_trained_policy(runs: Any, folder: Path) -> None:
    runs.run(folder)
    policy = (folder / "policy" / "table.json").read_text()
    assert policy != "{}"
    resume(runs.registry(), folder)
    assert (folder / "policy" / "table.json").read_text() == policy


def test_fewer_steps_than_are_done_are_refused(runs: Any, folder: Path) -> None:
    runs.run(folder)
    config = (folder / "config.toml").read_text()
    with pytest.raises(UserError, match=r"steps is 4, but .* has done 6 iterations: set steps to that or more"):
        resume(runs.registry(), folder, ["steps=4"])
    assert (folder / "config.toml").read_text() == config
