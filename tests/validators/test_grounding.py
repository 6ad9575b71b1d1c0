from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import Action, Description, Observation, Step, Task, Tool
from coevolve.plugins.validators.grounding import SpokenText, ungrounded_literal
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
    return ungrounded_literal(environment, make_task(solution=[Action("f", call) for call in calls]), 10)


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
