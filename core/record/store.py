"""A run's one SQLite file holds everything that happened, in order. A resume reads its state back out of it.

Iterations count from 1; the start (the initial pool, the first evaluation) has iteration 0. Every row carries its iteration: a resume
deletes the rows after its checkpoint.
"""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import attrs
from cattrs import BaseValidationError
from cattrs.preconf.json import make_converter

from ..errors import CoevolveError, UserError, translated
from ..model import CandidateTask, History, RolloutGroup, Signal, Task, TaskPool, TeacherCall, Trajectory, Unsent, Verdict
from .read_only import open_for_reading
from .run_check import run_file

P = ParamSpec("P")
R = TypeVar("R")
FORMAT = 2
WALL = "wall"
"""Key of the total wall time in the table `seconds`."""
SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE tasks(number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, iteration INTEGER NOT NULL, origin TEXT NOT NULL,
  query TEXT NOT NULL, task TEXT NOT NULL);
CREATE TABLE pools(version INTEGER PRIMARY KEY, iteration INTEGER NOT NULL, size INTEGER NOT NULL);
CREATE TABLE groups(number INTEGER PRIMARY KEY, iteration INTEGER NOT NULL, task_id TEXT NOT NULL, mean REAL, scored INTEGER NOT NULL);
CREATE INDEX groups_by_task ON groups(task_id);
CREATE TABLE trajectories(number INTEGER PRIMARY KEY, iteration INTEGER NOT NULL, group_number INTEGER NOT NULL REFERENCES groups(number),
  position INTEGER NOT NULL, outcome TEXT NOT NULL, score REAL, fault TEXT, trajectory TEXT NOT NULL);
CREATE INDEX trajectories_by_group ON trajectories(group_number);
CREATE TABLE signals(number INTEGER PRIMARY KEY, iteration INTEGER NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, task_id TEXT NOT NULL,
  strength REAL NOT NULL, evidence TEXT NOT NULL);
CREATE TABLE candidates(number INTEGER PRIMARY KEY, iteration INTEGER NOT NULL, task_id TEXT NOT NULL, origin TEXT NOT NULL,
  candidate TEXT NOT NULL);
CREATE TABLE verdicts(candidate_number INTEGER PRIMARY KEY REFERENCES candidates(number), iteration INTEGER NOT NULL,
  accepted INTEGER NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL);
CREATE TABLE attempts(number INTEGER PRIMARY KEY, iteration INTEGER NOT NULL, candidate_number INTEGER NOT NULL
  REFERENCES candidates(number), position INTEGER NOT NULL, outcome TEXT NOT NULL, score REAL, fault TEXT, trajectory TEXT NOT NULL);
CREATE INDEX attempts_by_candidate ON attempts(candidate_number);
CREATE TABLE metrics(iteration INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY(iteration, name));
CREATE TABLE seconds(iteration INTEGER NOT NULL, part TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY(iteration, part));
CREATE TABLE evaluations(iteration INTEGER NOT NULL, split TEXT NOT NULL, mode TEXT NOT NULL, success REAL NOT NULL, tasks INTEGER NOT NULL,
  faults INTEGER NOT NULL, progress REAL, PRIMARY KEY(iteration, split, mode));
CREATE TABLE checkpoints(iteration INTEGER PRIMARY KEY, folder TEXT NOT NULL);
CREATE TABLE teacher_calls(number INTEGER PRIMARY KEY, iteration INTEGER NOT NULL, key TEXT NOT NULL, purpose TEXT NOT NULL,
  model TEXT NOT NULL, digest TEXT NOT NULL, request TEXT NOT NULL, reply TEXT, fault TEXT, prompt_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL, cost REAL NOT NULL, seconds REAL NOT NULL, sent INTEGER NOT NULL, unsent TEXT);
