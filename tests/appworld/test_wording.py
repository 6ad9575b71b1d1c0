"""Requests for arbitrary steps: what is said, how values are said, and what is refused."""

import inspect
import re
from typing import Any

import pytest

from coevolve import Action
from coevolve.environments.appworld.environment import AppWorld
from coevolve.environments.appworld.realizer import APPS, question, request
from coevolve.environments.appworld.request_linter import fault
from coevolve.environments.appworld.spoken import Unsayable, Values

USER = "me@x.y"
PROFILE = ["supervisor.show_profile", {}, 200, {"email": USER, "phone_number": "5550001"}]
SONGS = ["spotify.show_song_library", {}, 200, [{"song_id": 31, "title": "Up"}, {"song_id": 32, "title": "Down"}]]
SISTER = [
    "phone.search_contacts",
    {},
    200,
    [{"first_name": "Ann", "email": "ann@x.y", "phone_number": "5550002", "relationships": ["sister"]}],
]
OK = {"message": "Done with it."}


def parameter(name: str, default: Any = None, required: bool = True) -> dict[str, Any]:
    return {"name": name, "default": default, "required": required}


def document(name: str, method: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    return {"method": method, "parameters": list(parameters), "description": "Set the loudness of the player to a level."}


_LISTED: tuple[tuple[Any, ...], ...] = (
    ("spotify.show_song_library", "GET"),
    ("spotify.show_song", "GET", "song_id"),
    ("spotify.like_song", "POST", "song_id"),
    ("spotify.set_volume", "POST", "volume"),
    ("spotify.delete_account", "DELETE"),
    ("spotify.update_account_name", "PATCH", parameter("first_name", required=False)),
    ("spotify.create_playlist", "POST", "title", parameter("is_public", False, False)),
    ("phone.search_contacts", "GET"),
    ("phone.send_text_message", "POST", "phone_number", "message"),
    ("venmo.create_transaction", "POST", "receiver_email", "amount", parameter("description", "", False)),
)
DOCUMENTS = {
    name: document(name, method, *(one if isinstance(one, dict) else parameter(one) for one in parameters))
    for name, method, *parameters in _LISTED
}


def said(*calls: list[Any], answer: Any = None) -> str | None:
    return request(calls, answer, USER, DOCUMENTS)


def test_things_and_people_are_named_not_numbered() -> None:
    liked = said(SONGS, ["spotify.like_song", {"song_id": 31}, 200, OK])
    assert liked is not None and '"Up"' in liked and "31" not in liked
    texted = said(SISTER, ["phone.send_text_message", {"phone_number": "5550002", "message": "On my way."}, 200, OK])
    assert texted is not None and "my sister" in texted and '"On my way."' in texted
    paid = said(SISTER, ["venmo.create_transaction", {"receiver_email": "ann@x.y", "amount": 7.5, "description": "Tea"}, 200, OK])
    assert paid is not None and "$7.50" in paid and "ann@x.y" not in paid


@pytest.mark.parametrize(
    "calls",
    [
        [["spotify.like_song", {"song_id": 31}, 200, OK]],
        [SONGS, ["spotify.like_song", {"song_id": 99}, 200, OK]],
        [["spotify.delete_account", {}, 200, OK]],
        [["spotify.update_account_name", {}, 200, OK]],
        [PROFILE, ["phone.send_text_message", {"phone_number": "5550001", "message": "Hello."}, 200, OK]],
        [
            ["spotify.set_volume", {"volume": 3}, 200, OK],
            ["phone.send_text_message", {"phone_number": "5550002", "message": "Done with it."}, 200, OK],
        ],
        [SONGS, *[["spotify.like_song", {"song_id": 31}, 200, OK]] * 2],
        [SONGS, *[["spotify.set_volume", {"volume": level}, 200, OK] for level in range(4)]],
        [["phone.send_text_message", {"phone_number": "5550002", "message": "a\nb"}, 200, OK]],
        [SONGS],
        [],
    ],
    ids=["unnamed", "unknown", "account", "no name", "oneself", "status line", "twice", "too many", "lines", "lookup", "nothing"],
)
def test_what_nobody_would_ask_for_gets_no_words(calls: list[Any]) -> None:
    assert said(*calls) is None


def test_a_question_asks_for_what_the_lookup_shows() -> None:
    looked = ["spotify.show_song", {"song_id": 32}, 200, {"title": "Down", "duration": 271, "liked": True}]
    asked = question([SONGS, looked], USER, DOCUMENTS)
    assert asked is not None and asked.answer == 271 and '"Down"' in asked.words and "271" not in asked.words
    assert said(SONGS, looked, answer=271) == asked.words
    assert question([SONGS, looked, ["spotify.like_song", {"song_id": 31}, 200, OK]], USER, DOCUMENTS) is None
    assert question([looked], USER, DOCUMENTS) is None


def test_words_follow_from_the_content_alone() -> None:
    texts = {said(["spotify.create_playlist", {"title": f"List {number}"}, 200, OK]) for number in range(30)}
    patterns = {re.sub(r"\d+", "N", text or "") for text in texts}
    assert len(texts) == 30 and len(patterns) > 4
    again = {said(["spotify.create_playlist", {"title": f"List {number}"}, 200, OK]) for number in range(30)}
    assert texts == again


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("amount", 12.0, "$12"),
        ("time", "19:30", "7:30 pm"),
        ("due_date", "2023-05-20", "May 20"),
        ("repeat_days", ["saturday", "sunday"], "weekends"),
        ("tags", ["a", "b"], '"a" and "b"'),
        ("volume", 4, "4"),
        ("priority", "high", "high"),
        ("title", "Blue", '"Blue"'),
    ],
)
def test_values_are_said_as_people_write_them(name: str, value: Any, words: str) -> None:
    assert Values((), USER).say(name, value) == words


