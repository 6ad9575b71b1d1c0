"""The policy that plays texts."""

from typing import Any, cast

import pytest

from coevolve import Action, Environment, Sampling, Task, UserError
from coevolve.plugins.policies.scripted import Scripted, ScriptedOptions


class Written:
    """The part of an environment that the policy uses."""

    def script(self, actions: Any) -> tuple[str, ...]:
        return tuple(f"do {action.name}" for action in actions)


def test_plays_the_solution_and_then_nothing() -> None:
    policy = Scripted(ScriptedOptions())
    policy.bind(cast(Environment, Written()))
    task = Task("t", "none", "q", solution=(Action("a"), Action("b")))
    first, second = (policy.begin(task, [{"role": "user", "content": "q"}], None, row) for row in range(2))
    assert policy.complete([first, second], Sampling()) == ["do a", "do a"]
    first.observe([{"role": "tool", "content": "ok"}])
    assert [policy.complete([first], Sampling()) for _ in range(3)] == [["do b"], [""], [""]]
    assert policy.complete([second], Sampling()) == ["do b"]
    assert [m["content"] for m in first.messages] == ["q", "do a", "ok", "do b", "", ""]
    assert first.tokens is None


def test_texts_are_cycled_in_every_conversation() -> None:
    policy = Scripted(ScriptedOptions(source="texts", texts=("x", "y")))
    a, b = (policy.begin(Task("t", "none", "q"), [], None, row) for row in range(2))
    assert [policy.complete([a], Sampling())[0] for _ in range(3)] == ["x", "y", "x"]
    assert policy.complete([b], Sampling()) == ["x"]


def test_missing_settings_are_named() -> None:
    with pytest.raises(UserError, match="needs bind"):
        Scripted(ScriptedOptions()).begin(Task("t", "none", "q"), [], None, 0)
    with pytest.raises(UserError, match="did you mean 'solution'"):
        Scripted(ScriptedOptions(source="solutoin"))
    with pytest.raises(UserError, match=r"policy\.texts is empty"):
        Scripted(ScriptedOptions(source="texts"))
