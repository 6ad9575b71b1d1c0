"""The desk's world and its text calls."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import Action, Task
from coevolve.environments.desk import Desk
from coevolve.environments.desk.calls import parse, write
from coevolve.environments.desk.tools import ACTIONS, APPS, ENTITIES, LINKS, RELAYS, SIMPLE, SOURCES, TOOLS
from coevolve.environments.desk.values import FORMS, READ, SIZE
from coevolve.environments.desk.world import Refused, World

NAMES = st.sampled_from([*TOOLS, "done", "files.nothing"])
WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)


def _task(seed: int = 7) -> Task:
    return Task("t", "desk", "anything", payload={"seed": seed})


def test_there_are_14_apps_and_117_tools_of_four_sorts() -> None:
    assert {spec.app for spec in TOOLS.values()} == set(APPS)
    assert len(APPS) == 14
    assert len(TOOLS) == 117 == len(SOURCES) + len(RELAYS) + len(ACTIONS) + len(SIMPLE)
    assert len({spec.phrase for spec in TOOLS.values()}) == len(TOOLS), "two tools that a request does not distinguish"


def test_every_kind_is_given_and_taken_in_several_ways() -> None:
    for kind in FORMS:
        assert len({p for p, c in LINKS if TOOLS[p].gives == kind}) >= 4
        assert len({TOOLS[c].reads for p, c in LINKS if TOOLS[c].takes == kind}) == 3, f"every form of a {kind} is wanted somewhere"


def test_forms_name_each_value_once_and_never_the_value_of_another_form() -> None:
    for kind, forms in FORMS.items():
        texts = [text for form in forms.values() for text in form]
        assert len(set(texts)) == len(texts) == 3 * SIZE, kind


def test_a_changed_fact_is_what_a_lookup_then_finds() -> None:
    world = World(3)
    before = world.call(Action("calendar.meeting_date", {"meeting": "board", "as": "iso"}))
    other = next(text for text in FORMS["date"]["iso"] if text != before)
    assert world.call(Action("calendar.move", {"meeting": "board", "date": other})) == "ok"
    assert world.call(Action("calendar.meeting_date", {"meeting": "board", "as": "iso"})) == other


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (Action("calendar.moved", {}), "unknown tool"),
        (Action("calendar.move", {"meeting": "board"}), "wants meeting= date="),
        (Action("calendar.move", {"meeting": "board", "date": "2027-03-04", "as": "iso"}), "wants meeting= date="),
        (Action("calendar.move", {"meeting": "nobody", "date": "2027-03-04"}), "unknown meeting nobody"),
        (Action("calendar.move", {"meeting": "board", "date": "03/04/2027"}), "cannot read 03/04/2027"),
        (Action("calendar.move", {"meeting": "board", "date": 3}), "wants meeting= date="),
        (Action("calendar.meeting_date", {"meeting": "board", "as": "h24"}), "unknown form h24"),
    ],
)
def test_a_refused_call_says_why_and_stays_on_record(action: Action, why: str) -> None:
    world, before = World(3), World(3).digest()
    with pytest.raises(Refused, match=f"^{why}$"):
        world.call(action)
    assert world.digest() != before
    assert world.state["records"] == {}


@pytest.mark.parametrize("consumer", [*RELAYS, *ACTIONS], ids=lambda spec: spec.name)
def test_each_taker_reads_exactly_one_form(consumer: "type[object]") -> None:
    spec = TOOLS[consumer.name]  # type: ignore[attr-defined]
    rest = {
        **({spec.entity: ENTITIES[spec.entity][0]} if spec.entity else {}),
        **({"as": next(iter(FORMS[spec.gives]))} if spec.gives else {}),
    }
    good = []
    for form, texts in FORMS[spec.takes or ""].items():
        try:
            World(0).call(Action(spec.name, {**rest, spec.takes or "": texts[0]}))
        except Refused:
            continue
        good.append(form)
    assert good == [spec.reads]


def test_equal_seeds_give_equal_worlds_and_others_differ() -> None:
    lookups = [Action(s.name, {s.entity or "": ENTITIES[s.entity or ""][0], "as": next(iter(FORMS[s.gives or ""]))}) for s in SOURCES]
    found = [[World(seed).call(a) for a in lookups] for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_state_is_json_and_a_copy_is_independent() -> None:
    world = World(5)
    world.call(Action("rooms.reserve", {"room": "aspen"}))
    copy = world.copy()
    assert json.loads(json.dumps(copy.state)) == world.state
    copy.call(Action("rooms.reserve", {"room": "birch"}))
    assert copy.digest() != world.digest()


@given(st.text(max_size=500))
def test_any_text_is_parsed_or_refused_and_an_episode_takes_it(text: str) -> None:
    action = parse(text)
    with Desk(Desk.Options()).open(_task()) as episode:
        observation = episode.step(text)
        assert (observation.fault == "no_call") == (
            action is None or (action.name == "done" and bool(action.arguments.keys() - {"answer"}))
        )
        assert episode.score() == 0.0


@given(NAMES, st.dictionaries(st.from_regex(r"[a-z]+", fullmatch=True), WORDS, max_size=4))
def test_what_is_written_is_parsed_back(name: str, arguments: dict[str, str]) -> None:
    assert parse(write(Action(name, arguments))) == Action(name, arguments)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "__import__('os').system('true')",
        "calendar.move meeting=a meeting=b",
        "calendar.move event",
        "calendar.move\nmeeting=a",
        "calendar.move " + "a=b " * 200,
        "calendar..move",
        "Calendar.move",
        "calendar.move meeting=é",
        "calendar.move =x",
    ],
)
def test_what_is_no_call(text: str) -> None:
    assert parse(text) is None


def test_readable_meanings_follow_the_forms() -> None:
    assert READ["person", "email"]["ana@desk.org"] == READ["person", "handle"]["@ana"] == 0
