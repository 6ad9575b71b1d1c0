"""One conversation in two forms: with function calls, for endpoints, and as text alone, as environments read it.

In the native form an answer keeps its calls, and the environment's result of each call is a tool message. In the plain form the system
message lists the tools, and calls are written as the environment reads them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from coevolve import Action, Environment, Message
from coevolve.endpoint import ToolCall

UNANSWERED = "This call was not carried out."


@frozen
class Turn:
    """A message as the environment sees it. An answer with calls also has the calls, and the text that the model wrote with them."""

    message: Message
    content: str = ""
    calls: tuple[ToolCall, ...] = ()


def as_text(calls: Sequence[ToolCall], environment: Environment) -> tuple[str, int]:
    """The text that makes these calls in the environment, and the number of calls that it makes, counted from the first.

    Where arguments are not a JSON object, the text is not a valid call, and the environment answers with an error.
    """
    actions = []
    for call in calls:
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            return "\n".join(f"{other.name}({other.arguments})" for other in calls), 0
        actions.append(Action(call.name, arguments))
    whole, first = environment.script(actions)[0], environment.script(actions[:1])[0]
    return whole, 1 if whole == first else len(actions)


def native(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """The messages in the native form. Every call gets a tool message, because endpoints require one."""
    sent: list[dict[str, Any]] = []
    open_calls: list[str] = []

    def answer(content: str) -> None:
        sent.append({"role": "tool", "tool_call_id": open_calls.pop(0), "content": content})

    for turn in turns:
        if turn.message["role"] == "tool" and open_calls:
            answer(_content(turn.message))
            continue
        while open_calls:
            answer(UNANSWERED)
        if turn.calls:
            made = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in turn.calls]
            sent.append({"role": "assistant", "content": turn.content, "tool_calls": made})
            open_calls = [call.id for call in turn.calls]
        else:
            _add(sent, turn.message)
    return sent


def plain(turns: Sequence[Turn], tools: Sequence[Mapping[str, Any]] | None, example: str) -> list[dict[str, Any]]:
    """The messages in the plain form. The system message lists `tools` and ends with `example`, a call of the first of them."""
    sent: list[dict[str, Any]] = []
    for turn in turns:
        _add(sent, turn.message)
    if tools:
        listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
        instructions = f"You can call these functions:\n{listed}\n\nTo call one, answer in exactly this form:\n{example}"
        if sent and sent[0]["role"] == "system":
            sent[0]["content"] += f"\n\n{instructions}"
        else:
            sent.insert(0, {"role": "system", "content": instructions})
    return sent


def example_of(tools: Sequence[Mapping[str, Any]], environment: Environment) -> str:
    """A call of the first tool, with made-up arguments, as the environment reads it."""
    first: Any = tools[0].get("function", tools[0])
    properties = first.get("parameters", {}).get("properties", {})
    kinds = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
    arguments = {name: kinds.get(schema.get("type"), "...") for name, schema in properties.items()}
    return environment.script([Action(first["name"], arguments)])[0]


def _add(sent: list[dict[str, Any]], message: Message) -> None:
    """Add a message in one of the three roles that every endpoint knows. Consecutive user messages are joined: some endpoints demand it."""
    role = "user" if message["role"] == "tool" else message["role"]
    if sent and role == "user" == sent[-1]["role"]:
        sent[-1]["content"] += f"\n\n{_content(message)}"
    else:
        sent.append({"role": role, "content": _content(message)})


def _content(message: Message) -> str:
    """The message's text without surrogates, which a request cannot hold."""
    return str(message.get("content") or "").encode("utf-8", "replace").decode("utf-8")
