"""Goals about music, notes and several apps, over a small snapshot written by hand; no engine is needed but in the last test."""

import random
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from coevolve import Action, Goal, Step, Task
from coevolve.environments.appworld.environment import AppWorld
from coevolve.environments.appworld.goals import deal, listening, writing
from coevolve.environments.appworld.goals.deal import goals_in, make
from coevolve.environments.appworld.goals.registry import GOALS, goal
from coevolve.environments.appworld.goals.scene import Scene, Unavailable, pages
from coevolve.environments.appworld.goals.snapshot import Snapshot, Snapshots
from coevolve.environments.appworld.script import Calls

NOW = datetime(2023, 5, 18, 12)
ME = {"email": "me@x.y", "phone_number": "1", "first_name": "Mia", "last_name": "Own"}


def song(number: int, title: str, seconds: int, artist: str, year: int) -> dict[str, Any]:
    band = {"id": 1 if artist == "Ada" else 2, "name": artist}
    when = f"{year}-02-03T00:00:00"
    return {
        "song_id": number,
        "title": title,
        "duration": seconds,
        "artists": [band],
        "release_date": when,
        "play_count": 1000 - number,
    } | {"genre": "jazz" if artist == "Ada" else "rock"}


SONGS = [song(701, "Up", 100, "Ada", 2001), song(702, "Down", 200, "Ada", 2011), song(703, "Left", 300, "Bo", 2021)]
PLAYLIST = {"playlist_id": 811, "title": "Mix", "song_ids": [701, 702, 703], "owner": {"email": "me@x.y"}, "is_public": False}
LIST = {"note_id": 911, "title": "Trip", "content": "[ ] tent\n[x] rope\n[ ] soap", "tags": ["lists"]}
PROSE = {"note_id": 912, "title": "Ideas", "content": "A bakery by the sea.", "tags": ["ideas"]}
FOUND: Mapping[str, Any] = {
    "supervisor.show_profile": [({}, ME)],
    "spotify.show_song": [({"song_id": one["song_id"]}, one) for one in SONGS],
    "spotify.show_playlist_library": [({}, [PLAYLIST])],
    "spotify.show_song_library": [({}, SONGS[:2])],
    "simple_note.search_notes": [({}, [LIST, PROSE])],
    "simple_note.show_note": [({}, LIST), ({}, PROSE)],
}
SNAPSHOT = Snapshot("hand", NOW, FOUND)
DOCUMENTS = {name: {"description": "Do it.", "parameters": [], "method": "GET"} for kind in GOALS.values() for name in kind.needs}


def test_every_kind_comes_before_one_comes_twice() -> None:
    found = goals_in(SNAPSHOT, DOCUMENTS, 3, 400)
    kinds = [one.kind for one in found]
    first = kinds[: len(set(kinds))]
    assert len(set(first)) == len(first) > 25 and len(kinds) > len(first)
    assert len({one.query for one in found}) == len(found) == len({str(one.actions) for one in found})


def test_goals_are_a_function_of_snapshot_and_seed() -> None:
    some = goals_in(SNAPSHOT, DOCUMENTS, 3, 12)
    assert some == goals_in(SNAPSHOT, DOCUMENTS, 3, 12) == goals_in(SNAPSHOT, DOCUMENTS, 3, 30)[:12]
    assert some != goals_in(SNAPSHOT, DOCUMENTS, 4, 12)


def test_a_user_without_anything_has_no_such_wish() -> None:
    alone = Snapshot("alone", NOW, {"supervisor.show_profile": [({}, ME)]})
    modules = ("music_questions", "music_changes", "notes", "across")
    kinds = [kind for kind, one in GOALS.items() if one.make.__module__.endswith(modules)]
    assert [kind for kind in kinds if make(kind, alone, DOCUMENTS, random.Random(1)) is not None] == []


def one_of(kind: str, tries: int = 40) -> list[Goal]:
    made = [make(kind, SNAPSHOT, DOCUMENTS, random.Random(seed)) for seed in range(tries)]
    return [one for one in made if one is not None]


@pytest.mark.parametrize(
    ("kind", "answers"),
    [
        ("length of a playlist", {600}),
        ("age of songs on a playlist", {"Up", "Left"}),
        ("songs over a length", {1, 2}),
        ("artists on a playlist", {2}),
        ("songs of an artist on a playlist", {1, 2}),
        ("playlist songs outside the library", {1}),
        ("favourite artist of the library", set()),
        ("length of songs in the library", {"Up", "Down"}),
        ("average song in the library", {150}),
        ("first open item", {"tent", "soap"}),
        ("share of items done", {33}),
        ("is it ticked", {"yes", "no"}),
        ("note that mentions", {"Ideas"}),
    ],
)
def test_answers(kind: str, answers: set[Any]) -> None:
    assert {one.actions[-1].arguments["answer"] for one in one_of(kind)} == answers


@pytest.mark.parametrize(
    ("kind", "name", "argument", "values"),
    [
        ("shorten a playlist", "spotify.remove_song_from_playlist", "song_id", {702, 703}),
        ("keep only library songs on a playlist", "spotify.remove_song_from_playlist", "song_id", {703}),
        ("save a playlist to the library", "spotify.add_song_to_library", "song_id", {703}),
        ("drop old songs from the library", "spotify.remove_song_from_library", "song_id", {701}),
        ("tick off everything", "simple_note.update_note", "content", {"[x] tent\n[x] rope\n[x] soap"}),
        ("clear ticked items", "simple_note.update_note", "content", {"[ ] tent\n[ ] soap"}),
        ("open items first", "simple_note.update_note", "content", {"[ ] tent\n[ ] soap\n[x] rope"}),
        ("sort a list", "simple_note.update_note", "content", {"[x] rope\n[ ] soap\n[ ] tent"}),
        ("note of open items", "simple_note.create_note", "content", {"tent\nsoap"}),
        ("change a word", "simple_note.update_note", "content", {"A bookshop by the sea."}),
    ],
)
def test_changes(kind: str, name: str, argument: str, values: set[Any]) -> None:
    made = one_of(kind)
    assert {action.arguments[argument] for one in made for action in one.actions if action.name == name} == values
    assert all(one.actions[-1] == Action("supervisor.complete_task", {}) for one in made)