CREATE INDEX teacher_calls_by_key ON teacher_calls(key);
"""
ROLLED_BACK = (
    "attempts", "verdicts", "candidates", "trajectories", "groups", "signals", "tasks", "pools", "metrics", "seconds", "evaluations",
    "checkpoints",
)  # fmt: skip
"""Tables that a resume cuts back. Teacher calls stay: they were paid for, and a resumed run reuses their answers."""
_converter = make_converter()


def to_json(thing: Any) -> str:
    """A domain object as JSON text."""
    return json.dumps(_converter.unstructure(thing), separators=(",", ":"), ensure_ascii=True)


def from_json(text: str, cls: type[R]) -> R:
    """The domain object that `to_json` wrote; ValueError for any other text."""
    try:
        return _converter.structure(json.loads(text), cls)
    except (BaseValidationError, TypeError, AttributeError) as error:
        raise ValueError(f"this is not a {cls.__name__}: {text[:80]}") from error


def digest(request: Mapping[str, Any]) -> str:
    """SHA-256 of a request to a teacher. Two requests are the same when their JSON values are equal, whatever the order of keys."""
    return hashlib.sha256(json.dumps(_converter.unstructure(request), sort_keys=True).encode()).hexdigest()


FIXES = {
    sqlite3.SQLITE_FULL: "free space",
    sqlite3.SQLITE_BUSY: "close the other program that uses it",
    sqlite3.SQLITE_READONLY: "make it and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "make it readable, and for a run that goes on it and its folder writable",
}
"""What helps, by SQLite's primary result code."""
LACKING = ("no such table", "no such column", "has no column named")
"""How SQLite says that a part of the file is gone."""
RESTORE = "restore it from a copy, or begin again with another --out"


def _in_one_line(method: Callable[P, R]) -> Callable[P, R]:
    """Turn SQLite's errors (disk full, read-only, not a database) and unreadable rows into one line that names the file."""

    @wraps(method)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with translated(partial(_fault, f"cannot use the run's file {getattr(args[0], 'path', '')}")):
            return method(*args, **kwargs)

    return wrapped


def _fault(where: str, error: Exception) -> CoevolveError | None:
    if isinstance(error, sqlite3.Error):
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or any(words in str(error) for words in LACKING):
            return UserError(f"{where}: {error}; {RESTORE}")
        return CoevolveError(f"{where}: {error}" + (f"; {FIXES[code]}" if code in FIXES else ""))
    return UserError(f"{where}: {error}; {RESTORE}") if isinstance(error, ValueError) else None


