"""Read the body of a chat completion. It is untrusted: every field may be missing or of another type."""

import json
from typing import Any

from attrs import frozen

from coevolve import one_line

from .faults import ANSWERED, Failed, of_answer

LONGEST = 200_000
"""Upper bound on the characters of a reply, for servers that ignore the limit on tokens."""
MOST_CALLS = 64
"""Upper bound on the tool calls that are read from one reply."""
BROKEN = ("error", "abort", "cancelled", "network_error", "insufficient_system_resource")
"""Endings with which gateways and servers say that they failed in the middle of an answer, whatever text it holds."""
FILTERED = ("content_filter", "sensitive")
"""Endings of answers that the endpoint withheld."""
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
    """The first choice in the body of an answer; raises Failed for a body without a usable one, and for one that holds an error.

    An error, a withheld answer and one without any content are the endpoint's; a refusal in words and an empty text are the model's.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise Failed(f"the answer is not JSON ({one_line(content_type, 60)}, {len(text)} characters)", text, again=True) from None
    check_error(body, text)
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    check_error(choice, text)
    check_error(message, text)
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Failed(f"the answer is not a chat completion: {one_line(text, 200)}", text, again=True)
    usage, ending, content = read_usage(body.get("usage")), choice.get("finish_reason"), read_content(message.get("content"))
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        raise Failed(f"refused: {one_line(refusal, 200)}", refusal, counts=False, own=True, usage=usage)
    if ending in BROKEN:
        raise Failed(f"{ANSWERED} ({ending}): {one_line(content or text, 200)}", text, again=True, usage=usage, body=body)
    if ending in FILTERED:
        raise Failed(f"refused: the endpoint filtered the reply ({ending}): {one_line(content, 200)}", text, counts=False, usage=usage)
    calls = read_calls(message.get("tool_calls"))
    if not content.strip() and not calls:
        cut = ending == "length"
        why = "the limit on tokens was reached before any text came" if cut else "the reply is empty"
        if message.get("content") is None and not cut and not (usage and usage.completion):
            raise Failed(f"{why}, and no token was made: {one_line(text, 200)}", text, again=True, usage=usage)
        raise Failed(why, text, again=True, counts=False, own=True, cut=cut, usage=usage)
    if (size := len(content) + sum(len(call.arguments) for call in calls)) > LONGEST:
        raise Failed(f"the reply has {size} characters, more than the limit of {LONGEST}", content, again=True, usage=usage)
    return Answer(content, usage, calls, ending == "length")


def check_error(part: object, text: str) -> None:
    """Raise Failed where a part of the body `text` holds an error, as a body, a choice or a message may."""
    if isinstance(part, dict) and (error := part.get("error")):
        raise of_answer(error, text)


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
