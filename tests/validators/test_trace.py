from typing import Any

from coevolve import Action, Observation, Step
from coevolve.plugins.validators.trace import Trace, TracedCall, traced
from coevolve.testing import make_task

NOW = "It is 2027-03-01T09:00:00. Dates look like 2020-01-01."


class Conversation:
    """An environment that sends what calls return in the user's name, as AppWorld does; a second turn follows the first call."""

    messages = ({"role": "system", "content": NOW}, {"role": "user", "content": "Show 7 songs."})

    def open(self, task: Any) -> "Conversation":
        return self

    def script(self, actions: Any) -> tuple[str, ...]:
        return tuple(str(number) for number in range(len(actions)))

    def step(self, text: str) -> Observation:
        output, later = {"0": ("song 701", "Now play song 701."), "1": ("ok", "")}[text]
        said = ({"role": "user", "content": later},) if later else ()
        step = Step(Action("f", {}), f"{output}\n", output)
        return Observation(({"role": "user", "content": f"Output:\n{output}"}, *said), (step,), done=text == "1")

    def __enter__(self) -> "Conversation":
        return self

    def __exit__(self, *_: object) -> None: ...


def told(query: str) -> Any:
    environment: Any = Conversation()
    return traced(environment, make_task(query=query, solution=[Action("f"), Action("f")]), 10)


def test_what_calls_return_is_not_what_the_user_says() -> None:
    assert told("Show 7 songs.\n\nNow play song 701.").turns == ("Show 7 songs.", "Now play song 701.")


def test_the_last_call_ends_the_episode_and_the_system_says_the_time() -> None:
    found = told("Show 7 songs.\n\nNow play song 701.")
    assert [call.ends for call in found.calls] == [False, True]
    assert found.present == "2027-03-01T09:00:00"


def test_a_turn_that_is_only_asked_back_about_belongs_to_the_next() -> None:
    calls = tuple(TracedCall(Step(Action("f"), ""), turn, turn) for turn in (0, 2, 3))
    found = Trace(("a", "b", "c", "d"), calls)
    assert [found.asks(turn) for turn in (0, 2, 3)] == ["a", "b\nc", "d"]
