"""Checks the change logs that a world has written: what the evaluation executes are rows put into tables, never the world's own SQL.

The engine keeps what happened to a database as statements, one a line: [text, values, whether there are several rows of values]. A policy's
code can write anything there. So a statement must either be one of the task's own, word for word, or have one of three shapes:

    INSERT INTO table (column, ...) VALUES (?, ...)
    UPDATE table SET column=?, ... WHERE column = ? [AND ...]
    DELETE FROM table [WHERE column = ? [AND ...]]

with the names of tables and columns that the base database has, and plain values for the question marks.
"""

import json
import math
import re
import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

Tables = Mapping[str, Collection[str]]
"""Columns by the table's name."""
MAX_ROWS = 1_000_000
"""Rows of values in one log."""
_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_WORD = f'(?:"{_NAME}"|{_NAME})'
_WHERE = rf"(?:{_WORD}\.)?{_WORD}(?: ?= ?\?| IS NULL| IN \(\?(?:, ?\?)*\))"
_CONDITION = rf"(?P<where>{_WHERE}(?: AND {_WHERE})*)"
_SHAPES = (
    re.compile(rf"INSERT INTO (?P<table>{_WORD}) (?:\((?P<columns>{_WORD}(?:, ?{_WORD})*)\) VALUES \(\?(?:, ?\?)*\)|DEFAULT VALUES)"),
    re.compile(rf"UPDATE (?P<table>{_WORD}) SET (?P<columns>{_WORD} ?= ?\?(?:, ?{_WORD} ?= ?\?)*) WHERE {_CONDITION}"),
    re.compile(rf"DELETE FROM (?P<table>{_WORD})(?: WHERE {_CONDITION})?"),
)
_LONGEST = 20_000
"""Characters of a statement."""
_KEYWORDS = {"AND", "IN", "IS", "NULL"}


class Forged(Exception):
    """A file is not what the engine writes, so the policy's code made it."""


def tables(database: Path) -> dict[str, frozenset[str]]:
    """The tables of a base database that rows may be put into: not SQLite's own, and not those behind a full-text index."""
    connection = sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True)
    try:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        indexes = [name for name, text in found if text and text.upper().startswith("CREATE VIRTUAL")]
        hidden = {f"{index}_{part}" for index in indexes for part in ("data", "idx", "content", "docsize", "config")}
        names = [name for name, _ in found if name not in hidden and not name.lower().startswith("sqlite_")]
        return {name: frozenset(row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')) for name in names}
    finally:
        connection.close()


def checked(log: bytes, known: Tables, given: bytes = b"") -> bytes:
    """The log, written anew, of a world whose task began with the log `given`. Raises Forged, which names the statement."""
    trusted = {_normal(line[0]) for line in _lines(given)}
    shaped: dict[str, bool] = {}
    kept, rows = [], 0
    for line in _lines(log):
        if not isinstance(line, list) or len(line) != 3 or not isinstance(line[0], str) or not isinstance(line[2], bool):
            raise Forged(f"a change log has a line that is not a statement: {str(line)[:200]}")
        text, several = _normal(line[0]), line[2]
        if text not in trusted and not _known_shape(text, known, shaped):
            raise Forged(f"a change log has a statement that the engine does not write: {text[:200]}")
        values = line[1] if several else [line[1]]
        if not isinstance(values, list) or not all(_fits(row, None if text in trusted else text.count("?")) for row in values):
            raise Forged(f"a change log has values that no column takes, for: {text[:200]}")
        rows += len(values)
        if rows > MAX_ROWS:
            raise Forged(f"a change log has more than {MAX_ROWS} rows of values")
        kept.append(json.dumps([text, line[1], several], ensure_ascii=False, separators=(",", ":")))
    return "".join(f"{line}\n" for line in kept).encode()


def _lines(log: bytes) -> list[Any]:
    try:
        return [json.loads(line, parse_constant=_no_number) for line in log.split(b"\n") if line.strip()]
    except (ValueError, RecursionError) as error:
        raise Forged(f"a change log is not JSON: {type(error).__name__}") from error


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _normal(text: Any) -> str:
    """The statement with its line ends as spaces."""
    return re.sub(r"\s*\n\s*", " ", str(text)).strip()


def _known_shape(text: str, known: Tables, seen: dict[str, bool]) -> bool:
    if text not in seen:
        seen[text] = _shaped(text, known)
    return seen[text]


def _shaped(text: str, known: Tables) -> bool:
    if len(text) > _LONGEST:
        return False
    match = next((found for shape in _SHAPES if (found := shape.fullmatch(text))), None)
    if match is None:
        return False
    table, parts = match["table"].strip('"'), match.groupdict()
    where = re.sub(rf'(?:"{table}"|\b{table})\.', "", parts.get("where") or "")
    columns = known.get(table)
    words = set(re.findall(r"\w+", f"{parts.get('columns') or ''} {where}"))
    return columns is not None and words - _KEYWORDS <= set(columns)


def _fits(row: Any, wanted: int | None) -> bool:
    return isinstance(row, list) and wanted in (None, len(row)) and all(map(_plain, row))


def _plain(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
        return True
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, int) and -(2**63) <= value < 2**63
