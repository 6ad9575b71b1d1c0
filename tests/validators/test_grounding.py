import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import Action, Description, Observation, Step, Task, Tool
from coevolve.plugins.validators.grounding import SpokenText, ungrounded_literal
from coevolve.plugins.validators.trace import Trace, TracedCall, traced
from coevolve.testing import make_task

PROPERTIES = {
    "unit": {"type": "string", "enum": ["km", "mi"]},
    "labels": {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}},
    "lines": {"type": "integer", "default": 10},
    "code": {"type": "string", "description": "An airport such as LAX."},
}
TOOL = Tool("f", "Do it as standard.", {"type": "object", "properties": PROPERTIES})


class Played:
    """An environment with one tool. Each completion is one call; a second user message comes after the second call."""

    def describe(self) -> Description:
        return Description((TOOL,))

    def open(self, task: Task) -> Any:
        return Playing(task)

    def script(self, actions: Any) -> tuple[str, ...]:
        return tuple(str(number) for number in range(len(actions)))


class Playing:
    messages = ({"role": "system", "content": "secret"}, {"role": "user", "content": "Go to Rome with 1,200 coins."})

    def __init__(self, task: Task) -> None:
        self.task = task

    def __enter__(self) -> "Playing":
        return self

    def __exit__(self, *_: object) -> None: ...

    def step(self, text: str) -> Observation:
        n = int(text)
        step = Step(self.task.solution[n], f"found-{n} 3.50")
        later = ({"role": "user", "content": "Then Oslo."}, {"role": "tool", "content": "hidden"}) if n == 1 else ()
        return Observation(later, (step,), done=n == 3)


def missing(*calls: dict[str, Any]) -> str | None:
    environment: Any = Played()
    return ungrounded_literal(environment, traced(environment, make_task(solution=[Action("f", call) for call in calls]), 10))


@pytest.mark.parametrize(
    "call",
    [
        {"x": "Rome"},
        {"x": "rome"},
        {"x": 1200},
        {"x": 1200.0},
        {"x": -1200},
        {"x": True},
        {"x": None},
        {"x": ["Rome", 1200, [False]]},
        {"x": {"any": "Rome"}},
        {"unit": "km"},
        {"labels": ["red", "blue"]},
        {"lines": 10},
        {"code": "LAX"},
        {"code": "standard"},
    ],
)
def test_a_literal_of_the_user_or_the_document_is_grounded(call: dict[str, Any]) -> None:
    assert missing(call) is None


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ({"x": "Oslo"}, "x 'Oslo'"),
        ({"x": "Rom"}, "x 'Rom'"),
        ({"x": "secret"}, "x 'secret'"),
        ({"x": 200}, "x 200"),
        ({"x": ""}, "x ''"),
        ({"x": ["Rome", "Bonn"]}, "x 'Bonn'"),
        ({"unit": "ft"}, "unit 'ft'"),
        ({"lines": 11}, "lines 11"),
        ({"code": "found-0"}, "code 'found-0'"),
    ],
)
def test_a_literal_without_a_source_is_named(call: dict[str, Any], what: str) -> None:
    assert missing(call) == f"f: {what} comes from nowhere"


def test_only_results_and_messages_before_the_call_count() -> None:
    assert missing({"x": "Rome"}, {"x": "found-0", "y": 3.5}, {"x": "Oslo"}) is None
    assert missing({"x": "Rome"}, {"x": "Oslo"}) == "f: x 'Oslo' comes from nowhere"
    assert missing({"x": "Rome"}, {"x": "Rome"}, {"x": "hidden"}) == "f: x 'hidden' comes from nowhere"


@given(before=st.text(), value=st.text(st.characters(categories=("L", "N")), min_size=1), after=st.text())
def test_a_word_of_the_text_is_found(before: str, value: str, after: str) -> None:
    read = SpokenText()
    read.add(f"{before} {value} {after}")
    assert read.contains(value)


@given(value=st.integers(0, 10**9) | st.decimals(0, 10**6, places=2, allow_nan=False).map(float))
def test_a_number_is_found_in_any_notation(value: float) -> None:
    read = SpokenText()
    read.add(f"pay {value:,} now")
    assert read.contains(value) and read.contains(float(value)) and not read.contains(value + 1)


LIMIT = {"type": "integer", "default": 5}
FOUND = [{"title": "Tide Tables", "seconds": 233}, {"title": "Copper Sky", "seconds": 178}]
ITEMS = Tool("items", "Items.", {"properties": {"page_limit": LIMIT, "page_index": LIMIT, "limit": {"type": "integer"}, "seconds": LIMIT}})
DONE = Tool("finish", "End.", {"properties": {"answer": {"type": "string"}, "note": {"type": "string"}}})


