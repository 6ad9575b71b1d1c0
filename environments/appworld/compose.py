"""New tasks from executed steps, and the keys that identify a task. The engine executes everything here; nothing is guessed.

A synthesized task's payload holds all that the engine needs: the task that it begins as, the code that solves it, and the reference (the
canonical diff and the answer) that the code led to in a fresh world.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from coevolve import Action, Origin, Step, Task, TaskKeys

from .beginnings import RunsCode, digest, start_of
from .connection import WorldEnded
from .engine.canonical import text_of
from .realizer import question, request
from .reference import gold_blocks
from .script import COMPLETE, EXECUTE, REFERENCE, Calls

_OWN = ("supervisor.show_profile", "supervisor.show_account_passwords", "supervisor.show_active_task", COMPLETE)
"""Calls about the user or the end of the task; they are not part of the way to the goal."""


@frozen
class Reference:
    """What code led to in a fresh world."""

    diff: Mapping[str, Any]
    answer: Any
    calls: Sequence[Sequence[Any]]
    """[app.api, arguments, status, answer]; 200 is success."""
    user: str

    @property
    def done(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The successful calls in order, without those that are not part of the way to the goal."""
        return [(name, arguments) for name, arguments, status, _ in self.calls if status == 200 and not _aside(name)]


def compose(worlds: RunsCode, calls: Calls, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
    """The task that begins as `start` does and is solved by what the steps did.

    Steps that do not end with `complete_task` get an ending: a plain one when something was changed; otherwise, without a `query`, the
    task asks for a field of the last lookup. Returns None when the code fails, when the task does not end as a success, when it has
    neither an effect nor an answer, and when no user would ask for it (realizer.py).
    """
    actions = actions_of(steps, calls)
    if not actions:
        return None
    found = _carry_out(worlds, calls, start, actions)
    if found is None:
        return None
    if found["status"] is None:
        ending = _ending(found, calls, query)
        if ending is None:
            return None
        actions = [*actions, ending]
        found = _carry_out(worlds, calls, start, actions)
    if found is None or found["status"] != "success" or not (found["diff"] or found["answer"] is not None):
        return None
    reference = Reference(found["diff"], found["answer"], found["calls"], found["user"])
    text = query if query is not None else _words(worlds, calls, start, actions, reference)
    if text is None or not text.strip():
        return None
    return Task(
        id=task_id,
        environment=start.environment,
        query=text,
        intent=_intent(reference),
        solution=tuple(actions),
        payload={
            "start": start_of(start),
            "code": list(calls.blocks(actions)),
            "reference": {"diff": reference.diff, "answer": reference.answer},
        },
        origin=Origin("composed", parents=(start.id,)),
    )


def actions_of(steps: Sequence[Step], calls: Calls) -> list[Action]:
    """The actions behind steps: each block of code, and each API call that was not made by one of them.

    Steps that failed are left out, since they cannot be relied on; so are steps after the task was marked complete.
    """
    actions: list[Action] = []
    inner = 0
    for step in steps:
        if step.action.name == EXECUTE:
            code, count = step.action.arguments.get("code"), step.action.arguments.get("calls", 0)
            inner = count if isinstance(count, int) else 0
            if isinstance(code, str) and step.error is None:
                actions.append(Action(EXECUTE, {"code": code}))
        elif inner > 0:
            inner -= 1
        elif step.action.name in calls.documents and step.error is None:
            actions.append(Action(step.action.name, dict(step.action.arguments)))
            if step.action.name == COMPLETE:
                break
    return actions


def _carry_out(worlds: RunsCode, calls: Calls, start: Task, actions: Sequence[Action]) -> dict[str, Any] | None:
    try:
        found = worlds.trace(start, list(calls.blocks(actions)))
    except (ValueError, WorldEnded):  # an action that this environment does not have, or code that ends its own world
        return None
    return found if found["ok"] else None


def _ending(found: Mapping[str, Any], calls: Calls, query: str | None) -> Action | None:
    if found["diff"]:
        return Action(COMPLETE, {})
    if query is not None:
        return None
    asked = question(found["calls"], found["user"], calls.documents)
    return Action(COMPLETE, {"answer": asked.answer}) if asked is not None else None


def _words(worlds: RunsCode, calls: Calls, start: Task, actions: Sequence[Action], reference: Reference) -> str | None:
    """The request for what was done; None where it cannot be worded, or where one of several changes changes nothing in the end."""
    changing = [place for place, action in enumerate(actions) if calls.changes(action.name) and action.name != COMPLETE]
    if len(changing) > 1:
        for place in changing:
            without = _carry_out(worlds, calls, start, [*actions[:place], *actions[place + 1 :]])
            if without is not None and text_of(without["diff"]) == text_of(reference.diff):
                return None
    made = [call for call in reference.calls if not call[0].endswith((".login", ".logout")) and call[0] != COMPLETE]
    text = request(made, reference.answer, reference.user, calls.documents)
    if text is None or reference.answer is None:
        return text
    asked = question(made, reference.user, calls.documents)
    return text if asked is not None and text_of(asked.answer) == text_of(reference.answer) else None


def _intent(reference: Reference) -> str:
    apps = sorted({name.split(".")[0] for name, _ in reference.done})
    kind = "a question" if not reference.diff else "an errand" if reference.answer is None else "an errand with a question"
    return f"{kind} about {', '.join(apps)}" if apps else kind


def _aside(name: str) -> bool:
    return name in _OWN or name.startswith("api_docs.") or name.endswith((".login", ".logout"))


def keys_of(worlds: RunsCode, calls: Calls, task: Task) -> TaskKeys:
    """Digests of what the solution did and led to in a fresh world; digests, so that the keys of a held-out task reveal nothing of it.

    `actions`: the user and the successful calls, without those that log in, look up documents or mark the task complete. `end_state`: the
    user, the canonical diff and the answer; where nothing was changed also the lookups' answers, since "3" answers many questions.
    `family`: which APIs were called and which fields of which models were changed, whatever the values: the variants of a scenario have
    one family, and a task that copies a held-out scenario with other values has that scenario's.
    """
    found = trace_of(worlds, calls, task)
    reference = Reference(found["diff"], found["answer"], found["calls"], found["user"])
    lookups = [] if reference.diff else sorted(text_of(call[3]) for call in reference.calls if call[2] == 200 and not _aside(call[0]))
    return TaskKeys(
        actions=digest([reference.user, [[name, dict(arguments)] for name, arguments in reference.done]]),
        end_state=digest([reference.user, reference.diff, comparable_answer(reference.answer), lookups]),
        family=digest([sorted({name for name, _ in reference.done}), _shape(reference.diff), reference.answer is None]),
    )


def trace_of(worlds: RunsCode, calls: Calls, task: Task) -> dict[str, Any]:
    """What the task's solution does in a fresh world; see `RunsCode.trace`."""
    return worlds.trace(task, _solution(worlds.root, calls, task))


def _solution(root: Path, calls: Calls, task: Task) -> list[str]:
    code: list[str] = []
    for action in task.solution:
        named = action.arguments.get("task") if action.name == REFERENCE else None
        code += gold_blocks(root, named) if isinstance(named, str) else (calls.block(action),)
    return code


def _shape(diff: Mapping[str, Any]) -> dict[str, Any]:
    return {
        model: [
            bool(change["added"]),
            sorted({field for fields in change["updated"].values() for field in fields}),
            bool(change["removed"]),
        ]
        for model, change in diff.items()
    }


def comparable_answer(answer: Any) -> Any:
    """An answer as the engine compares it: text stripped and in lower case, numbers with two decimals.

    >>> comparable_answer(" Tide Tables "), comparable_answer("3.0"), comparable_answer(2.999)
    ('tide tables', '3', '3')
    """
    if answer is None:
        return None
    text = str(answer).strip().strip("\"'").strip().lower()
    try:
        return f"{round(float(text), 2):g}"
    except ValueError:
        return text
