"""Readers of a run write nothing, on read-only folders too; what a run leaves can be read by whom the umask lets."""

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from coevolve import UserError
from coevolve.core.model import TaskPool
from coevolve.core.record.checkpoints import damage, seal
from coevolve.core.record.permissions import share
from coevolve.core.record.store import Store
from coevolve.plugins.policies import models
from coevolve.testing import make_task


def write(store: Store, *names: str) -> None:
    made = [make_task(name) for name in names]
    store.add_pool(0, TaskPool(tuple(made), len(store.pool()) + 1), made)


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}


def ids(path: Path) -> list[str]:
    store = Store(path)
    try:
        return [task.id for task in store.pool()]
    finally:
        store.close()


@pytest.fixture(params=["run", "a run? #1 50%", "grö ße"])
def file(tmp_path: Path, request: Any) -> Path:
    folder: Path = tmp_path / request.param
    folder.mkdir()
    store = Store(folder / "run.sqlite", create=True)
    write(store, "one")
    store.close()
    return folder / "run.sqlite"


def test_a_finished_run_is_read_without_a_trace(file: Path) -> None:
    before = state(file.parent)
    assert list(before) == ["run.sqlite"]
    assert ids(file) == ["one"] and state(file.parent) == before


def test_a_run_that_goes_on_is_read_with_its_newest_rows(file: Path) -> None:
    writer = Store(file, create=True)
    write(writer, "two")
    reader = Store(file)
    assert [task.id for task in reader.pool()] == ["one", "two"]
    write(writer, "three")
    assert [task.id for task in reader.pool()] == ["one", "two", "three"]
    reader.close()
    write(writer, "four")
    writer.close()
    assert ids(file) == ["one", "two", "three", "four"]


@pytest.mark.parametrize("index", [False, True])
def test_the_log_that_a_killed_run_left_is_read_and_stays(file: Path, index: bool, tmp_path: Path) -> None:
    writer = Store(file, create=True)
    write(writer, "two")
    killed = tmp_path / "killed"
    killed.mkdir()
    for ending in ("", "-wal", *(["-shm"] if index else [])):
        shutil.copyfile(f"{file}{ending}", killed / f"run.sqlite{ending}")
    writer.close()
    before = {name: found[1] for name, found in state(killed).items() if not name.endswith("-shm")}
    assert ids(killed / "run.sqlite") == ["one", "two"]
    assert {name: found[1] for name, found in state(killed).items() if not name.endswith("-shm")} == before
    assert ("run.sqlite-shm" in state(killed)) == index


def test_a_reader_cannot_write(file: Path) -> None:
    store = Store(file)
    with pytest.raises(Exception, match="readonly"):
        write(store, "two")
    store.close()


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077, 0o002], ids=oct)
def test_files_get_the_permissions_of_the_umask(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        folder = tmp_path / "checkpoint"
        (folder / "deep").mkdir(parents=True, mode=0o700)
        for file in (folder / "model.safetensors", folder / "deep" / "optimizer.pt"):
            file.write_bytes(b"weights")
            file.chmod(0o600)
        (folder / "run.sh").touch(0o700)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.write_text("mine", "utf-8")
        elsewhere.chmod(0o600)
        (folder / "link").symlink_to(elsewhere)
        seal(folder)
        share(folder)
        assert os.umask(mask) == mask
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    finally:
        os.umask(before)
    assert modes.pop("link") == 0o600
    assert modes.pop("run.sh") == 0o700 | (0o666 & ~mask)
    folders = {modes.pop(name) for name in ("checkpoint", "deep")}
    assert folders == {0o777 & ~mask} and set(modes.values()) == {0o666 & ~mask}
    assert damage(folder) is None


def test_weights_that_may_not_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root may read everything, the system's answer is replaced."""
    (tmp_path / "config.json").write_text("{}", "utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"")
    monkeypatch.setattr(models, "access", lambda file, how: False)
    with pytest.raises(UserError, match=r"model.safetensors may not be read by you: .*chmod a\+r"):
        models.locate(str(tmp_path))