def test_no_request_says_an_id_or_the_answer() -> None:
    for one in goals_in(SNAPSHOT, DOCUMENTS, 5, 400):
        assert not any(number in one.query for number in ("701", "702", "703", "811", "911", "912")), one.query
        answer = one.actions[-1].arguments.get("answer")
        said = isinstance(answer, str) and answer not in ("yes", "no") and f'"{answer}"' in one.query
        assert not said, one.query


def test_a_song_that_stands_out_is_said_to_do_so_by_its_length_plays_or_release() -> None:
    for one in goals_in(SNAPSHOT, DOCUMENTS, 5, 400):
        words = one.query.lower()
        assert not any(said in words for said in ("newest song", "oldest song", "text them", "any more in which")), one.query


def test_the_longest_of_all_playlists_is_asked_for_without_naming_it() -> None:
    other = {**PLAYLIST, "playlist_id": 812, "title": "Run", "song_ids": [701]}
    both = Snapshot("both", NOW, {**FOUND, "spotify.show_playlist_library": [({}, [PLAYLIST, other])]})
    made = make("longest playlist", both, DOCUMENTS, random.Random(1))
    assert made is not None and made.actions[-1].arguments == {"answer": "Mix"} and "Mix" not in made.query
    tied = Snapshot("tied", NOW, {**FOUND, "spotify.show_playlist_library": [({}, [PLAYLIST, {**other, "song_ids": [701, 702, 703]}])]})
    assert make("longest playlist", tied, DOCUMENTS, random.Random(1)) is None


def test_songs_that_tie_do_not_stand_out() -> None:
    tied = [SONGS[0], {**SONGS[1], "duration": 100}]
    with pytest.raises(Unavailable):
        listening.only(tied, lambda one: one["duration"])
    assert listening.only(tied, lambda one: one["release_date"])["title"] == "Down"


def test_a_note_with_other_lines_is_not_a_check_list() -> None:
    mixed = {**LIST, "content": "[ ] tent\nand more"}
    found = {**FOUND, "simple_note.show_note": [({}, mixed), ({}, PROSE)]}
    scene = Scene(Snapshot("mixed", NOW, found), random.Random(1))
    assert writing.check_lists(scene) == [] and writing.prose(scene) == [mixed, PROSE]


def test_long_lists_take_several_pages() -> None:
    assert [dict(action.arguments) for action in pages("a.b", 41, query="x")] == [
        {"query": "x", "page_limit": 20},
        {"query": "x", "page_index": 1, "page_limit": 20},
        {"query": "x", "page_index": 2, "page_limit": 20},
    ]
    assert len(pages("a.b", 0)) == len(pages("a.b", 20)) == 1


def test_a_kind_has_one_function() -> None:
    with pytest.raises(ValueError, match="two goals named 'tag a note'"):

        @goal()
        def tag_a_note(scene: Scene) -> None:
            """The name is taken."""


def test_a_kind_is_not_offered_without_its_apis() -> None:
    without = {name: document for name, document in DOCUMENTS.items() if not name.startswith("simple_note.")}
    assert {one.kind for one in goals_in(SNAPSHOT, without, 1, 400)}.isdisjoint({"tag a note", "note of a playlist"})


def test_a_world_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    folder = tmp_path / "data" / "tasks" / "one_1"
    (folder / "dbs").mkdir(parents=True)
    (folder / "specs.json").write_text('{"supervisor": {"email": "me@x.y"}, "datetime": "2023-05-18T12:00:00", "instruction": "Do it."}')

    class Worlds:
        root = tmp_path
        asked = 0

        def trace(self, task: Task, code: list[str]) -> dict[str, Any]:
            self.asked += 1
            early, mark = ["supervisor.show_profile", {}, 200, {"early": True}], ["supervisor.show_active_task", {}, 200, {}]
            return {"calls": [early, mark, ["supervisor.show_profile", {}, 200, ME], ["venmo.show_venmo_balance", {}, 401, "no"]]}

    worlds, calls, kept = Worlds(), Calls({}), Snapshots()
    first = kept.of(worlds, calls, Task("one_1", "appworld", "Do it."))
    assert first is kept.of(worlds, calls, Task("made", "appworld", "Other words.", payload={"start": "one_1"}))
    assert worlds.asked == 1 and first.me == ME and first.rows("venmo.show_venmo_balance") == []
    with pytest.raises(LookupError, match="show_song was not read"):
        first.one("spotify.show_song", song_id=1)


def test_the_goals_of_the_tiny_world_compose(environment: AppWorld) -> None:
    start = next(task for task in environment.tasks("train") if task.id == "openitems_2")
    wanted = {"playlist of the best", "project of a list", "text the open items", "play a playlist quieter", "copy a note"}
    found = [one for one in environment.goals(start, 1, 300) if one.kind in wanted]
    chosen = {one.kind: one for one in reversed(found)}
    assert set(chosen) == wanted and deal.ROUNDS > 1
    for number, one in enumerate(chosen.values()):
        task = environment.compose(start, [Step(action, "") for action in one.actions], f"goal{number}", one.query)
        assert task is not None and task.payload["reference"]["diff"], one.query
        assert task.solution == one.actions
