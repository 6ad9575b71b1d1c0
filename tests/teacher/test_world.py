"""What the world holds where a task begins, in a bounded line."""

import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve import Episode
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.synthesizers.teacher.assignments import Assignment
from coevolve.synthesizers.teacher.evolution import Evolution
from coevolve.synthesizers.teacher.options import TeacherOptions
from coevolve.synthesizers.teacher.world import world_of
from coevolve.testing import Stockroom, make_feedback


class Showing:
    """An episode that shows a state."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def visible_state(self) -> Any:
        return self.state


def shown(state: Any, chars: int = 1500) -> str:
    return world_of(cast(Episode, Showing(state)), chars)


def test_a_short_world_is_told_whole() -> None:
    state = {"Files": {"root": {"a.txt": "hello", "b/": {}}}, "Bank": {"balance": 5.5, "orders": []}}
    assert json.loads(shown(state)) == state


@pytest.mark.parametrize("state", [None, {}, [], {"Files": {}}, {"Files": {"root": {}, "log": []}}])
def test_an_empty_world_is_not_told(state: Any) -> None:
    assert shown(state) == ""


def test_zero_and_false_are_something() -> None:
    assert shown({"Bank": {"balance": 0}}) and shown({"Door": {"open": False}})


def test_a_long_world_keeps_services_and_fields_and_the_first_items_of_each() -> None:
    state = {f"Service{n}": {"name": "x" * 300, "items": [{"id": i, "text": "y" * 50} for i in range(40)]} for n in range(3)}
    text = shown(state)
    told = json.loads(text)
    assert len(text) <= 1500 and list(told) == list(state) and all(list(one) == ["name", "items"] for one in told.values())
    *items, rest = told["Service2"]["items"]
    assert items[0]["id"] == 0 and rest == f"... {40 - len(items)} more"


def test_an_episode_that_shows_nothing_is_not_asked() -> None:
    world = Stockroom(Stockroom.Options())
    with world.open(world.tasks("train")[0]) as episode:
        assert world_of(episode, 1500) == ""
    assert shown({"a": {"b": 1}}, 0) == "", "a short prompt has no room for it"


def test_the_worlds_of_the_benchmark_fit_and_can_be_read() -> None:
    bfcl = Bfcl(BfclOptions())
    for task in bfcl.tasks("train")[::20]:
        with bfcl.open(task) as episode:
            text, before = world_of(episode, 1500), episode.state()
            assert 0 < len(text) <= 1500 and set(json.loads(text)) == set(episode.visible_state()) and episode.state() == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=9), inner, max_size=6),
    max_leaves=60,
)


@settings(deadline=None)
@given(JSON, st.integers(0, 400))
def test_the_line_keeps_to_its_room(state: Any, chars: int) -> None:
    text = shown(state, chars)
    assert len(text) <= chars and "\n" not in text


def test_an_exploration_is_told_the_world_of_its_task_and_the_tools_it_has() -> None:
    bfcl = Bfcl(BfclOptions())
    task = bfcl.tasks("train")[0]
    evolution = Evolution(TeacherOptions(), None, make_feedback([task]), bfcl, None)  # type: ignore[arg-type]
    tools, world = evolution._beginning(task)
    _, prompts = evolution._prompts(Assignment(1, task, None), tools, world)
    assert world and world in prompts.system and {action.name for action in task.solution} <= set(tools) < set(evolution.tools)
