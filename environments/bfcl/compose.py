"""New tasks from executed calls, in the official entry's shape."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from coevolve import Action, Origin, Step, Task

from .apis import Apis
from .data import make_task, requests
from .decode import Call, ground_truth
from .digest import canonical, digest
from .realizer import Made, word
from .simulated_apis import Start, fresh

Turns = list[tuple[str, list[Action]]]
"""The user's text of each turn, and the calls that carry it out."""


def compose(apis: Apis, start: Task, steps: Sequence[Step], task_id: str, query: str | None, limit: int) -> Task | None:
    """A task from `start`'s initial state that the steps' actions solve. It offers all functions.

    With a `query`, its paragraphs are the turns' requests when there are as many of them as turns in the steps. When there are as many as
    the highest turn's number tells, a turn without calls is one in which the user leaves something out, and the task is of the category
    miss_param. Otherwise the task has one turn. Without a `query`, see `worded`. Returns None for an unknown function, a request that is
    empty or cannot be worded, or a turn of more than `limit` calls.
    """
    actions = [step.action for step in steps]
    if not actions or any(action.name not in apis.functions for action in actions):
        return None
    turns = worded(apis, start, actions) if query is None else _divide(query, actions)
    if turns is None or any(len(calls) > limit or not text.strip() for text, calls in turns):
        return None
    payload = {
        **{key: value for key, value in start.payload.items() if key != "missed_function"},
        "id": task_id,
        "question": [[{"role": "user", "content": text}] for text, _ in turns],
        "ground_truth": [[str(Call(action.name, dict(action.arguments))) for action in calls] for _, calls in turns],
        "category": _category(start.payload["category"], turns),
    }
    detail = {"release": start.payload["release"], "category": payload["category"]}
    return make_task(apis, task_id, payload, Origin(kind="composed", parents=(start.id,), detail=detail), query)


def _divide(query: str, actions: Sequence[Action]) -> Turns:
    groups: dict[int, list[Action]] = {}
    for action in actions:
        groups.setdefault(action.turn, []).append(action)
    paragraphs = [part.strip() for part in query.split("\n\n") if part.strip()]
    if len(paragraphs) == len(groups):
        return [(text, groups[turn]) for text, turn in zip(paragraphs, sorted(groups), strict=True)]
    if len(paragraphs) == max(groups) + 1:
        return [(text, groups.get(turn, [])) for turn, text in enumerate(paragraphs)]
    return [(query, list(actions))]


def _category(start: str, turns: Turns) -> str:
    """The category of a task with these turns: large data stays large, and a held-out function of the start task is offered here."""
    if start == "long_context":
        return start
    return "miss_param" if any(not calls for _, calls in turns) else "base"


def worded(apis: Apis, start: Task, actions: Sequence[Action]) -> Turns | None:
    """Turns whose calls are `actions`: the turns of `start` that the first actions carry out, as they were put, then others for the rest.

    The rest is divided by `Action.turn`, and worded by `realizer.word`. Returns None where that cannot word one of them. The request
    of a turn of `start` without calls is joined to that of the next turn.
    """
    turns = _kept(apis, start, actions)
    kept = sum(len(calls) for _, calls in turns)
    made = _carried_out(apis, start, actions)
    for _, group in groupby(range(kept, len(actions)), key=lambda index: actions[index].turn):
        indices = list(group)
        text = word([made[index] for index in indices], made[: indices[0]])
        if text is None:
            return None
        turns.append((text, [actions[index] for index in indices]))
    return turns


def _kept(apis: Apis, start: Task, actions: Sequence[Action]) -> Turns:
    turns: Turns = []
    rest, pending = list(actions), list[str]()
    for text, answers in zip(requests(start.payload["question"]), start.payload["ground_truth"], strict=False):
        pending += [text] if text.strip() else []
        calls = [ground_truth(answer, apis.parameters) for answer in answers]
        if not calls:
            continue
        if [_key(action) for action in rest[: len(calls)]] != [_key(call) for call in calls]:
            break
        turns.append(("\n".join(pending), rest[: len(calls)]))
        rest, pending = rest[len(calls) :], []
    return turns


def _carried_out(apis: Apis, start: Task, actions: Sequence[Action]) -> list[Made]:
    world, made = fresh(apis, Start.of(start.payload)), list[Made]()
    for action in actions:
        call, before = Call(action.name, dict(action.arguments)), digest(world.public())
        result = world.execute(call)
        made.append(Made(call, result.value, digest(world.public()) != before))
    return made


def _key(call: Action | Call) -> str:
    return actions_key([(call.name, call.arguments)])


def actions_key(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Canonical text of a sequence of calls: the same for arguments in another order, or 65.0 for 65."""
    return canonical([[name, dict(arguments)] for name, arguments in calls])
