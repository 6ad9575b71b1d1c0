"""Set-up is all or nothing: what is there stays until the new one is whole, and a second run mends a broken first one."""

import json
import sys
import threading
from pathlib import Path

import pytest

from coevolve import UserError
from coevolve.environments.appworld import data_checks, doctor, home, setup
from coevolve.environments.appworld.environment import AppWorld, AppWorldOptions

APPS = [f"app{number}" for number in range(12)]


def data(folder: Path, word: str = "Do it.", version: str = home.DATA) -> Path:
    """A folder that looks like the engine's data: one task."""
    for app in APPS:
        (folder / "data" / "base_dbs").mkdir(parents=True, exist_ok=True)
        (folder / "data" / "base_dbs" / f"{app}.db").touch()
        (folder / "data" / "api_docs" / "standard").mkdir(parents=True, exist_ok=True)
        (folder / "data" / "api_docs" / "standard" / f"{app}.json").write_text("{}")
        (folder / "data" / "tasks" / "a_1" / "dbs").mkdir(parents=True, exist_ok=True)
        (folder / "data" / "tasks" / "a_1" / "dbs" / f"{app}.jsonl").touch()
    truth = folder / "data" / "tasks" / "a_1" / "ground_truth"
    truth.mkdir()
    for name in data_checks.GROUND_TRUTH:
        (truth / name).write_text("{}")
    (folder / "data" / "tasks" / "a_1" / "specs.json").write_text(json.dumps({"instruction": word, "db_version": version}))
    (folder / "data" / "datasets").mkdir()
    (folder / "data" / "datasets" / "train.txt").write_text("a_1\n")
    return folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, with an engine that counts as installed; its verification counts one task."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(setup, "engine", lambda folder, requested: None)
    monkeypatch.setattr(setup, "verify", lambda root: {"passed": 1, "total": 1})


def query() -> str:
    return str(json.loads((home.root("full") / "data" / "tasks" / "a_1" / "specs.json").read_text())["instruction"])


def left() -> list[str]:
    return [path.name for path in home.home().glob(".part-*")]


def test_data_is_copied_checked_and_moved_into_place(tmp_path: Path) -> None:
    line = setup.setup({"data": str(data(tmp_path / "given"))})
    assert "1 of 1 reference solutions pass" in line and query() == "Do it." and not left()
    again = setup.setup({"data": str(tmp_path / "given")})
    assert again == line


@pytest.mark.parametrize("stop", [KeyboardInterrupt, UserError("2 of 9 reference solutions fail"), OSError(28, "No space left on device")])
def test_an_interrupted_set_up_leaves_the_old_data_and_the_next_one_goes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException | type[BaseException]
) -> None:
    setup.setup({"data": str(data(tmp_path / "old", "Old."))})

    def stopped(_root: Path) -> dict[str, int]:
        raise stop

    with monkeypatch.context() as patch, pytest.raises((KeyboardInterrupt, UserError)):
        patch.setattr(setup, "verify", stopped)
        setup.setup({"data": str(data(tmp_path / "new", "New."))})
    assert query() == "Old." and setup.marker(home.root("full")) is not None
    setup.setup({"data": str(tmp_path / "new")})
    assert query() == "New." and not left()
    (kept,) = home.root("full").parent.glob("full.before-*")
    assert "Old." in (kept / "data" / "tasks" / "a_1" / "specs.json").read_text(), "replaced data is moved aside, never deleted"


def test_what_a_killed_set_up_left_is_swept(tmp_path: Path) -> None:
    (home.home() / ".part-dead" / "root").mkdir(parents=True)
    home.root("full").mkdir(parents=True)  # without a marker: not whole
    setup.setup({"data": str(data(tmp_path / "given"))})
    assert not left() and query() == "Do it."


