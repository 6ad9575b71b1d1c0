"""What is taken of the files that a world has written: rows for tables, in plain files of bounded size."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from coevolve.environments.appworld.engine import world_files
from coevolve.environments.appworld.engine.change_log import Forged, checked, tables
from coevolve.environments.appworld.engine.world_files import MAX_FILE, databases, others, plain_file

GENUINE: list[list[Any]] = [
    ["INSERT INTO songs (record_hash, title) VALUES (?, ?)", ["x", "A ? song; DROP TABLE songs"], False],
    ["INSERT INTO songs (record_hash, title) VALUES (?, ?)", [["x", "A"], ["y", None]], True],
    ['INSERT INTO "songs" ("title") VALUES (?)', [1.5], False],
    ["INSERT INTO songs_fts (id, saved_search_text) VALUES (?, ?)", [1, "a"], False],
    ["UPDATE songs SET record_hash=?, title=? WHERE songs.id = ?", ["x", "B", 1], False],
    ["UPDATE songs_fts SET saved_search_text = ? WHERE id = ?", ["b", 1], False],
    ["DELETE FROM songs WHERE songs.id = ?", [2**63 - 1], False],
    ["DELETE FROM songs WHERE songs.id IN (?, ?) AND title IS NULL", [1, 2], False],
    ["DELETE FROM songs", [], False],
]
STATEMENTS = [
    *("ATTACH DATABASE ? AS other", "ATTACH DATABASE '/tmp/x' AS other", "DETACH DATABASE main", "VACUUM INTO '/tmp/x'", "VACUUM"),
    *("PRAGMA writable_schema = 1", "CREATE TABLE t (a)", "DROP TABLE songs", "ALTER TABLE songs RENAME TO s", "REINDEX", "ANALYZE"),
    *(
        "CREATE TRIGGER t AFTER INSERT ON songs BEGIN DELETE FROM songs; END",
        "BEGIN",
        "SELECT load_extension(?)",
        "EXPLAIN DELETE FROM songs",
    ),
    *(
        "INSERT INTO songs (title) SELECT title FROM songs",
        "INSERT INTO songs (title) VALUES (load_extension(?))",
        "REPLACE INTO songs (id) VALUES (?)",
    ),
    "INSERT INTO songs (title) WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) SELECT a FROM r",
    *(
        "INSERT INTO songs (title) VALUES (?) RETURNING id",
        "INSERT INTO songs (title) VALUES (?), (?)",
        "INSERT INTO songs (title) VALUES ('a')",
    ),
    *(
        "INSERT OR REPLACE INTO songs (title) VALUES (?)",
        "INSERT INTO songs (title) VALUES (?); DROP TABLE songs",
        "INSERT INTO songs (ti-- \n) VALUES (?)",
    ),
    *(
        "INSERT INTO other.songs (title) VALUES (?)",
        "INSERT INTO sqlite_master (name) VALUES (?)",
        "INSERT INTO sqlite_sequence (seq) VALUES (?)",
    ),
    *(
        "INSERT INTO songs_fts (songs_fts) VALUES (?)",
        "INSERT INTO songs_fts (songs_fts, rank) VALUES (?, ?)",
        "UPDATE songs_fts_data SET block=? WHERE id = ?",
    ),
    *(
        "UPDATE songs SET title=(SELECT 1) WHERE id = ?",
        "UPDATE songs SET title=? WHERE id = (SELECT 1)",
        "UPDATE songs SET nothing=? WHERE id = ?",
    ),
    *("UPDATE songs SET title=?", "UPDATE songs SET title=? WHERE other.id = ?", "UPDATE songs SET title=? FROM songs WHERE id = ?"),
    *(
        "DELETE FROM songs WHERE 1",
        "DELETE FROM songs WHERE id = ? OR 1",
        "DELETE FROM nothing WHERE id = ?",
        'DELETE FROM "songs WHERE id = ?',
    ),
    *("DELETE FROM songs WHERE title LIKE ?", "DELETE FROM songs WHERE id = ? LIMIT 1", "DELETE FROM songs/**/WHERE id = ?", ""),
]
VALUES: list[Any] = [
    *([{"a": 1}], [[1]], [2**63], [float("inf")], [float("nan")], ["\ud800"], [], [1, 2], {"title": "x"}, "x", None, 5),
    [{"nested": [[[[]]]]}],
]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    connection = sqlite3.connect(folder / "spotify.db")
    connection.execute("CREATE TABLE songs (record_hash, id INTEGER PRIMARY KEY AUTOINCREMENT, title)")
    connection.execute("CREATE VIRTUAL TABLE songs_fts USING fts5(id, saved_search_text, tokenize = 'porter')")
    connection.commit()
    connection.close()
    return folder


def log(*lines: Any) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def test_what_the_engine_writes_is_kept(base: Path) -> None:
    found = checked(log(*GENUINE), tables(base / "spotify.db"))
    assert [json.loads(line) for line in found.splitlines()] == GENUINE
    assert checked(b"", {}) == b""
    split = [["UPDATE songs\n SET title=?\nWHERE id = ?", ["a", 1], False]]
    assert json.loads(checked(log(*split), tables(base / "spotify.db"))) == ["UPDATE songs SET title=? WHERE id = ?", ["a", 1], False]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_of_another_shape_is_refused(base: Path, statement: str) -> None:
    known = tables(base / "spotify.db")
    for line in ([statement, ["x"] * statement.count("?"), False], [statement, [["x"] * statement.count("?")], True]):
        with pytest.raises(Forged, match="does not write"):
            checked(log(*GENUINE, line), known)


def test_a_statement_of_the_task_itself_is_kept_word_for_word(base: Path) -> None:
    given = ["UPDATE songs SET title = ? WHERE id = (SELECT min(id) FROM songs)", ["x"], False]
    known = tables(base / "spotify.db")
    assert json.loads(checked(log(given), known, log(given))) == given
    with pytest.raises(Forged):
        checked(log([f"{given[0]} OR 1", ["x"], False]), known, log(given))


@pytest.mark.parametrize("values", VALUES, ids=repr)
@pytest.mark.parametrize("several", [False, True])
def test_values_that_no_column_takes_are_refused(base: Path, values: Any, several: bool) -> None:
    if several and values == []:
        return  # no row at all is nothing to refuse
    line = ["INSERT INTO songs (title) VALUES (?)", [values] if several else values, several]
    with pytest.raises(Forged):
        checked(log(line), tables(base / "spotify.db"))


@pytest.mark.parametrize(
    "content",
    [b"{", b"\xff\n", b"5\n", b'["DELETE FROM songs", []]\n', b"[1, [], false]\n", b'["DELETE FROM songs", [], 1]\n', b"[" * 100_000],
)
def test_what_is_no_log_is_refused(base: Path, content: bytes) -> None:
    with pytest.raises(Forged):
        checked(content, tables(base / "spotify.db"))


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    secret, folder = tmp_path / "secret", tmp_path / "world"
    secret.write_text("secret")
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "plain").write_text("text")
    (folder / "logs" / "link").symlink_to(secret)
    os.link(secret, folder / "logs" / "hard")
    os.mkfifo(folder / "logs" / "fifo")
    (folder / "logs" / "folder").mkdir()
    with (folder / "logs" / "large").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    (folder / "linked").symlink_to(tmp_path)
    (tmp_path / "elsewhere").symlink_to(folder)
    assert plain_file(folder, "logs/plain") == b"text"
    for name in ("link", "hard", "fifo", "folder", "large", "nothing"):
        assert plain_file(folder, f"logs/{name}") is None, name
    assert plain_file(folder, "linked/secret") is None and plain_file(tmp_path / "elsewhere", "logs/plain") is None


def written(folder: Path, **files: bytes) -> Path:
    (folder / "dbs").mkdir(parents=True)
    for name, content in {"spotify.jsonl": log(*GENUINE), "model_hashes.json": b'{"spotify": {"Song": 2}}', **files}.items():
        (folder / "dbs" / name).write_bytes(content)
    return folder


def test_the_databases_of_a_world_are_complete_and_genuine(tmp_path: Path, base: Path) -> None:
    task = tmp_path / "task"
    (task / "dbs").mkdir(parents=True)
    (task / "dbs" / "spotify.jsonl").write_bytes(b"")
    good = written(tmp_path / "good", **{"extra.db": b"x", "extra.jsonl": b"ATTACH"})
    found = databases(good, task, base)
    assert set(found) == {"spotify.jsonl", "model_hashes.json"} and json.loads(found["model_hashes.json"]) == {"spotify": {"Song": 2}}
    for number, counts in enumerate((b"[]", b'{"a": 1}', b'{"a": {"b": "c"}}', b'{"a": {"b": true}}', b"[" * 10_000, b"")):
        with pytest.raises(Forged, match="model_hashes"):
            databases(written(tmp_path / str(number), **{"model_hashes.json": counts}), task, base)
    (good / "dbs" / "spotify.jsonl").unlink()
    with pytest.raises(Forged, match="spotify"):
        databases(good, task, base)
    (good / "dbs" / "spotify.jsonl").symlink_to(base / "spotify.db")
    with pytest.raises(Forged, match="spotify"):
        databases(good, task, base)


def test_logs_that_are_not_plain_are_left_out(tmp_path: Path) -> None:
    for name in world_files.LOGS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "logs" / "api_calls.jsonl").unlink()
    (tmp_path / "logs" / "api_calls.jsonl").symlink_to("/etc/hostname")
    assert others(tmp_path) == {name: name.encode() for name in world_files.LOGS if name != "logs/api_calls.jsonl"}
