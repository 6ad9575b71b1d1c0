"""Code that goes for the host through what the server does with its world: the evaluation, the socket, the files, the other worlds."""

import hashlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from coevolve import Observation, UserError
from coevolve.core.registry import load_plugins
from coevolve.core.settings.config import load_config
from coevolve.environments.appworld.environment import AppWorld
from coevolve.environments.appworld.episode import AppWorldEpisode

pytestmark = pytest.mark.slow

START = (
    "os_ = random._os\nposix, modules = os_.sys.modules['posix'], os_.sys.modules\nopener = getattr(json.codecs.builtins, 'op' + 'en')\n"
)
LOG = """cache = modules['appworld.apps.model_lib'].CachedDBHandler.cache
for path, (_, tracker) in cache.items():
    if 'task_output' in path and 'spotify' in path:
"""
ENDLESS = "WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) SELECT count(*) FROM r"
SQL = {
    "a new database": ["ATTACH DATABASE '{canary}' AS other", "CREATE TABLE other.t (a)"],
    "a copy": ["VACUUM INTO '{canary}'"],
    "a foreign database": ["ATTACH DATABASE '{foreign}' AS other", "DELETE FROM other.t"],
    "a base database": ["ATTACH DATABASE '{base}' AS other", "DELETE FROM other.songs"],
    "a genuine look": ["INSERT INTO songs (title) VALUES ('x'); ATTACH DATABASE '{canary}' AS other"],
    "no end": [f"INSERT INTO songs (title) {ENDLESS}"],
    "an extension": ["UPDATE songs SET title=load_extension('{foreign}') WHERE id = 1"],
}
ANSWERS = {
    "a value of another type": '{"id": ID, "ok": true, "value": 5}',
    "fields missing": '{"id": ID, "ok": true, "value": {"output": "x"}}',
    "calls of another shape": '{"id": ID, "ok": true, "value": {"output": "x", "error": null, "calls": [["a.b"]], "completed": false}}',
    "an output over the limit": '{"id": ID, "ok": true, "value": {"output": "LONG", "error": null, "calls": [], "completed": true}}',
    "depth": '{"id": ID, "ok": true, "value": {"output": "", "error": null, "calls": [["a.b", {"x": DEEP}, 200, 1]], "completed": true}}',
    "an error of another kind": '{"id": ID, "ok": false, "error": {"kind": "infrastructure", "text": "lost"}}',
    "no error": '{"id": ID, "ok": false}',
    "another id": '{"id": 99, "ok": true, "value": null}',
    "no JSON": "rubbish",
    "no object": "[]",
    "two answers": '{"id": ID, "ok": true}\\n{"id": ID, "ok": true}',
}
SEND = """import time
line = LINE.replace('LONG', 'x' * 30_000_000).replace('DEEP', '[' * 500 + ']' * 500) + chr(10)
for number in range(3, 20):
    try:
        os_.fstat(number)
        if modules['stat'].S_ISSOCK(os_.fstat(number).st_mode):
            data = line.encode()
            while data:
                data = data[posix.write(number, data):]
    except OSError:
        pass
"""


def run(episode: AppWorldEpisode, code: str) -> Observation:
    return episode.step(f"```python\n{START}{code}\n```")


@pytest.fixture
def episode(environment: AppWorld) -> Iterator[AppWorldEpisode]:
    with environment.open(environment.tasks("train")[0]) as opened:
        if {"landlock", "seccomp"} - set(opened.world.about["guards"]):
            pytest.skip("this kernel has no guards; docs/security.md lists what is left")
        yield opened


def digest(folder: Path) -> dict[str, str]:
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.mark.parametrize("name", SQL)
def test_sql_in_the_change_log_is_not_executed(environment: AppWorld, episode: AppWorldEpisode, tmp_path: Path, name: str) -> None:
    canary, foreign, base = tmp_path / "canary.db", tmp_path / "foreign.db", environment.root / "data" / "base_dbs"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE t (a)")
    connection.execute("INSERT INTO t VALUES (1)")
    connection.commit()
    connection.close()
    before = digest(base)
    lines = [text.format(canary=canary, foreign=foreign, base=base / "spotify.db") for text in SQL[name]]
    seen = run(episode, LOG + f"        tracker.changes += [(text, [], False) for text in {lines!r}]\n        print('added')")
    assert "added" in str(seen.messages[0]["content"]), seen
    began = time.monotonic()
    assert episode.score() == 0.0 and time.monotonic() - began < 20.0
    found = episode.evaluation()["failures"]
    assert "does not write" in found[0]["trace"], found
    assert [path.name for path in tmp_path.iterdir()] == ["foreign.db"] and digest(base) == before
    assert sqlite3.connect(foreign).execute("SELECT * FROM t").fetchall() == [(1,)]


