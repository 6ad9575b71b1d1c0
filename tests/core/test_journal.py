"""A run's teacher calls: kept for good, found on a resume, replayed elsewhere."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from coevolve import TeacherCall, Unsent, UserError
from coevolve.core.record.store import Store
from coevolve.core.record.teacher_calls import StoreJournal

ASKED: Mapping[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "why?"}]}


def call(key: str, reply: str | None = None, fault: str | None = None, asked: Mapping[str, Any] = ASKED) -> TeacherCall:
    return TeacherCall(key, 1, "reflect", "m", asked, reply, fault, 10, 5, 0.25, 0.5)


def opened(folder: Path, replay: Path | None = None) -> tuple[StoreJournal, Store, list[str]]:
    folder.mkdir(exist_ok=True)
    store, told = Store(folder / "run.sqlite", create=True), list[str]()
    return StoreJournal(store, told.append, replay), store, told


def test_an_answered_request_is_recalled_with_its_attempts_after_going_back_and_reopening(tmp_path: Path) -> None:
    journal, store, _ = opened(tmp_path)
    journal.record(call("1/reflect/0", fault="503"))
    journal.record(call("1/reflect/0", reply="because"))
    store.roll_back(0)
    store.close()
    journal, store, _ = opened(tmp_path)
    assert [c.fault or c.reply for c in journal.recall("1/reflect/0", ASKED)] == ["503", "because"]
    assert [(c.tokens, c.cost) for c in journal.calls()] == [(15, 0.25)] * 2
    assert store.teacher_calls(["1/reflect/0"])[0][1].request == ASKED
    store.close()


def test_a_request_that_only_failed_or_that_asked_something_else_is_asked_anew_on_a_resume(tmp_path: Path) -> None:
    journal, store, _ = opened(tmp_path)
    journal.record(call("a", fault="503"))
    journal.record(call("b", reply="yes"))
    assert journal.recall("a", ASKED) == ()
    assert journal.recall("b", {**ASKED, "model": "other"}) == ()
    assert journal.recall("c", ASKED) == ()
    store.close()


def test_a_replay_answers_from_the_other_run_faults_too_and_keeps_the_calls_as_its_own(tmp_path: Path) -> None:
    first, store, _ = opened(tmp_path / "first")
    first.record(call("a", fault="503"))
    first.record(call("b", reply="yes"))
    store.close()
    again, store, _ = opened(tmp_path / "again", tmp_path / "first")
    assert [c.fault for c in again.recall("a", ASKED)] == ["503"]
    assert [c.reply for c in again.recall("b", {"messages": ASKED["messages"], "model": "m"})] == ["yes"]
    assert [c.reply for c in again.recall("b", ASKED)] == ["yes"]
    assert [c.key for c in again.calls()] == ["a", "b"]
    store.close()
    third, store, _ = opened(tmp_path / "third", tmp_path / "again")
    assert [c.reply for c in third.recall("b", ASKED)] == ["yes"]
    store.close()


@pytest.mark.parametrize(("key", "asked", "said"), [("z", ASKED, "made no such request"), ("a", {"model": "x"}, "asked something else")])
def test_a_replay_that_parts_from_its_run_says_so(tmp_path: Path, key: str, asked: Mapping[str, Any], said: str) -> None:
    first, store, _ = opened(tmp_path / "first")
    first.record(call("a", reply="yes"))
    store.close()
    again, store, _ = opened(tmp_path / "again", tmp_path / "first")
    with pytest.raises(UserError, match=said):
        again.recall(key, asked)
    store.close()


def test_a_replay_passes_over_what_a_run_asked_otherwise_before_it_was_resumed(tmp_path: Path) -> None:
    first, store, _ = opened(tmp_path / "first")
    first.record(call("a", fault="503", asked={"model": "old"}))
    first.record(attrs.evolve(call("a", fault="the budget"), unsent=Unsent.BUDGET))
    first.record(call("a", reply="yes"))
    store.close()
    again, store, _ = opened(tmp_path / "again", tmp_path / "first")
    assert [(c.fault or c.reply, c.sent) for c in again.recall("a", ASKED)] == [("the budget", False), ("yes", True)]
    assert [c.sent for c in again.calls()] == [False, True]
    store.close()


def test_a_run_that_asked_no_teacher_cannot_be_replayed(tmp_path: Path) -> None:
    _, store, _ = opened(tmp_path / "first")
    store.close()
    with pytest.raises(UserError, match="has no teacher calls to replay"):
        opened(tmp_path / "again", tmp_path / "first")


def test_the_user_is_told_the_same_line_once(tmp_path: Path) -> None:
    journal, store, told = opened(tmp_path)
    for text in ("budget used up", "budget used up", "endpoint down"):
        journal.notify(text)
    assert told == ["budget used up", "endpoint down"]
    store.close()


def test_a_replay_of_nothing_stops_before_anything_is_written(runs: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a run folder"):
        runs.run(tmp_path / "run", f'replay="{tmp_path / "nowhere"}"')
    assert not (tmp_path / "run").exists()
