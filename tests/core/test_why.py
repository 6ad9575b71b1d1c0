"""The whole story of a task, from its signal to its success since."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from coevolve import (
    Action,
    CandidateTask,
    ExplorationContext,
    Origin,
    RolloutGroup,
    Signal,
    Step,
    TaskPool,
    TeacherCall,
    UserError,
    Verdict,
)  # fmt: skip
from coevolve.core.cli.why import why
from coevolve.core.record.store import Store
from coevolve.testing import make_task, make_trajectory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run in which an evolution after a boundary signal admitted one task and refused another."""
    store = Store(tmp_path / "run.sqlite", create=True)
    seed = make_task("seed-1", query="Send the report.")
    store.add_pool(0, TaskPool((seed,)), [seed])
    good = make_trajectory("seed-1", 1.0, steps=[Step(Action("find"), "x"), Step(Action("send"), "ok")])
    bad = make_trajectory("seed-1", 0.0, index=1, steps=[Step(Action("send"), "no such file", error="no such file")])
    store.add_groups([RolloutGroup(seed, 1, (good, bad))])
    signal = Signal("boundary", "seed-1", 1, 1.0, {"scores": [1.0, 0.0]})
    store.add_signals(2, [signal])
    asked = {"messages": [{"role": "user", "content": "Why does it fail?"}]}
    store.add_teacher_call(TeacherCall("2/reflect/0", 2, "reflect", "big", asked, None, "503", 0, 0, 0.0, 0.2))
    store.add_teacher_call(TeacherCall("2/reflect/0", 2, "reflect", "big", asked, "It sends before it finds.", None, 100, 20, 0.5, 1.5))
    origin = Origin("teacher", 2, signal.id, ("seed-1",))
    made = make_task("teacher-2-0", query="Find and send it.", solution=[Action("find", {"name": "it"}), Action("look"), Action("send")])
    made = attrs.evolve(made, origin=origin)
    context = ExplorationContext(signal, "sends before it finds", ("find before send",))
    explored = (Step(Action("find", {"name": "it"}), "y" * 500), Step(Action("send", {}), "no", error="no receiver"))
    shorter = attrs.evolve(made, solution=(made.solution[0], made.solution[2]))
    store.add_verdict(2, CandidateTask(made, context, explored, ("2/reflect/0",)), Verdict(True, "accepted", task=shorter))
    refused = attrs.evolve(made, id="teacher-2-1")
    store.add_verdict(2, CandidateTask(refused, context, explored, ("2/reflect/0",)), Verdict(False, "duplicate_text", "as teacher-2-0"))
    store.add_pool(2, TaskPool((seed, shorter), 1), [shorter])
    store.add_groups([RolloutGroup(shorter, 3, (make_trajectory("teacher-2-0", 0.0, iteration=3),))])
    store.add_groups([RolloutGroup(shorter, 5, (make_trajectory("teacher-2-0", 1.0, iteration=5),))])
    store.close()
    return tmp_path


def told(folder: Path, task: str, **options: Any) -> str:
    return "\n".join(why(folder, task, **options))


def test_an_admitted_task_tells_its_whole_story_in_order(folder: Path) -> None:
    text = told(folder, "teacher-2-0")
    parts = [
        "query: Find and send it.", '1. find {"name": "it"}', "origin: teacher, evolution of iteration 2, made from seed-1",
        "signal: boundary on seed-1 at iteration 1, strength 1.00", "scores [1.0, 0.0]", "score 1: find > send", "score 0: send (failed)",
        "reflection: sends before it finds", "to try: find before send", "exploration: 2 steps", "! no receiver",
        "teacher: 2 calls, 120 tokens, cost 0.5", "failed: 503", "100 + 20 tokens", "reply: It sends before it finds.",
        "verdict at iteration 2: accepted", "shortened its solution from 3 to 2 calls",
        "tried in 2 iterations, mean score 0.00 at first, 1.00", "iteration 5: 1.00",
    ]  # fmt: skip
    places = [text.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)
    assert "(200 more characters, see --full)" in text and "Why does it fail?" not in text


def test_in_full_nothing_is_cut(folder: Path) -> None:
    text = told(folder, "teacher-2-0", full=True)
    assert "y" * 500 in text and "user: Why does it fail?" in text and "more characters" not in text


def test_a_refused_one_ends_with_its_verdict(folder: Path) -> None:
    text = told(folder, "teacher-2-1")
    assert text.endswith("verdict at iteration 2: refused, duplicate_text: as teacher-2-0")


def test_a_seed_task_says_so(folder: Path) -> None:
    assert "origin: a seed task of stockroom" in told(folder, "seed-1")


def test_an_unknown_task_is_one_line_with_the_nearest(folder: Path) -> None:
    with pytest.raises(UserError, match="has no task 'teacher-2-9' \\(did you mean 'teacher-2-"):
        told(folder, "teacher-2-9")


def test_every_task_of_a_real_run_has_a_story(runs: Any, tmp_path: Path) -> None:
    runs.run(tmp_path / "run")
    store = Store(tmp_path / "run" / "run.sqlite")
    ids = [row[0] for row in store.rows("SELECT id FROM tasks UNION SELECT task_id FROM candidates")]
    store.close()
    assert len(ids) > 20
    for task in ids:
        assert "origin: " in told(tmp_path / "run", task)


def test_attempts_by_the_teacher_belong_to_the_story(tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite", create=True)
    task = make_task("made-1", query="Send it.", solution=[Action("send")])
    task = attrs.evolve(task, origin=Origin("teacher", 2))
    store.add_pool(0, TaskPool(()), [])
    store.add_teacher_call(TeacherCall("2/attempt/made-1", 2, "attempt", "big", {"messages": []}, "{}", None, 300, 30, 0.75, 2.0))
    store.add_verdict(
        2, CandidateTask(task), Verdict(False, "misunderstood", "0 of 2 attempts solved it. Turn 1: wanted send(); made nothing.")
    )
    store.close()
    text = "\n".join(why(tmp_path, "made-1"))
    assert "2/attempt/made-1: attempt by big, 300 + 30 tokens" in text
    assert "refused, misunderstood: 0 of 2 attempts solved it. Turn 1: wanted send(); made nothing." in text
