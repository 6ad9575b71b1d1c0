"""Plans and the requests that ask for them. A plan is a tuple of roots; a root is an action, or a lookup whose value is the answer."""

from collections.abc import Sequence
from typing import Union

from attrs import frozen

from coevolve import Action

from .calls import DONE
from .tools import Spec
from .world import World


@frozen
class Node:
    """One call of a plan. `value` is the lookup that gives its value, or the value's text; `form` is the form a lookup writes."""

    spec: Spec
    entity: str | None = None
    value: Union["Node", str, None] = None
    form: str | None = None

    @property
    def depth(self) -> int:
        return 1 + (self.value.depth if isinstance(self.value, Node) else 0)


Plan = tuple[Node, ...]

FRAMES = ("Please {all}.", "I need you to {all}.", "Can you {all}?", "Find {first} and {last}.")
"""Wordings of the requests of all splits but "test", and of all composed tasks."""
HELD_OUT_FRAMES = ("{all}, please.", "Do me a favour and {all}.", "Take {first}, then {last}.")
"""Wordings of the requests of split "test"."""


def ask(plan: Plan, frame: str) -> str:
    """The request for a plan. Frames with `{first}` fit a single action on a looked-up value only: see `fits`."""
    first = plan[0].value
    noun = _noun(first) if isinstance(first, Node) else ""
    return frame.format(all=intent(plan), first=noun, last=_phrase(plan[0], "it"))


def fits(plan: Plan, frame: str) -> bool:
    """Whether the plan can be worded in this frame."""
    return "{first}" not in frame or (len(plan) == 1 and plan[0].spec.gives is None and isinstance(plan[0].value, Node))


def intent(plan: Plan) -> str:
    """The request without a frame: "book a train on the birthday of the writer of the budget note"."""
    return " and ".join(f"tell me {_noun(root)} as {root.form}" if root.spec.gives else _noun(root) for root in plan)


def _noun(node: Node) -> str:
    return _phrase(node, _noun(node.value) if isinstance(node.value, Node) else node.value or "")


def _phrase(node: Node, value: str) -> str:
    return node.spec.phrase.format(e=node.entity, v=value)


def solve(plan: Plan, seed: int) -> tuple[Action, ...]:
    """Carry out the plan in a fresh world, root by root, each lookup just before the call that needs it; returns the calls, with `done`.

    Raises Refused when the desk refuses one of them.
    """
    world, calls = World(seed), []

    def run(node: Node) -> str:
        arguments: dict[str, str] = {}
        value = run(node.value) if isinstance(node.value, Node) else node.value
        if node.spec.entity and node.entity is not None:
            arguments[node.spec.entity] = node.entity
        if node.spec.takes and value is not None:
            arguments[node.spec.takes] = value
        if node.form is not None:
            arguments["as"] = node.form
        calls.append(Action(node.spec.name, arguments))
        return world.call(calls[-1])

    answer = None
    for root in plan:
        result = run(root)
        answer = result if root.spec.gives else answer
    return (*calls, Action(DONE, {} if answer is None else {"answer": answer}))


def family(actions: Sequence[Action]) -> str:
    """The tools of a solution in order, `done` left out: "notes.writer>contacts.birthday>travel.train"."""
    return ">".join(action.name for action in actions if action.name != DONE)
