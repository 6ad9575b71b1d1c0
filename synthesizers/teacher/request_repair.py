"""Repair a candidate whose wording was refused, and not its solution: ask the teacher once for another request."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import attrs

from coevolve import Action, CandidateTask, Environment, Task, Verdict, play

from ..refused import next_id
from . import rendering
from .parsing import read_requests
from .prompts import RULES, TURNS
from .schemas import requests
from .teacher_client import TeacherClient, ask_for_repair

LIMIT = 200
"""Most completions of one replay of a solution."""

_SYSTEM = """You word requests for an agent that works with tools. You answer with one JSON object and nothing else."""

_REPAIR = """A user is to say this to the agent:
{query}

It must lead the agent to these calls, and to no others:
{solution}

{problem}

Write what the user says anew, in {count}. The calls stay as they are. {rules}
Answer with one JSON object of this shape:
{{"requests": [{shape}]}}"""

_PROBLEMS = {
    "misunderstood": "Another reader, who saw only the user's words and the tools, did something else:\n{detail}",
    "ambiguous": "The words allow another reading:\n{detail}",
    "ungrounded": "The agent cannot know a value:\n{detail}",
    "leaked": "The words say what the agent should find out by itself:\n{detail}",
    "tool_named": "The words are not a user's:\n{detail}",
}


def repair_request(client: TeacherClient, candidate: CandidateTask, verdict: Verdict, environment: Environment) -> CandidateTask | None:
    """The candidate with the teacher's new request; None where the teacher gives none, or the environment makes no such task."""
    task = candidate.task
    turns = _turns(task)
    key = f"{task.origin.iteration}/repair/{task.id}"
    reply = ask_for_repair(client, key, task.origin.iteration, _messages(task, verdict, turns), requests(len(turns)))
    texts = None if reply is None else read_requests(reply, len(turns))
    if not texts or "\n\n".join(texts) == task.query:
        return None
    made = play(environment, task, environment.script(task.solution)[:LIMIT])
    task_id = next_id(task.id)
    composed = environment.compose(task, made.steps, task_id, "\n\n".join(texts))
    if composed is None or environment.script(composed.solution) != environment.script(task.solution):
        return None
    new = attrs.evolve(composed, id=task_id, intent=task.intent, origin=task.origin)
    return attrs.evolve(candidate, task=new, calls=(*candidate.calls, key))


def _turns(task: Task) -> list[list[Action]]:
    """The actions of each turn. A turn may have none, where the request has as many paragraphs as there are turns then."""
    turns = {number: list(group) for number, group in groupby(task.solution, key=lambda action: action.turn)}
    last = max(turns, default=-1)
    return [turns.get(number, []) for number in range(last + 1)] if len(task.query.split("\n\n")) == last + 1 else list(turns.values())


def _messages(task: Task, verdict: Verdict, turns: Sequence[Sequence[Action]]) -> list[dict[str, Any]]:
    lines, count = list[str](), len(turns)
    for number, actions in enumerate(turns, 1):
        calls = [rendering.call(action.name, action.arguments) for action in actions]
        lines += [f"Turn {number}:"] * (count > 1) + (calls or ["(no call: the user leaves out a value, and the agent asks for it)"])
    text = _REPAIR.format(
        query=rendering.cut(task.query, 6_000),
        solution=rendering.cut("\n".join(lines), 6_000),
        problem=_PROBLEMS.get(verdict.reason, "{detail}").format(detail=rendering.cut(verdict.detail, 2_000)),
        count="one text" if count == 1 else f"{count} texts, one for each turn",
        rules=f"{RULES} {TURNS}" if count > 1 else RULES,
        shape=", ".join(['"what the user says"'] * min(count, 2)),
    )
    return [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": text}]
