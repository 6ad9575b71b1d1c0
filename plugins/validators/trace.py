"""Carry out a solution and keep what the user says in each turn, and which calls are made in it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from coevolve import Action, Environment, Step, Task, perform


@frozen
class TracedCall:
    """A call, and the user turn in which it is made, counted from 0 in the order in which the user speaks."""

    step: Step
    turn: int
    index: int | None
    """Position of the solution's action that made the call; None for calls inside of a block of code."""
    ends: bool = False
    """Whether the episode was over with it."""

    @property
    def action(self) -> Action:
        return self.step.action


@frozen
class Trace:
    """A solution as it was carried out: the user's text of each turn, and the calls in order."""

    turns: tuple[str, ...]
    calls: tuple[TracedCall, ...]
    present: str = ""
    """The date and the time that the environment says it is, as "2027-03-01T09:00:00"; empty where it says none."""

    def said(self, turn: int) -> str:
        """All that the user has said up to and including this turn."""
        return "\n".join(self.turns[: turn + 1])

    def asks(self, turn: int) -> str:
        """What the user says in a turn, and in the turns right before it that were only asked back about: no call is made in them."""
        first, made = turn, {call.turn for call in self.calls}
        while first > 0 and first - 1 not in made:
            first -= 1
        return "\n".join(self.turns[first : turn + 1])


def traced(environment: Environment, task: Task, limit: int) -> Trace:
    """Carry out at most `limit` completions of the solution in a fresh episode; raises what the environment raises.

    Where a block of code made calls, these stand for the block.
    """
    calls: list[TracedCall] = []
    own = -1
    with environment.open(task) as episode:
        turns, present = [_said(episode.messages)], _present(episode.messages)
        for seen in perform(episode, environment.script(task.solution)[:limit]):
            for place, step in enumerate(seen.steps):
                own += not step.inner
                is_block = not step.inner and any(later.inner for later in seen.steps[place + 1 : place + 2])
                if not is_block:
                    calls.append(TracedCall(step, len(turns) - 1, None if step.inner else own, seen.done and step is seen.steps[-1]))
            results = [step.observation.strip() for step in seen.steps]
            if text := _said(message for message in seen.messages if not _is_result(message, results, task)):
                turns.append(text)
    return Trace(tuple(turns), tuple(calls), present)


def _present(messages: Iterable[Mapping[str, Any]]) -> str:
    """The last date with a time in the system's messages. Dates alone are examples in documents of tools."""
    texts = [str(message.get("content", "")) for message in messages if message.get("role") == "system"]
    found = re.findall(r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?", "\n".join(texts))
    return found[-1] if found else ""


def _is_result(message: Mapping[str, Any], results: Sequence[str], task: Task) -> bool:
    """Whether a message shows what the calls returned. Some environments send results in the user's name."""
    text = str(message.get("content", "")).strip()
    return text not in task.query and any(result and result in text for result in results)


def _said(messages: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(str(message.get("content", "")) for message in messages if message.get("role") == "user")
