"""Tasks from explored steps: find which lookup gave which value, keep the calls that matter, word a request."""

import random
from collections.abc import Sequence

from coevolve import Action, Origin, Step, Task

from .calls import DONE
from .episode import seed_of
from .generator import word
from .tools import TOOLS
from .wording import FRAMES, Node, Plan, intent, solve
from .world import Refused

_DEEPEST = 4
"""Most calls in one chain of a request that is worded here."""
_MOST_ROOTS = 2
"""Most things that a request that is worded here asks for."""


def plan_of(steps: Sequence[Step]) -> Plan:
    """The plan behind explored steps: its actions, and the lookup that was answered or came last.

    Failed steps and lookups that nothing needs are left out. A value that equals an earlier lookup's result counts as taken from it.
    """
    nodes: list[tuple[Node, str]] = []
    answered: str | None = None
    for step in steps:
        if step.action.name == DONE:
            answer = step.action.arguments.get("answer")
            answered = answer if isinstance(answer, str) else None
        elif step.error is None and step.action.name in TOOLS:
            nodes.append((_node(step.action, nodes), str(step.result)))
    lookups = [i for i, (node, result) in enumerate(nodes) if node.spec.gives and answered in (None, result)]
    last = lookups[-1] if lookups and (answered is not None or lookups[-1] == len(nodes) - 1) else None
    return tuple(node for i, (node, _) in enumerate(nodes) if not node.spec.gives or i == last)


def _node(action: Action, before: Sequence[tuple[Node, str]]) -> Node:
    spec, given = TOOLS[action.name], action.arguments
    value: Node | str | None = given.get(spec.takes) if spec.takes else None
    for node, result in reversed(before):
        if spec.takes and node.spec.gives == spec.takes and result == value:
            value = node
            break
    return Node(spec, given.get(spec.entity) if spec.entity else None, value, given.get("as"))


def compose(start: Task, steps: Sequence[Step], task_id: str, query: str | None, longest: int) -> Task | None:
    """The task that the steps solve from `start`'s beginning.

    Returns None when there is nothing to ask for, when it is too much for a request that is worded here, when one thing is set twice, when
    the solution has more than `longest` calls, and when the desk refuses its replay.
    """
    plan = plan_of(steps)
    things = [(root.spec.name, root.entity) for root in plan if root.entity]
    if not plan or len(set(things)) < len(things) or (query is None and not _fits_a_request(plan)):
        return None
    try:
        solution = solve(plan, seed_of(start))
    except Refused:
        return None
    if len(solution) > longest:
        return None
    text = query if query is not None else word(plan, random.Random(task_id), FRAMES)
    return Task(task_id, start.environment, text, intent(plan), solution, dict(start.payload), Origin("composed", parents=(start.id,)))


def _fits_a_request(plan: Plan) -> bool:
    return len(plan) <= _MOST_ROOTS and all(root.depth <= _DEEPEST for root in plan)
