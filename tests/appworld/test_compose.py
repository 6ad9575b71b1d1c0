"""Composing tasks and their keys, over worlds that only pretend to run code: the rules, without the engine."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from coevolve import Action, Step, Task
from coevolve.environments.appworld.beginnings import beginning
from coevolve.environments.appworld.compose import actions_of, comparable_answer, compose, keys_of
from coevolve.environments.appworld.connection import WorldEnded
from coevolve.environments.appworld.script import Calls


def document(name: str, method: str, description: str, *parameters: str) -> dict[str, Any]:
    app, _, api = name.partition(".")
    listed = [{"name": parameter, "description": "Your account email.", "required": True} for parameter in parameters]
    return {"app_name": app, "api_name": api, "method": method, "description": description, "parameters": listed}


CALLS = Calls(
    {
        d[0]: document(*d)
        for d in (
            ("spotify.show_song_library", "GET", "Get a list of songs."),
            ("spotify.show_song", "GET", "Get details of a song. More of it.", "song_id"),
            ("spotify.like_song", "POST", "Like a song.", "song_id", "note"),
            ("spotify.login", "POST", "Login.", "username", "password"),
            ("supervisor.complete_task", "POST", "Mark it.", "answer", "status"),
        )
    }
)
LIBRARY = [{"song_id": 3, "title": "Lamp"}, {"song_id": 4, "title": "Chair"}]
LOOK = Step(Action("spotify.show_song_library", {}), "")
START = Task("seed_1", "appworld", "Do something.")
BOUGHT = {"spotify.SongLike": {"added": [{"song": 3}], "updated": {}, "removed": []}}


@define
class Pretended:
    """Worlds in which `buy` changes something, `complete_task` completes, and what a lookup finds has a title."""

    answers: dict[str, Any] = field(factory=lambda: {"spotify.show_song": {"duration": 233}, "spotify.show_song_library": LIBRARY})
    fails: bool = False
    ends: bool = False
    status: str = "success"
    root: Path = Path("/nowhere")
    asked: list[list[str]] = field(factory=list)

    def trace(self, task: Task, code: list[str]) -> dict[str, Any]:
        self.asked.append(code)
        if self.ends:
            raise WorldEnded("deadline", "no end")
        calls, answer, done = [], None, False
        for block in code:
            action = CALLS.read(block) or Action("spotify.show_song", {})
            if action.name == "supervisor.complete_task":
                answer, done = action.arguments.get("answer"), True
            calls.append([action.name, dict(action.arguments), 200, self.answers.get(action.name, {"message": "ok"})])
        diff = BOUGHT if any(call[0] == "spotify.like_song" for call in calls) else {}
        status = self.status if done else None
        found = {"completed": done, "status": status, "answer": answer, "diff": diff, "calls": calls, "user": "me@x.y"}
        return {"ok": not self.fails, "error": "boom" if self.fails else None, **found}


def steps(*names: str, **arguments: Any) -> list[Step]:
    return [Step(Action(name, arguments if name != "supervisor.complete_task" else {}), "") for name in names]


def test_an_errand_gets_its_ending_and_its_words() -> None:
    task = compose(Pretended(), CALLS, START, [LOOK, *steps("spotify.like_song", song_id=3)], "new:1")
    assert task is not None
    assert '"Lamp"' in task.query and "Chair" not in task.query and "3" not in task.query
    assert [action.name for action in task.solution] == ["spotify.show_song_library", "spotify.like_song", "supervisor.complete_task"]
    assert task.payload["start"] == "seed_1"
    assert task.payload["code"] == list(CALLS.blocks(task.solution))
    assert task.payload["reference"] == {"diff": BOUGHT, "answer": None}
    assert task.origin.parents == ("seed_1",)


def test_a_lookup_becomes_a_question() -> None:
    task = compose(Pretended(), CALLS, START, [LOOK, *steps("spotify.show_song", song_id=3)], "new:1")
    assert task is not None
    assert '"Lamp"' in task.query and task.query.endswith("?") and "233" not in task.query
    assert task.solution[-1] == Action("supervisor.complete_task", {"answer": 233})
    assert task.payload["reference"] == {"diff": {}, "answer": 233}


def test_a_task_made_from_a_made_task_begins_where_that_begins() -> None:
    look = [LOOK, *steps("spotify.show_song", song_id=3)]
    made = compose(Pretended(), CALLS, START, [LOOK, *steps("spotify.like_song", song_id=3)], "new:1")
    assert made is not None
    again = compose(Pretended(), CALLS, made, look, "new:2", "Which lamp?")
    assert again is None  # a query without an answer in the steps: what it asks for cannot be known
    again = compose(Pretended(), CALLS, made, look, "new:2")
    assert again is not None and again.payload["start"] == "seed_1" and again.origin.parents == ("new:1",)


@pytest.mark.parametrize(
    ("worlds", "made"),
    [
        (Pretended(fails=True), [LOOK, *steps("spotify.like_song", song_id=3)]),
        (Pretended(ends=True), [LOOK, *steps("spotify.like_song", song_id=3)]),
        (Pretended(status="fail"), [LOOK, *steps("spotify.like_song", song_id=3)]),
        (Pretended(answers={"spotify.show_song": [{"title": "one"}]}), [LOOK, *steps("spotify.show_song", song_id=3)]),
        (Pretended(), steps("supervisor.complete_task")),
        (Pretended(), [LOOK, *steps(*["spotify.like_song"] * 4, song_id=3)]),
        (Pretended(), steps("spotify.like_song", song_id=3)),
        (Pretended(), steps("spotify.like_song", colour="red")),
        (Pretended(), []),
        (Pretended(), [Step(Action("spotify.like_song", {"song_id": 3}), "", error="refused")]),
    ],
    ids=["raises", "ends its world", "gives up", "nothing to ask", "no effect", "too much", "no name", "no argument", "nothing", "failed"],
)
def test_there_is_no_task_without_a_sound_reference(worlds: Pretended, made: list[Step]) -> None:
    assert compose(worlds, CALLS, START, made, "new:1") is None


def test_a_query_is_kept_and_blank_words_are_none() -> None:
    task = compose(Pretended(), CALLS, START, steps("spotify.like_song", song_id=3), "new:1", "Get me the lamp.")
    assert task is not None and task.query == "Get me the lamp."
    assert compose(Pretended(), CALLS, START, steps("spotify.like_song", song_id=3), "new:1", "  ") is None


def test_inner_calls_of_a_block_are_the_block() -> None:
    block = Step(Action("execute", {"code": "x = 1", "calls": 2}), "")
    inner = steps("spotify.show_song", "spotify.like_song", song_id=1)
    own = steps("spotify.show_song", song_id=9)
    assert actions_of([block, *inner, *own], CALLS) == [Action("execute", {"code": "x = 1"}), Action("spotify.show_song", {"song_id": 9})]


def test_nothing_counts_after_the_end() -> None:
    made = [*steps("spotify.like_song", song_id=3), *steps("supervisor.complete_task"), *steps("spotify.like_song", song_id=4)]
    assert [action.name for action in actions_of(made, CALLS)] == ["spotify.like_song", "supervisor.complete_task"]


def solved(worlds: Pretended, *actions: Action) -> Any:
    return keys_of(worlds, CALLS, Task("t", "appworld", "q", solution=actions))


SHOW, BUY = Action("spotify.show_song", {"song_id": 3}), Action("spotify.like_song", {"song_id": 3})


def test_keys_do_not_see_how_one_logs_in_or_ends() -> None:
    plain = solved(Pretended(), BUY)
    assert plain == solved(
        Pretended(), Action("spotify.login", {"username": "a", "password": "b"}), BUY, Action("supervisor.complete_task", {})
    )
    assert len({plain.actions, plain.end_state, plain.family}) == 3


def test_the_family_is_the_way_whatever_the_values() -> None:
    one, other = (
        solved(Pretended(), SHOW, BUY),
        solved(Pretended(), Action("spotify.show_song", {"song_id": 8}), Action("spotify.like_song", {"song_id": 8})),
    )
    assert one.family == other.family and one.actions != other.actions
    assert one.family != solved(Pretended(), BUY).family
    assert one.family != solved(Pretended(), SHOW).family


def test_equal_answers_to_different_questions_are_different_ends() -> None:
    end = Action("supervisor.complete_task", {"answer": 3})
    one = solved(Pretended(), SHOW, end)
    assert one.end_state == solved(Pretended(), SHOW, Action("supervisor.complete_task", {"answer": "3.0"})).end_state
    assert one.end_state != solved(Pretended(answers={"spotify.show_song": {"title": "Chair"}}), SHOW, end).end_state
    assert one.end_state != solved(Pretended(), SHOW, Action("supervisor.complete_task", {"answer": 4})).end_state


@pytest.mark.parametrize(("answer", "same"), [("Tide", ' "tide" '), (2, "2.0"), (2.344, "2.34"), (None, None)])
def test_answers_are_compared_as_the_engine_does(answer: Any, same: Any) -> None:
    assert comparable_answer(answer) == comparable_answer(same)
    assert comparable_answer(answer) != comparable_answer("another")


def test_worlds_begin_alike_when_person_time_and_databases_are(tmp_path: Path) -> None:
    def begin(name: str, email: str, rows: str, instruction: str) -> str:
        folder = tmp_path / "data" / "tasks" / name
        (folder / "dbs").mkdir(parents=True)
        specs = {"supervisor": {"email": email}, "datetime": "2023-05-18", "instruction": instruction}
        (folder / "specs.json").write_text(json.dumps(specs))
        (folder / "dbs" / "shop.jsonl").write_text(rows)
        (folder / "dbs" / "supervisor.jsonl").write_text(instruction)
        return beginning(tmp_path, Task(name, "appworld", instruction))

    one = begin("a_1", "me@x.y", "row", "Do this.")
    assert one == begin("a_2", "me@x.y", "row", "Do that.")
    assert one != begin("b_1", "you@x.y", "row", "Do this.")
    assert one != begin("c_1", "me@x.y", "other", "Do this.")
    assert one == beginning(tmp_path, Task("made", "appworld", "q", payload={"start": "a_1"}))
    with pytest.raises(LookupError, match="no task 'd_1'"):
        beginning(tmp_path, Task("d_1", "appworld", "q"))
