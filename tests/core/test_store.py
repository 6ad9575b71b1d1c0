"""The run's file gives back what was put in, forgets what came after a checkpoint, and says plainly what is wrong with it."""

import sqlite3
from pathlib import Path

import attrs
import pytest

from coevolve import (
    Action,
    CandidateTask,
    CoevolveError,
    ExplorationContext,
    History,
    Origin,
    Outcome,
    RolloutGroup,
    Signal,
    Step,
    Task,
    TaskPool,
    Tokens,
    Trajectory,
    UserError,
    Verdict,
)
from coevolve.core.record.store import Store, from_json, to_json

TASK = Task("t1", "desk", "do it", "intent", (Action("a.b", {"x": [1, None, "é\ud800"]}, 1),), {"n": {"k": 1.5}}, Origin("seed", 0))


def group(task: Task, iteration: int, *scores: float | None) -> RolloutGroup:
    step = Step(Action("a.b", {"x": 1}), "seen", {"r": 2}, None)
    made = [
        Trajectory(
            task.id, iteration, n, ({"role": "user", "content": "do it"},), (step,),
            Outcome.COMPLETED if score is not None else Outcome.INFRASTRUCTURE_FAULT, score, None if score is not None else "open: broke",
            ("a.b",), Tokens((1,), (2,), (1,), (-0.5,)),
        )
        for n, score in enumerate(scores)
    ]  # fmt: skip
    return RolloutGroup(task, iteration, tuple(made))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "run.sqlite", create=True)
    made.add_pool(0, TaskPool((TASK,)), [TASK])
    return made


def test_domain_objects_survive_json() -> None:
    candidate = CandidateTask(TASK, ExplorationContext(Signal("rare", "t1", 3, 0.5, {"c": 1}), "weak", ("x",)), (Step(Action("y"), "z"),))
    assert from_json(to_json(candidate), CandidateTask) == candidate
    made = group(TASK, 1, 1.0).trajectories[0]
    assert from_json(to_json(made), Trajectory) == made


def test_groups_come_back_in_order_without_token_ids(store: Store) -> None:
    groups = [group(TASK, 1, 1.0, 0.0), group(TASK, 2, 0.0, None)]
    done = [attrs.evolve(t, progress=0.5) for t in groups[1].trajectories[:1]]
    groups[1] = attrs.evolve(groups[1], trajectories=(*done, *groups[1].trajectories[1:]))
    store.add_groups(groups[:1])
    store.add_groups(groups[1:])
    bare = [attrs.evolve(g, trajectories=tuple(attrs.evolve(t, tokens=None) for t in g.trajectories)) for g in groups]
    assert list(store.groups()) == bare
    assert list(store.groups(after=1)) == bare[1:]
    assert store.history() == History().with_groups(groups)
    assert store.history().patterns == {"a.b": 3}, "the rollout without a score leaves no trace"


def test_rolling_back_forgets_what_came_after(store: Store) -> None:
    other = attrs.evolve(TASK, id="t2", origin=Origin("random", 2))
    store.add_groups([group(TASK, 1, 1.0)])
    store.add_checkpoint(1, "checkpoints/1")
    store.add_groups([group(TASK, 2, 0.0)])
    store.add_signals(2, [Signal("boundary", "t1", 2, 0.5)])
    store.add_verdict(2, CandidateTask(other), Verdict(True, "accepted"))
    store.add_pool(2, TaskPool((TASK, other), 1), [other])
    store.add_numbers(2, {"loss": 1.0}, {"update": 2.0})
    store.add_evaluation(2, "test", "greedy", 0.5, 10, 0)
    store.add_evaluation(2, "test", "sampled", 0.0, 10, 0, progress=0.25)
    assert store.rows("SELECT mode, progress FROM evaluations ORDER BY mode") == [("greedy", None), ("sampled", 0.25)]
    assert store.pool() == TaskPool((TASK, other), 1)
    store.roll_back(1)
    assert store.pool() == TaskPool((TASK,), 0)
    assert store.checkpoint() == (1, "checkpoints/1")
    assert [g.iteration for g in store.groups()] == [1]
    for table in ("signals", "candidates", "verdicts", "metrics", "seconds", "evaluations"):
        assert store.rows(f"SELECT count(*) FROM {table}") == [(0,)]


def test_a_failed_write_leaves_nothing_of_itself(store: Store) -> None:
    with pytest.raises(CoevolveError, match="UNIQUE"):
        store.add_pool(1, TaskPool((TASK, TASK), 1), [attrs.evolve(TASK, id="t9"), TASK])
    assert store.pool() == TaskPool((TASK,), 0)


def test_a_full_disk_is_one_line_that_names_the_file(store: Store) -> None:
    store.rows(f"PRAGMA max_page_count={store.rows('PRAGMA page_count')[0][0]}")
    big = attrs.evolve(TASK, id="big", query="x" * 1_000_000)
    with pytest.raises(CoevolveError, match=r"run\.sqlite: database or disk is full"):
        store.add_pool(1, TaskPool((TASK, big), 1), [big])
    assert store.pool() == TaskPool((TASK,), 0)


def test_a_path_that_is_not_a_run_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run folder"):
        Store(tmp_path / "run.sqlite")
    (tmp_path / "run.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(CoevolveError, match=r"run\.sqlite"):
        Store(tmp_path / "run.sqlite")


def test_another_format_is_refused(tmp_path: Path) -> None:
    Store(tmp_path / "run.sqlite", create=True).close()
    with sqlite3.connect(tmp_path / "run.sqlite") as db:
        db.execute("UPDATE meta SET value='99'")
    db.close()
    with pytest.raises(UserError, match="another format"):
        Store(tmp_path / "run.sqlite")