@pytest.mark.parametrize(
    ("name", "value"),
    [("access_token", "x"), ("new_password", "x"), ("note_id", 3), ("is_public", True), ("tags", []), ("title", "x" * 81), ("email", USER)],
)
def test_values_that_are_not_said(name: str, value: Any) -> None:
    with pytest.raises(Unsayable):
        Values((), USER).say(name, value)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Call set_volume for me.", "set_volume"),
        ("Set volume=3 please.", "volume="),
        ("Please like_song(3).", "like_song("),
        ("Play {title} now.", "{"),
        ("Play None now.", "None"),
        ("Like the song with id 3.", "id"),
        ("I want you to set the loudness of the player.", "set the loudness of the"),
        ("Delete number 12447.", "12447"),
    ],
)
def test_the_linter_finds(query: str, found: str) -> None:
    assert found in (fault(query, [Action("spotify.like_song", {"song_id": 12447})], DOCUMENTS) or "")


def test_the_linter_lets_texts_of_the_user_be() -> None:
    message = "{x}=1 set_volume(2), id 7"
    assert fault(f"Text her {message}", [Action("phone.send_text_message", {"message": message})], DOCUMENTS) is None
    assert fault("Make it louder: level 3.", [Action("spotify.set_volume", {"volume": 3})], DOCUMENTS) is None


def test_phrases_fit_the_documents(environment: AppWorld) -> None:
    """Each change of the apps has phrases or is refused, and each slot is an argument of its API."""
    documents = environment.calls.documents
    for app, module in APPS.items():
        tables = {*module.WISHES, *module.QUESTIONS, *module.REFUSED}
        assert {f"{app}.{api}" for api in tables} <= set(documents), inspect.getfile(module)
        assert not set(module.WISHES) & set(module.REFUSED)
        changing = {n.partition(".")[2] for n, d in documents.items() if d["app_name"] == app and d["method"].upper() != "GET"}
        assert changing == {*module.WISHES, *module.REFUSED} & changing, changing - {*module.WISHES, *module.REFUSED}
        for api, listed in [*module.WISHES.items(), *((api, q) for api, fields in module.QUESTIONS.items() for q in fields.values())]:
            known = {one["name"] for one in documents[f"{app}.{api}"]["parameters"]}
            assert {slot for words in listed for slot in re.findall(r"\{(\w+)", words)} <= known, api
