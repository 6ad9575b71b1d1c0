"""Repair a candidate that was refused for what its solution does: ask the teacher once for another task of the explored calls."""

import attrs

from coevolve import CandidateTask, Environment, Message, Refusal, Task, Verdict

from ..refused import next_id
from . import rendering, schemas, tool_list
from .abstraction import realise
from .offered_tools import offered_tools
from .options import TeacherOptions
from .parsing import read_candidates
from .prompts import RULES, TURNS, Prompts, shape, tools_chars, world_chars
from .teacher_client import TeacherClient, ask_for_repair
from .world import world_of

_REPAIR = """These calls were made in the environment:
{steps}

A practice task was made of them. The user says:
{query}

The agent is to make these calls:
{solution}

{problem}

Make one task in its place. {rules} The solution names the calls at the top by their numbers, in order, failed ones left out, and none that
the user's words do not ask for or need.{turns} A call that was not made may be written out, {{"tool": NAME, "arguments": {{...}}}}. Answer
with one JSON object of this shape:
{shape}"""

PROBLEMS = {
    "call_failed": "One of them failed: {detail}\nMake a task of calls that work.",
    "replay_differs": "They give other results each time: {detail}\nMake a task of calls that always give the same.",
    "droppable_call": "One of them is not needed: {detail}\nMake a task that needs each of its calls.",
    "no_effect": "They change nothing and find nothing out: {detail}\nMake a task that has an effect.",
    "solved_by_nothing": "An agent that does nothing has done it: {detail}\nMake a task that has an effect.",
    "too_easy": "It is too easy for the agent: {detail}\nMake it longer by further calls, or combine it with other calls from the top.",
    "too_hard": "It is too hard for the agent: {detail}\nMake a shorter one: a part of it that is a task of its own.",
}
"""What the teacher is told, by the reason of the refusal."""


def repair_task(
    client: TeacherClient, candidate: CandidateTask, verdict: Verdict, environment: Environment, start: Task, several: bool
) -> CandidateTask | None:
    """Another candidate over the same exploration, which began at `start`; None where the teacher gives none that can be carried out.

    Where the candidate was too easy or too hard, the new one must have more or fewer calls. `several`: whether tasks have several turns.
    """
    options, task, steps = client.options, candidate.task, candidate.exploration
    key = f"{task.origin.iteration}/repair/{task.id}"
    messages = _messages(options, candidate, verdict, environment, start, several)
    tools = {tool.name: tool for tool in environment.describe().tools}
    used = [tools[name] for name in dict.fromkeys(step.action.name for step in steps) if name in tools]
    if not used:
        return None
    schema = schemas.candidates(used, len(steps), 1, several, options.queries)
    reply = ask_for_repair(client, key, task.origin.iteration, messages, schema)
    found = read_candidates(reply, options.queries)[0] if reply is not None else []
    if not found:
        return None
    try:
        made = realise(found[0], start, steps, environment, next_id(task.id), task.origin, options.queries)
    except Refusal:
        return None
    more = len(made.solution) - len(task.solution)
    if (verdict.reason == "too_easy" and more <= 0) or (verdict.reason == "too_hard" and more >= 0):
        return None
    if (made.query, made.solution) == (task.query, task.solution):
        return None
    return attrs.evolve(candidate, task=made, calls=(*candidate.calls, key))


def _messages(
    options: TeacherOptions, candidate: CandidateTask, verdict: Verdict, environment: Environment, start: Task, several: bool
) -> list[Message]:
    task, chars = candidate.task, options.context_chars
    description = environment.describe()
    with environment.open(start) as episode:
        known = offered_tools(episode, start, {tool.name: tool for tool in description.tools})
        world = world_of(episode, world_chars(options))
    names = list(dict.fromkeys(name for step in candidate.exploration if (name := step.action.name) in known))
    listed = tool_list.tools(list(known.values()), names, options.max_tools, tools_chars(options))
    system = Prompts.of(options, description.notes, listed, start, several, world)

    def messages(steps: str) -> list[Message]:
        text = _REPAIR.format(
            steps=steps,
            query=rendering.cut(task.query, chars // 10),
            solution=rendering.cut("\n".join(rendering.call(action.name, action.arguments) for action in task.solution), chars // 10),
            problem=PROBLEMS[verdict.reason].format(detail=rendering.cut(_detail(verdict), chars // 20)),
            rules=RULES,
            turns=f" {TURNS}" if several and options.queries == "teacher" else "",
            shape=shape(options.queries, several),
        )
        return [{"role": "system", "content": system.system}, {"role": "user", "content": text}]

    return messages(rendering.steps(candidate.exploration, system.room(messages("")), idle=()))


def _detail(verdict: Verdict) -> str:
    """What the verdict says; where it rests on attempts, how many of them solved the task."""
    if verdict.attempts is None or "progress" in verdict.detail:
        return verdict.detail
    rollouts = [one for one in verdict.attempts.trajectories if one.score is not None]
    return f"the agent solved it {sum(one.success for one in rollouts)} of {len(rollouts)} times"