class Listed:
    def describe(self) -> Description:
        return Description((ITEMS, DONE))


def without_source(asked: str, present: str = "", listed: dict[str, Any] | None = None, **finish: Any) -> str | None:
    """What has no source in a look at FOUND and an ending call with these arguments."""
    listing = Step(Action("items", listed or {}), json.dumps(FOUND), FOUND)
    calls = (TracedCall(listing, 0, 0), TracedCall(Step(Action("finish", finish), "ok"), 0, 1, ends=True))
    environment: Any = Listed()
    return ungrounded_literal(environment, Trace((asked,), calls, present))


def test_how_many_items_a_page_holds_needs_no_source() -> None:
    assert without_source("Show them.", listed={"page_limit": 20, "page_index": 3}) is None
    assert without_source("Show them.", listed={"limit": 20}) is not None, "without a default it is the request's to say"
    assert without_source("Show them.", listed={"seconds": 200}) is not None, "it says which items are wanted"


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("How many are there?", 2),
        ("How long are all of them, in seconds?", 411),
        ("How long are they in minutes, rounded?", 7),
        ("How much longer is the longest than the shortest?", 55),
        ("What is their average length?", 205.5),
        ("Is there one about the sky?", "yes"),
        ("List the titles, separated by commas.", "Tide Tables, Copper Sky"),
        ("Which is the longest?", "Tide Tables"),
    ],
)
def test_an_answer_may_be_computed_from_results(asked: str, answer: Any) -> None:
    assert without_source(asked, answer=answer) is None
    assert without_source(asked, note=answer) is None or isinstance(answer, int | float) or answer == "yes", "only the answer is free"


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("How many are there?", 907),
        ("Give me one.", 902.5),
        ("Which is the longest?", "yes of course"),
        ("Name the longest.", "yes"),
        ("List the titles.", "Tide Tables, Glasshouse"),
    ],
)
def test_an_answer_that_no_result_gives_has_no_source(asked: str, answer: Any) -> None:
    assert without_source(asked, answer=answer) is not None


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        ("Note 'Play Tide Tables for SECONDS', with its seconds in that place.", "Play Tide Tables for 233"),
        ("Begin with all I had in April.", "2023-04-30"),
        ("And since the first of this month?", "2023-05-01"),
        ("Wake me 40 minutes before 9:15 am.", "08:35"),
        ("An hour after 9:15 am, please.", "10:15"),
    ],
)
def test_texts_and_times_that_follow_from_what_is_known(asked: str, note: str) -> None:
    assert without_source(asked, "2023-05-18T12:00:00", note=note) is None


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        ("Note to play Tide Tables.", "Enjoy Tide Tables tonight"),
        ("Begin with all I had in April.", "2023-04-17"),
        ("Begin with all I had in April.", "2022-04-30"),
        ("Wake me 40 minutes before 9:15 am.", "08:45"),
        ("Wake me at 6:45 with five or 30 others.", "05:30"),
    ],
)
def test_texts_and_times_that_do_not_follow_have_no_source(asked: str, note: str) -> None:
    assert without_source(asked, "2023-05-18T12:00:00", note=note) is not None


@pytest.mark.parametrize(("asked", "code"), [("How is Apple doing?", "AAPL"), ("Sell my Microsoft shares.", "MSFT"), ("Google?", "GOOG")])
def test_everybody_knows_a_few_tickers(asked: str, code: str) -> None:
    assert without_source(asked, note=code) is None
    assert without_source("How is Omega doing?", note=code) is not None
    assert without_source("I ate an apple and microwaved a google-eyed fish", note="MSFT") is not None


@pytest.mark.parametrize(
    ("asked", "value"),
    [("I never want more than 100. Withdraw whatever is above that.", 133), ("How many whole ones can I get for 1,000?", 4)],
)
def test_a_surplus_and_whole_shares_are_computed(asked: str, value: float) -> None:
    assert without_source(asked, note=value) is None
    assert without_source(asked, note=value + 9) is not None


def test_a_choice_that_holds_the_said_word_is_no_other_choice() -> None:
    access = {"type": "string", "enum": ["read", "write", "read_write"]}
    tool = Tool("sign_in", "Sign in.", {"properties": {"access": access}})

    class Site:
        def describe(self) -> Description:
            return Description((tool,))

    def found(value: str) -> str | None:
        call = TracedCall(Step(Action("sign_in", {"access": value}), "ok"), 0, 0)
        environment: Any = Site()
        return ungrounded_literal(environment, Trace(("Sign me in, I need to read and to write.",), (call,)))

    assert found("read_write") is None
