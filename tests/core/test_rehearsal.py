"""What an environment says is collected before the first rollout."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from coevolve import Action, Message, Observation, Task, UserError
from coevolve.core.environment_defaults import complete
from coevolve.core.rollouts.rehearsal import rehearse


class Reader:
    """Keeps what it is asked to check."""

    name, Options = "reader", object
    openings: Sequence[Any] = ()
    replies: Sequence[Any] = ()

    def begin(self, *_: Any) -> Any: ...
    def complete(self, *_: Any) -> Any: ...
    def check_messages(self, openings: Sequence[Any], replies: Sequence[Any]) -> None:
        self.openings, self.replies = openings, replies


class Talk:
    messages: Sequence[Message] = ({"role": "user", "content": "hello"},)
    tools = ({"name": "f"},)

    def step(self, text: str) -> Observation:
        try:
            calls = [json.loads(line) for line in text.splitlines()]
        except ValueError:
            return Observation(({"role": "user", "content": "not a call", "hint": "write JSON"},))
        return Observation(tuple({"role": "tool", "content": str(call)} for call in calls), done=calls[0]["name"] == "end")

    def score(self) -> float:
        return 1.0


class World:
    name, Options = "world", object

    def __init__(self, episode: Any = Talk) -> None:
        self.episode = episode

    def tasks(self, split: str) -> Sequence[Task]:
        return [Task("t", "world", "hello", solution=(Action("f", {}), Action("g", {}), Action("end", {})))]

    def open(self, task: Task) -> Any:
        return self.episode()


def completed(world: Any) -> Any:
    """A world with what the class leaves out."""
    return complete(world)


def rehearse_with(policy: Any, world: Any, tasks: Sequence[Task], limit: float) -> None:
    rehearse(policy, world, tasks, limit)


def test_openings_results_and_answers_to_nonsense_are_collected() -> None:
    reader, world = Reader(), completed(World())
    rehearse_with(reader, world, world.tasks("train"), 5.0)
    assert [(list(messages), len(tools)) for messages, tools in reader.openings] == [([{"role": "user", "content": "hello"}], 1)]
    roles = sorted([str(message["role"]) for message in reply] for reply in reader.replies)
    assert roles == [["tool"], ["tool", "tool"], ["user"]]


def test_an_environment_that_fails_is_left_to_the_rollouts() -> None:
    class Broken(Talk):
        def step(self, text: str) -> Observation:
            raise RuntimeError("down")

    for episode in (Broken, lambda: 1 / 0):
        reader, world = Reader(), completed(World(episode))
        rehearse_with(reader, world, world.tasks("train"), 5.0)
        assert reader.replies == []


def test_tasks_are_spread_over_all_and_none_is_no_fault() -> None:
    opened: list[str] = []

    class Many(World):
        def open(self, task: Task) -> Any:
            opened.append(task.id)
            return Talk()

    rehearse_with(Reader(), completed(Many()), [Task(f"t{n}", "world", "q") for n in range(101)], 5.0)
    assert sorted(set(opened), key=opened.index) == ["t0", "t33", "t66", "t100"]
    rehearse_with(Reader(), completed(Many()), [], 5.0)


def test_a_refusal_is_the_policy_s_own() -> None:
    class Strict(Reader):
        def check_messages(self, openings: Sequence[Any], replies: Sequence[Any]) -> None:
            raise UserError("left out")

    world = completed(World())
    with pytest.raises(UserError, match="left out"):
        rehearse_with(Strict(), world, world.tasks("train"), 5.0)