def test_two_set_ups_at_once_are_one(tmp_path: Path) -> None:
    given, lines = data(tmp_path / "given"), list[str]()
    threads = [threading.Thread(target=lambda: lines.append(setup.setup({"data": str(given)}))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(lines) == 3 and len(set(lines)) == 1
    assert not list(home.root("full").parent.glob("full.before-*"))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: (data / "tasks" / "a_1" / "dbs" / "app3.jsonl").unlink(), "app3.jsonl is missing"),
        (lambda data: (data / "base_dbs" / "app3.db").unlink(), "11 of 12 databases"),
        (lambda data: (data / "tasks" / "a_1" / "ground_truth" / "evaluation.py").unlink(), "evaluation.py is missing"),
        (lambda data: (data / "datasets" / "train.txt").unlink(), "names no task"),
        (lambda data: (data / "tasks" / "a_1" / "specs.json").write_text("{"), "cannot be read"),
        (lambda data: (data / "tasks" / "a_1" / "specs.json").write_text('{"db_version": "9"}'), "version 9, not"),
    ],
)
def test_incomplete_data_is_refused_by_name(tmp_path: Path, spoil: object, words: str) -> None:
    given = data(tmp_path / "given")
    assert callable(spoil)
    spoil(given / "data")
    with pytest.raises(UserError, match=words):
        setup.setup({"data": str(given)})
    assert not home.root("full").exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"dat": "tiny"}, "unknown setting 'dat' .did you mean 'data'"),
        ({"data": "/nowhere/at/all"}, "neither tiny, download, nor a folder"),
        ({"verify": "maybe"}, "give yes"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(settings: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        AppWorld.setup(**settings)
    assert "\n" not in str(caught.value)


def test_a_path_that_the_engine_misreads_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my-memory-stick"))
    with pytest.raises(UserError, match="misreads paths"):
        setup.setup({})
    assert "misreads paths" in doctor.doctor()[0]


def test_the_python_is_checked(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 3 10\n")
    broken.chmod(0o755)
    for path, words in ((tmp_path / "none", "does not run"), (broken, "is Python 3.10")):
        with pytest.raises(UserError, match=f"{words}.*needs Python 3.11"):
            setup._python(str(path))
    assert (
        setup._problem(sys.executable) is None
        or "." in str(setup._problem(sys.executable))
        or "lacks" in str(setup._problem(sys.executable))
    )


def test_a_missing_network_is_reported_with_the_fix() -> None:
    command = [sys.executable, "-c", "import sys; print('ERROR: No matching distribution', file=sys.stderr); sys.exit(1)"]
    with pytest.raises(UserError, match=r"pip failed .No matching distribution"):
        setup.run(command, 60.0, "pip")
    with pytest.raises(UserError, match="did not finish within"):
        setup.run([sys.executable, "-c", "input() if False else __import__('time').sleep(60)"], 0.2, "pip")


def test_the_doctor_names_what_is_missing_and_how_to_get_it(tmp_path: Path) -> None:
    lines = doctor.doctor()
    assert len(lines) == 2 and all("coevolve env setup appworld" in line for line in lines)
    setup.setup({"data": str(data(tmp_path / "given"))})
    (home.root("full") / "data" / "tasks" / "a_1" / "dbs" / "app0.jsonl").unlink()
    assert any("app0.jsonl is missing" in line for line in doctor.doctor())


def test_without_a_set_up_the_environment_says_so() -> None:
    for options in (AppWorldOptions(), AppWorldOptions(data="full"), AppWorldOptions(data="tiny")):
        with pytest.raises(UserError, match="coevolve env setup appworld"):
            AppWorld(options).splits()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"data": "ful"}, "did you mean 'full'"),
        ({"max_interactions": 0}, "max_interactions"),
        ({"block_seconds": 0.0}, "block_seconds"),
        ({"memory": 1}, "memory"),
        ({"max_worlds": -1}, "max_worlds"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        AppWorld(AppWorldOptions(**options))  # type: ignore[arg-type]