class Store:
    """The run's file. One writer (the run's process), with `create`, which makes what is missing; readers may look at any time (WAL)."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        if not create:
            run_file(path.parent, path.name)
        self._open(create)

    @_in_one_line
    def _open(self, create: bool) -> None:
        self._lock = threading.RLock()
        self._reading = None if create else open_for_reading(self.path)
        if self._reading:
            self._db = self._reading.connection
        else:
            self._db = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
        if create and not self.rows("SELECT 1 FROM sqlite_master"):
            with self.transaction():
                for statement in SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute("INSERT INTO meta VALUES('format', ?)", (str(FORMAT),))
        found = self.rows("SELECT value FROM meta WHERE key='format'")
        if [row[0] for row in found] != [str(FORMAT)]:
            raise UserError(f"{self.path} was written in another format ({found}); this version reads format {FORMAT}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:  # a full disk has rolled it back already
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @_in_one_line
    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of a query, for the readers of a run."""
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    # What happened, as it happens

    @_in_one_line
    def add_pool(self, iteration: int, pool: TaskPool, added: Sequence[Task]) -> None:
        """`pool` is in force after `iteration`; `added` are the tasks that are new in it."""
        with self.transaction():
            self._db.executemany(
                "INSERT INTO tasks(id, iteration, origin, query, task) VALUES(?,?,?,?,?)",
                [(t.id, iteration, t.origin.kind, t.query, to_json(t)) for t in added],
            )
            self._db.execute("INSERT INTO pools VALUES(?,?,?)", (pool.version, iteration, len(pool)))

    @_in_one_line
    def add_groups(self, groups: Sequence[RolloutGroup]) -> None:
        """Store an iteration's rollout groups; token ids are not kept."""
        with self.transaction():
            for group in groups:
                number = self._db.execute(
                    "INSERT INTO groups(iteration, task_id, mean, scored) VALUES(?,?,?,?)",
                    (group.iteration, group.task.id, group.mean, len(group.scores)),
                ).lastrowid
                self._add_rollouts("trajectories", "group_number", number, group.iteration, group.trajectories)

    def _add_rollouts(self, table: str, owner: str, number: int | None, iteration: int, rollouts: Sequence[Trajectory]) -> None:
        self._db.executemany(
            f"INSERT INTO {table}(iteration, {owner}, position, outcome, score, fault, trajectory) VALUES(?,?,?,?,?,?,?)",
            [(iteration, number, t.index, str(t.outcome), t.score, t.fault, to_json(attrs.evolve(t, tokens=None))) for t in rollouts],
        )

    @_in_one_line
    def add_signals(self, iteration: int, signals: Sequence[Signal]) -> None:
        """Store the signals of one evolution."""
        with self.transaction():
            self._db.executemany(
                "INSERT INTO signals(iteration, id, kind, task_id, strength, evidence) VALUES(?,?,?,?,?,?)",
                [(iteration, s.id, s.kind, s.task_id, s.strength, to_json(s.evidence)) for s in signals],
            )

    @_in_one_line
    def add_verdict(self, iteration: int, candidate: CandidateTask, verdict: Verdict) -> None:
        """Store a candidate, what became of it, and the attempts that its verdict rests on, without token ids."""
        with self.transaction():
            number = self._db.execute(
                "INSERT INTO candidates(iteration, task_id, origin, candidate) VALUES(?,?,?,?)",
                (iteration, candidate.task.id, candidate.task.origin.kind, to_json(candidate)),
            ).lastrowid
            self._db.execute(
                "INSERT INTO verdicts VALUES(?,?,?,?,?)", (number, iteration, verdict.accepted, verdict.reason, verdict.detail)
            )
            if verdict.attempts is not None:
                self._add_rollouts("attempts", "candidate_number", number, iteration, verdict.attempts.trajectories)

    @_in_one_line
    def add_numbers(self, iteration: int, metrics: dict[str, float], seconds: dict[str, float]) -> None:
        """Store an iteration's `metrics`, and the run's cumulative `seconds` by part, with the total under WALL."""
        with self.transaction():
            self._db.executemany("INSERT OR REPLACE INTO metrics VALUES(?,?,?)", [(iteration, k, v) for k, v in metrics.items()])
            self._db.executemany("INSERT OR REPLACE INTO seconds VALUES(?,?,?)", [(iteration, k, v) for k, v in seconds.items()])

    @_in_one_line
    def add_evaluation(
        self, iteration: int, split: str, mode: str, success: float, tasks: int, faults: int, progress: float | None = None
    ) -> None:
        """Store the held-out success of one mode; `faults` rollouts had no score. `progress`: their mean progress, None where unknown."""
        values = (iteration, split, mode, success, tasks, faults, progress)
        with self.transaction():
            self._db.execute("INSERT OR REPLACE INTO evaluations VALUES(?,?,?,?,?,?,?)", values)

    @_in_one_line
    def add_checkpoint(self, iteration: int, folder: str) -> None:
        """From now on a resume starts after `iteration` with the trainer's files in `folder` (relative to the run)."""
        with self.transaction():
            self._db.execute("INSERT OR REPLACE INTO checkpoints VALUES(?,?)", (iteration, folder))

    @_in_one_line
    def add_teacher_call(self, call: TeacherCall) -> None:
        """Store one attempt to have a teacher answer."""
        values = {**attrs.asdict(call, recurse=False), "digest": digest(call.request), "request": to_json(call.request), "sent": call.sent}
        with self.transaction():
            marks = ", ".join(f":{name}" for name in values)
            self._db.execute(f"INSERT INTO teacher_calls({', '.join(values)}) VALUES({marks})", values)

    # Going back and reading

    def checkpoints(self) -> list[tuple[int, str]]:
        """Iteration and folder of every checkpoint, the last one first; trainers keep the files of the last few only."""
        return [(row[0], row[1]) for row in self.rows("SELECT iteration, folder FROM checkpoints ORDER BY iteration DESC")]

    def checkpoint(self) -> tuple[int, str] | None:
        """Iteration and folder of the last checkpoint."""
        return next(iter(self.checkpoints()), None)

    def last_evolution(self) -> int:
        """Iteration of the last evolution, 0 before the first."""
        return self.rows("SELECT max(iteration) FROM metrics WHERE name = 'admitted'")[0][0] or 0

    @_in_one_line
    def roll_back(self, iteration: int) -> None:
        """Delete the rows after `iteration`: the run repeats those iterations exactly."""
        with self.transaction():
            for table in ROLLED_BACK:
                self._db.execute(f"DELETE FROM {table} WHERE iteration > ?", (iteration,))

    @_in_one_line
    def pool(self) -> TaskPool:
        """D_t as it stands now."""
        tasks = tuple(from_json(row[0], Task) for row in self.rows("SELECT task FROM tasks ORDER BY number"))
        version = self.rows("SELECT max(version) FROM pools")[0][0]
        return TaskPool(tasks, version or 0)

    def groups(self, after: int = 0, task_id: str | None = None) -> Iterator[RolloutGroup]:
        """Rollout groups of iterations greater than `after` in order, without token ids."""
        tasks = {task.id: task for task in self.pool()}
        where, values = ("AND task_id = ?", (task_id,)) if task_id else ("", ())
        for number, iteration, task in self.rows(
            f"SELECT number, iteration, task_id FROM groups WHERE iteration > ? {where} ORDER BY number", after, *values
        ):
            rows = self.rows("SELECT trajectory FROM trajectories WHERE group_number = ? ORDER BY position", number)
            yield RolloutGroup(tasks[task], iteration, self._rollouts(rows))

    def attempts(self, task_id: str) -> tuple[Trajectory, ...]:
        """Attempts at the door at the newest candidate with that id, admitted or refused, without token ids; empty where there are none."""
        newest = "SELECT max(number) FROM candidates WHERE task_id = ?"
        return self._rollouts(self.rows(f"SELECT trajectory FROM attempts WHERE candidate_number = ({newest}) ORDER BY number", task_id))

    def door_counts(self, iteration: int) -> dict[str, float]:
        """Counts of an evolution: `attempts` at the door, `repairs` (repaired candidates judged), `repaired` (those admitted)."""
        (attempts,) = self.rows("SELECT count(*) FROM attempts WHERE iteration = ?", iteration)[0]
        repairs, repaired = self.rows(
            "SELECT count(*), coalesce(sum(v.accepted), 0) FROM candidates c JOIN verdicts v ON v.candidate_number = c.number "
            "WHERE c.iteration = ? AND json_extract(c.candidate, '$.task.origin.detail.repaired') IS NOT NULL",
            iteration,
        )[0]
        return {"attempts": float(attempts), "repairs": float(repairs), "repaired": float(repaired)}

    @_in_one_line
    def _rollouts(self, rows: Sequence[tuple[Any, ...]]) -> tuple[Trajectory, ...]:
        return tuple(from_json(row[0], Trajectory) for row in rows)

    def _admitted_attempts(self) -> Iterator[RolloutGroup]:
        tasks = {task.id: task for task in self.pool()}
        for number, iteration, task in self.rows(
            "SELECT DISTINCT c.number, c.iteration, c.task_id FROM candidates c JOIN verdicts v ON v.candidate_number = c.number "
            "JOIN tasks t ON t.id = c.task_id JOIN attempts a ON a.candidate_number = c.number WHERE v.accepted ORDER BY c.number"
        ):
            rows = self.rows("SELECT trajectory FROM attempts WHERE candidate_number = ? ORDER BY number", number)
            yield RolloutGroup(tasks[task], iteration, self._rollouts(rows))

    def history(self) -> History:
        """The history of all stored groups, and of the attempts at the door of admitted tasks."""
        return History().with_groups(self.groups()).with_door(self._admitted_attempts())

    def seconds(self, iteration: int) -> dict[str, float]:
        """Seconds by part up to the end of `iteration`, as `add_numbers` stored them."""
        return {row[0]: row[1] for row in self.rows("SELECT part, value FROM seconds WHERE iteration = ?", iteration)}

    @_in_one_line
    def teacher_calls(self, keys: Sequence[str] = ()) -> list[tuple[str, TeacherCall]]:
        """All attempts in order, each with its request's digest and without its request; or those of `keys` with it."""
        names = [field.name for field in attrs.fields(TeacherCall) if field.name != "request"]
        wanted, marks = ("request", f"WHERE key IN ({','.join('?' * len(keys))})") if keys else ("'{}'", "")
        rows = self.rows(f"SELECT digest, {wanted}, {', '.join(names)} FROM teacher_calls {marks} ORDER BY number", *keys)
        found = [(row[0], json.loads(row[1]), dict(zip(names, row[2:], strict=True))) for row in rows]
        for _, _, values in found:
            values["unsent"] = values["unsent"] and Unsent(values["unsent"])
        return [(asked, TeacherCall(request=request, **values)) for asked, request, values in found]

    def close(self) -> None:
        """Close the file."""
        self._db.close()
        if self._reading and self._reading.copy:
            self._reading.copy.cleanup()
