"""Read the body of a chat completion. It is untrusted: every field may be missing or of another type."""

import json
from typing import Any

from attrs import frozen

from coevolve import one_line

from .faults import Failed

LONGEST = 200_000
"""Upper bound on the characters of a reply, for servers that ignore the limit on tokens."""
MOST_CALLS = 64
"""Upper bound on the tool calls that are read from one reply."""
MOST_TOKENS = 10**9
"""A reported usage above this is ignored."""


@frozen
class Usage:
    """Tokens of one call. `reported` is False where they are an estimate."""

    prompt: int = 0
    completion: int = 0
    reported: bool = True


@frozen
class ToolCall:
    """A function call as the model wrote it. `arguments` is text: a JSON object, unless the model made a mistake."""

    id: str
    name: str
    arguments: str


@frozen
class Answer:
    """A usable reply: a text, tool calls or both."""

    text: str
    usage: Usage | None = None
    calls: tuple[ToolCall, ...] = ()
    cut: bool = False
    """Whether it ends at the limit on tokens."""


def read_answer(text: str, content_type: str) -> Answer:
    """The first choice in the body of an answer; raises Failed for a body without a usable one."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise Failed(f"the answer is not JSON ({one_line(content_type, 60)}, {len(text)} characters)", text, again=True) from None
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Failed("the answer is not a chat completion", text, again=True)
    usage, ending, content = read_usage(body.get("usage")), choice.get("finish_reason"), read_content(message.get("content"))
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        raise Failed(f"refused: {one_line(refusal, 200)}", refusal, counts=False, usage=usage)
    if ending == "content_filter":
        raise Failed("refused: the endpoint filtered the reply", content, counts=False, usage=usage)
    calls = read_calls(message.get("tool_calls"))
    if not content.strip() and not calls:
        cut = ending == "length"
        why = "the limit on tokens was reached before any text came" if cut else "the reply is empty"
        raise Failed(why, text, again=True, counts=False, cut=cut, usage=usage)
    if (size := len(content) + sum(len(call.arguments) for call in calls)) > LONGEST:
        raise Failed(f"the reply has {size} characters, more than the limit of {LONGEST}", content, again=True, usage=usage)
    return Answer(content, usage, calls, ending == "length")


def read_content(content: object) -> str:
    """A message's text; text that comes in parts is joined."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def read_calls(calls: object) -> tuple[ToolCall, ...]:
    """The function calls of an answer. A call without an id gets one; arguments that are an object become text."""
    found = []
    for number, call in enumerate(calls[:MOST_CALLS] if isinstance(calls, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and isinstance(name := function.get("name"), str) and name:
            arguments: Any = function.get("arguments")
            written = arguments if isinstance(arguments, str) else "{}" if arguments is None else json.dumps(arguments)
            identity = call.get("id")
            found.append(ToolCall(identity if isinstance(identity, str) and identity else f"call_{number}", name, written))
    return tuple(found)


def read_usage(usage: object) -> Usage | None:
    """The token counts that an answer reports; None where it reports none, or impossible numbers."""
    if not isinstance(usage, dict):
        return None
    reported = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    counts = [count for count in reported if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS]
    return Usage(counts[0], counts[1]) if len(counts) == len(reported) else None
