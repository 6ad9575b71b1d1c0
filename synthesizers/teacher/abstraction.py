"""Turn a candidate from a teacher's reply into a task: check its calls, carry them out in a fresh episode, have the environment compose it.

The reply alone is never trusted (paper, section 3: abstraction and validation): numbers must name explored calls that succeeded, calls must
fit their tools' schemas, and all calls must succeed one after the other from the beginning of the explored task. Minimising and judging
tasks is the validators' job.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from coevolve import Action, Environment, Episode, InfrastructureFault, Origin, Reason, Refusal, Step, Task, Tool, Verdict, perform

from .replies import Call, Candidate, Part, Queries

MAX_DETAIL = 400
"""Upper bound on the characters of a stored reason and its detail together."""


def realise(
    candidate: Candidate,
    start: Task,
    explored: Sequence[Step],
    environment: Environment,
    task_id: str,
    origin: Origin,
    queries: Queries = "teacher",
) -> Task:
    """The task `task_id` that begins where `start` does; raises Refusal for a candidate that cannot become one.

    Its turns are the candidate's. So is its query, unless the environment writes the queries, and its intent, if the candidate has one and
    the teacher writes the queries. An environment that fails is a refusal too (ENVIRONMENT_ERROR).
    """
    try:
        steps = _executed(_plan(candidate, explored, environment), start, environment)
        task = environment.compose(start, steps, task_id, candidate.query if queries == "teacher" else None)
    except InfrastructureFault as fault:
        raise Refusal(Reason.ENVIRONMENT_ERROR, str(fault)) from fault
    if task is None:
        raise Refusal(Reason.NOT_COMPOSABLE)
    intent = candidate.intent if queries == "teacher" else ""
    return attrs.evolve(task, id=task_id, intent=intent or task.intent, origin=origin)


def verdict_of(refusal: Refusal) -> Verdict:
    """The verdict to store: the detail in one line, at most MAX_DETAIL characters together with the reason."""
    detail = refusal.detail[: MAX_DETAIL - len(f"{refusal.reason}: ")]
    return Verdict(False, refusal.reason, " ".join(detail.split()))


def checked_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call without the nulls that stand for "left out"; raises Refusal where they do not fit the tool's schema.

    Types are strict: "5" is not a number, 5.5 is not an integer, and neither is true. Arguments that the schema does not name are refused.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    schema = {"additionalProperties": False, **tool.parameters}
    given = _without_nulls(schema, arguments)
    error = best_match(Draft202012Validator(schema).iter_errors(given))
    if error is None:
        return given
    where = "".join(f"[{part!r}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    raise Refusal(Reason.BAD_ARGUMENTS, f"{tool.name}{where}: {error.message}"[:300])


def _without_nulls(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Remove nulls, also from inner objects, where the argument is optional and its schema does not allow null."""
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


def _plan(candidate: Candidate, explored: Sequence[Step], environment: Environment) -> list[list[Action]]:
    """The actions of each turn."""
    tools = {tool.name: tool for tool in environment.describe().tools}
    turns = [turn.solution for turn in candidate.turns] or [candidate.solution]
    return [[_action(part, number, explored, tools) for part in parts] for number, parts in enumerate(turns)]


def _action(part: Part, turn: int, explored: Sequence[Step], tools: Mapping[str, Tool]) -> Action:
    if isinstance(part, Call):
        if part.tool not in tools:
            raise Refusal(Reason.UNKNOWN_TOOL, part.tool)
        return Action(part.tool, checked_arguments(tools[part.tool], part.arguments), turn)
    if not 1 <= part <= len(explored):
        raise Refusal(Reason.UNKNOWN_STEP, f"{part} of {len(explored)}")
    step = explored[part - 1]
    if step.error is not None:
        raise Refusal(Reason.FAILED_STEP, f"{part}, {step.action.name}: {step.error}")
    return attrs.evolve(step.action, turn=turn)


def _executed(turns: Sequence[Sequence[Action]], start: Task, environment: Environment) -> list[Step]:
    """The steps of the actions in a fresh episode; raises Refusal unless each action is carried out unchanged and succeeds."""
    steps: list[Step] = []
    with environment.open(start) as episode:
        for number, actions in enumerate(turns):
            done = _turn(episode, actions, environment, last=number + 1 == len(turns))
            steps += [attrs.evolve(step, action=attrs.evolve(step.action, turn=number)) for step in done]
    return steps


def _turn(episode: Episode, actions: Sequence[Action], environment: Environment, last: bool) -> list[Step]:
    """The steps of one turn's actions. `last`: the episode may end with them."""
    steps: list[Step] = []
    if not actions:  # the agent asks for what the user left out
        return steps
    # Scripted as actions of turn 0, because their turns are those of the candidate and not those of `start`.
    for seen in perform(episode, environment.script([attrs.evolve(action, turn=0) for action in actions])):
        steps += seen.steps
        failed = next((step for step in seen.steps if step.error is not None), None)
        if failed is not None:
            raise Refusal(Reason.CALL_FAILED, f"{failed.action.name}: {failed.error}")
        if seen.fault or not seen.steps or (seen.done and (len(steps) < len(actions) or not last)):
            name = actions[min(len(steps), len(actions) - 1)].name
            raise Refusal(Reason.CALL_FAILED, f"{name}: {seen.fault or 'the episode ended'}")
        if len(steps) >= len(actions):  # a script may add a text that ends the episode; it is not carried out
            break
    if [(step.action.name, dict(step.action.arguments)) for step in steps] != [(a.name, dict(a.arguments)) for a in actions]:
        raise Refusal(Reason.CALL_FAILED, "the environment carried out other calls than these")
    return steps
