"""What a judge sees of a task: its requests and the solution's calls turn by turn, the results, and what the solution changed."""

import json
import re
from collections.abc import Sequence
from typing import Any

from attrs import evolve, field, frozen

from ..contracts import Environment, Episode
from ..errors import UserError
from ..model import SUCCESS, Action, Step, Task, Tool
from ..optional import HasVisibleState
from ..replay import perform
from ..text import error_line
from .differences import differences
from .sample import digest_of, label_of


@frozen
class CallView:
    """One call of the solution: the name, the call as text, and what came of it."""

    name: str
    call: str
    result: str
    failed: bool = False
    inner: bool = False
    """Whether the code of the call before made it."""


@frozen
class TurnView:
    """What the user says, and what the solution does about it."""

    request: str
    calls: tuple[CallView, ...] = ()


@frozen
class TaskView:
    """A task as its judge reads it."""

    id: str
    digest: str
    origin: str
    made_of: str
    """Lineage: the iteration, the signal, the parents, and what the synthesizer noted."""
    intent: str
    turns: tuple[TurnView, ...]
    changes: tuple[str, ...] | None
    """What differs between the world before and after, one line each; None where the environment cannot show it."""
    tools: tuple[Tool, ...] = field(repr=False)
    """Those that the task offers."""
    door: str = ""
    problem: str | None = None
    """Why the solution could not be carried out or is not accepted."""

    @property
    def calls(self) -> tuple[CallView, ...]:
        """All calls in order."""
        return tuple(call for turn in self.turns for call in turn.calls)


def view_of(environment: Environment, task: Task, door: str = "") -> TaskView:
    """Carry out the task's solution in a fresh world and tell what happened; a failure becomes the view's `problem`."""
    empty = TaskView(task.id, digest_of(task), label_of(task), _lineage(task), task.intent, (), None, (), door)
    try:
        with environment.open(task) as episode:
            offered = _offered(environment, episode, task)
            before = episode.visible_state() if isinstance(episode, HasVisibleState) else None
            turns = _played(environment, episode, task)
            changes = None if not isinstance(episode, HasVisibleState) else tuple(differences(before, episode.visible_state()))
            problem = None if episode.score() >= SUCCESS else "the scorer does not accept the solution" if task.solution else "no solution"
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 - one task that cannot be carried out must not hide the others
        requests = tuple(TurnView(text) for text in task.query.split("\n\n"))
        return evolve(empty, turns=requests, problem=f"it cannot be carried out: {error_line(error)}")
    return evolve(empty, turns=turns, changes=changes, tools=offered, problem=problem)


def _played(environment: Environment, episode: Episode, task: Task) -> tuple[TurnView, ...]:
    opening = [str(message["content"]) for message in episode.messages if message["role"] == "user"]
    # An environment may wrap its only request in instructions for the agent; the judge reads the request itself.
    requests = opening if opening and all(text in task.query for text in opening) else [task.query]
    turns = [TurnView("\n\n".join(requests))]
    for seen in perform(episode, environment.script(task.solution)):
        turns[-1] = evolve(turns[-1], calls=(*turns[-1].calls, *map(_call, seen.steps)))
        said = [str(message["content"]) for message in seen.messages if message["role"] == "user"]
        if said and not seen.steps and not seen.fault:  # no result of a call: the user speaks again
            turns.append(TurnView("\n\n".join(said)))
    return tuple(turns)


def _call(step: Step) -> CallView:
    action = step.action
    return CallView(action.name, call_text(action), step.observation or _shown(step.result), step.error is not None, step.inner)


def call_text(action: Action) -> str:
    """A call as Python would write it; a block of code as it is."""
    if set(action.arguments) <= {"code", "calls"} and isinstance(code := action.arguments.get("code"), str):
        return code
    return f"{action.name}({', '.join(f'{name}={value!r}' for name, value in action.arguments.items())})"


def _shown(result: Any) -> str:
    return "" if result is None else json.dumps(result, ensure_ascii=False, default=str)


def _offered(environment: Environment, episode: Episode, task: Task) -> tuple[Tool, ...]:
    """The tools that the conversation's start names; all of the environment's where it does not name those of the solution."""
    tools = environment.describe().tools
    text = json.dumps([list(episode.messages), episode.tools], default=str, ensure_ascii=False)
    named = {match for pair in re.findall(r'([\w.]+)\(|"([\w.]+)\\?"', text) for match in pair if match}
    offered = tuple(tool for tool in tools if tool.name in named)
    known = {tool.name for tool in tools}
    used = {action.name for action in task.solution} & known
    return offered if used and used <= {tool.name for tool in offered} else tools


def _lineage(task: Task) -> str:
    origin = task.origin
    parts: Sequence[str] = (
        f"iteration {origin.iteration}" if origin.kind != "seed" else "",
        f"signal {origin.signal}" if origin.signal else "",
        f"from {', '.join(origin.parents)}" if origin.parents else "",
        *(f"{name} {value if isinstance(value, str) else json.dumps(value)}" for name, value in origin.detail.items() if value),
    )
    return "; ".join(part for part in parts if part)


def signature(tool: Tool) -> str:
    """A tool in one line: its parameters, the optional ones with a question mark, and the first sentence of its description."""
    required = tool.parameters.get("required", ())
    names = [name if name in required else f"{name}?" for name in tool.parameters.get("properties", {})]
    return f"{tool.name}({', '.join(names)}): {tool.description.split('. ')[0].strip()}"