def test_a_leaderboard_gets_the_untouched_world_of_code_that_forges(
    environment: AppWorld, episode: AppWorldEpisode, tmp_path: Path
) -> None:
    run(episode, LOG + "        tracker.changes.append(('ATTACH DATABASE ? AS x', ['/tmp/x'], False))")
    folder = tmp_path / "export"
    episode.export(folder)
    assert (folder / "dbs" / "spotify.jsonl").read_bytes() == b"" and (folder / "logs" / "environment_io.md").is_file()
    assert not [path for path in folder.rglob("*") if path.is_symlink()]


def test_a_world_finds_no_other_world_and_no_other_task(environment: AppWorld, episode: AppWorldEpisode) -> None:
    other = environment.tasks("train")[-1]
    with environment.open(other) as beside:
        own = str(
            run(beside, "print(os_.environ['TMPDIR'])\nopener(os_.environ['TMPDIR'] + '/note', 'w').write('found')").messages[0]["content"]
        )
        folder = next(line for line in own.splitlines() if line.startswith("/"))
        specs = f"{Path(folder).parents[2] / 'data' / 'tasks'}/{other.id}/specs.json"
        assert "found" in str(run(beside, f"print(opener({folder + '/note'!r}).read())").messages[0]["content"])
        assert run(beside, f"print(len(opener({specs!r}).read()))").steps[0].error is None
        for code in (
            f"opener({folder + '/note'!r}).read()",
            f"opener({folder + '/mine'!r}, 'w')",
            f"posix.listdir({folder!r})",
            f"posix.listdir({str(Path(folder).parent)!r})",
            f"opener({specs!r}).read()",
            f"posix.listdir({str(Path(specs).parents[1])!r})",
        ):
            assert "PermissionError" in str(run(episode, code).steps[0].error), code


@pytest.mark.parametrize("name", ANSWERS)
def test_a_forged_answer_is_the_codes_fault(episode: AppWorldEpisode, name: str) -> None:
    asked = episode.world.connection._asked + 1  # type: ignore[union-attr]
    seen = run(episode, SEND.replace("LINE", repr(ANSWERS[name].replace("ID", str(asked)).replace("\\n", "\n")), 1))
    assert seen.done and str(seen.fault).startswith("garbage"), seen.fault
    assert episode.score() == 0.0 and len(str(seen.messages)) < 1_000


SAVES = {
    "sleeps": "import time\nmodules['appworld.apps.api_lib'].save_local_dbs = lambda **_: time.sleep(600)",
    "spins": "def spin(**_):\n    while True:\n        pass\nmodules['appworld.apps.api_lib'].save_local_dbs = spin",
    "ends the process": "modules['appworld.apps.api_lib'].save_local_dbs = lambda **_: posix._exit(0)",
    "kills the process": "modules['appworld.apps.api_lib'].save_local_dbs = lambda **_: posix.kill(posix.getpid(), 9)",
    "writes nothing": "modules['appworld.apps.api_lib'].save_local_dbs = lambda **_: None",
}


@pytest.mark.parametrize("name", SAVES)
def test_a_save_that_the_code_has_changed_scores_nothing(
    environment: AppWorld, episode: AppWorldEpisode, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(environment.worlds, "limits", evolve(environment.worlds.limits, score_seconds=8.0))
    assert run(episode, SAVES[name]).steps[0].error is None
    began = time.monotonic()
    assert episode.score() == 0.0 and time.monotonic() - began < 16.0


def test_nested_folders_do_not_end_the_server(environment: AppWorld, episode: AppWorldEpisode) -> None:
    server = environment.worlds.server.pid
    code = "posix.chdir(os_.environ['TMPDIR'])\nfor _ in range(1_500):\n    posix.mkdir('d')\n    posix.chdir('d')"
    assert run(episode, code).steps[0].error is None
    episode.close()
    with environment.open(environment.tasks("train")[0]) as after:
        assert run(after, "print(1)").steps[0].error is None
    assert environment.worlds.server.pid == server


def test_many_threads_end_the_world(episode: AppWorldEpisode) -> None:
    code = "start, thread = modules['threading'].stack_size(32_768), modules['threading'].Thread\nimport time\n"
    code += "for _ in range(400):\n    thread(target=time.sleep, args=(60,), daemon=True).start()\ntime.sleep(5)"
    seen = run(episode, code)
    assert seen.done and str(seen.fault).startswith("processes"), seen


@pytest.mark.parametrize("settings", [["environment.wall_seconds=40"], ["environment.score_seconds=30"], ["step_timeout=20"]])
def test_limits_that_do_not_lie_within_the_runs_are_refused_at_the_start(settings: list[str]) -> None:
    sets = ["environment.name=appworld", "synthesizer.name=none", *settings]
    plugins = load_plugins(only=["coevolve.*"])
    with pytest.raises(UserError, match="step_timeout"):
        load_config(plugins, sets=sets)
    assert load_config(plugins, sets=[*sets, "step_timeout=60"]).step_timeout == 60.0
