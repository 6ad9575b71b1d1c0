"""From what a teacher wants to a task: its calls are checked, carried out in a fresh episode, and composed by the environment.

A teacher's word is never enough (paper, section 3: abstraction and validation): numbers must name explored calls that succeeded, calls must
fit their tools' schemas, and all of them must succeed one after the other from the beginning of the task that was explored. Nothing is
minimised and nothing is judged here; that is the pool's door.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from coevolve import Action, Environment, InfrastructureFault, Origin, Step, Task, Tool

from .wanted import Call, Part, Queries, Reason, Wanted


class _Refused(Exception):
    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(" ".join(f"{reason}: {detail}"[:400].split()) if detail else str(reason))


def realise(
    wanted: Wanted,
    start: Task,
    explored: Sequence[Step],
    environment: Environment,
    task_id: str,
    origin: Origin,
    queries: Queries = "teacher",
) -> Task | str:
    """The task `task_id` that begins where `start` does, or why nothing came of it ("code" or "code: detail", see wanted.Reason).

    Its turns are the candidate's; so are its query and its intent unless the environment words them, and the intent where the candidate
    has one. Calls of the environment that fail as such are a reason too, so nothing is raised for them.
    """
    try:
        steps = _executed(_plan(wanted, explored, environment), start, environment)
        task = environment.compose(start, steps, task_id, wanted.query if queries == "teacher" else None)
    except _Refused as refused:
        return str(refused)
    except InfrastructureFault as fault:
        return str(_Refused(Reason.ENVIRONMENT_ERROR, str(fault)))
    if task is None:
        return str(Reason.NOT_COMPOSABLE)
    intent = wanted.intent if queries == "teacher" else ""
    return attrs.evolve(task, id=task_id, intent=intent or task.intent, origin=origin)


def checked(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any] | str:
    """The arguments of a call without the nulls that stand for "left out", or why they do not fit the tool's schema.

    Types are taken strictly: "5" is no number, 5.5 no integer, true neither; arguments that the schema does not name are refused.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    schema = {"additionalProperties": False, **tool.parameters}
    given = _without_nulls(schema, arguments)
    error = best_match(Draft202012Validator(schema).iter_errors(given))
    if error is None:
        return given
    where = "".join(f"[{part!r}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return f"{tool.name}{where}: {error.message}"[:300]


def _without_nulls(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Leaves out nulls, also of inner objects, where the value need not be given and may not be null."""
    properties, kept = schema.get("properties", {}), dict[str, Any]()
    for name, value in arguments.items():
        inner = properties.get(name, {})
        if isinstance(value, dict) and "properties" in inner:
            kept[name] = _without_nulls(inner, value)
        elif value is not None or name in schema.get("required", ()) or name not in properties or _nullable(inner):
            kept[name] = value
    return kept


def _nullable(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type", "null")
    return "null" in ([kinds] if isinstance(kinds, str) else kinds)


def _plan(wanted: Wanted, explored: Sequence[Step], environment: Environment) -> list[list[Action]]:
    """The actions of each turn."""
    tools = {tool.name: tool for tool in environment.describe().tools}
    turns = [turn.solution for turn in wanted.turns] or [wanted.solution]
    return [[_action(part, number, explored, tools) for part in parts] for number, parts in enumerate(turns)]


def _action(part: Part, turn: int, explored: Sequence[Step], tools: Mapping[str, Tool]) -> Action:
    if isinstance(part, Call):
        if part.tool not in tools:
            raise _Refused(Reason.UNKNOWN_TOOL, part.tool)
        given = checked(tools[part.tool], part.arguments)
        if isinstance(given, str):
            raise _Refused(Reason.BAD_ARGUMENTS, given)
        return Action(part.tool, given, turn)
    if not 1 <= part <= len(explored):
        raise _Refused(Reason.UNKNOWN_STEP, f"{part} of {len(explored)}")
    step = explored[part - 1]
    if step.error is not None:
        raise _Refused(Reason.FAILED_STEP, f"{part}, {step.action.name}: {step.error}")
    return attrs.evolve(step.action, turn=turn)


def _executed(turns: Sequence[Sequence[Action]], start: Task, environment: Environment) -> list[Step]:
    """The steps that the actions become in a fresh episode; each must be carried out as it was asked for, and succeed."""
    done: list[Step] = []
    with environment.open(start) as episode:
        for number, actions in enumerate(turns):
            made: list[Step] = []
            # The texts say nothing of turns, or they would end those of `start`, which are others; what closes a script is not needed.
            for text in environment.script([attrs.evolve(action, turn=0) for action in actions]):
                if len(made) >= len(actions):
                    break
                seen = episode.step(text)
                made += seen.steps
                failed = next((step for step in seen.steps if step.error is not None), None)
                if failed is not None:
                    raise _Refused(Reason.CALL_FAILED, f"{failed.action.name}: {failed.error}")
                if seen.fault or not seen.steps or (seen.done and (len(made) < len(actions) or number + 1 < len(turns))):
                    raise _Refused(
                        Reason.CALL_FAILED, f"{actions[min(len(made), len(actions) - 1)].name}: {seen.fault or 'the episode ended'}"
                    )
            if [(step.action.name, dict(step.action.arguments)) for step in made] != [(a.name, dict(a.arguments)) for a in actions]:
                raise _Refused(Reason.CALL_FAILED, "calls were carried out as others")
            done += [attrs.evolve(step, action=attrs.evolve(step.action, turn=number)) for step in made]
    return done
