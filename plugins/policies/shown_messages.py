"""Whether a chat template shows the policy all that an environment says: each text is rendered between two marks, which must be there."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coevolve import Message, UserError

from .chat_format import OTHER, ChatFormat

_BESIDE = ("role", "name", "type", "id", "tool_call_id", "arguments")
"""Keys that say what a message is, not what it tells."""
Tools = Sequence[Mapping[str, Any]] | None


def check_shown(chat: ChatFormat, openings: Sequence[tuple[Sequence[Message], Tools]], replies: Sequence[Sequence[Message]]) -> None:
    """UserError where the template refuses or leaves out a part of `openings` (messages and tools) or of `replies` (messages).

    Results that are not user messages may come two in a row, when an answer holds two calls.
    """
    lost: dict[str, None] = {}
    for messages, tools in openings:
        lost |= dict.fromkeys(_lost(chat, messages, tools, opening=True))
    tools = next((tools for _, tools in openings if tools), None)
    for messages in replies:
        twice = [[message, message] for message in messages if message.get("role") not in ("user", "assistant", "system")]
        for part in (messages, *twice):
            lost |= dict.fromkeys(_lost(chat, part, tools, opening=False))
    if lost:
        lost = {text: None for text in lost if text.partition(" (")[0] == text or text.partition(" (")[0] not in lost}
        said = ("say it in user messages", "describe its tools in a message")
        fix = " and ".join(text for text, needed in zip(said, _kinds(lost), strict=True) if needed)
        raise UserError(
            f"the chat template of model {chat.name!r} leaves out what the environment says: {'; '.join(lost)}. "
            f"Let the environment {fix}, where it has such a setting, or {OTHER}"
        )


def _kinds(lost: Iterable[str]) -> tuple[bool, bool]:
    """Whether messages, and whether tools are among what is lost."""
    tools = [text for text in lost if text.endswith("of the tools")]
    return len(tools) < len(list(lost)), bool(tools)


def _lost(chat: ChatFormat, messages: Sequence[Message], tools: Tools, *, opening: bool) -> list[str]:
    """Which of the texts are not rendered. UserError where the template refuses them."""
    render = chat.prompt_text if opening else chat.suffix_text
    marks = _Marks("" if len(messages) == 1 or opening else f" ({len(messages)} messages in a row)")
    try:
        render(messages, tools)
        marked = [marks.message(message) for message in messages]
        shown = render(marked, [marks.tool(tool) for tool in tools] if tools and opening else tools)
    except UserError as error:
        what = ", ".join(str(message.get("role")) for message in messages)
        where = "the environment's first messages" if opening else "the environment's answers"
        raise UserError(f"{error}; {where} are of the roles {what}") from error
    return [named for mark, named in marks.made.items() if mark not in shown]


class _Marks:
    """Copies of messages and tools in which each text stands between two marks; `made` says which text each mark belongs to."""

    def __init__(self, where: str) -> None:
        self.made: dict[str, str] = {}
        self._where = where

    def message(self, message: Message) -> dict[str, Any]:
        named = f"of messages of role {message.get('role')!r}{self._where}"
        return {key: value if key in _BESIDE else self._inside(value, key, named) for key, value in message.items()}

    def tool(self, tool: Mapping[str, Any]) -> dict[str, Any]:
        """A tool with marks on its name, its description and the names of its parameters."""
        function: Any = tool.get("function", tool)
        copy = dict(function)
        for key in ("name", "description"):
            if isinstance(copy.get(key), str):
                copy[key] += self._new(f"the {key} of the tools")
        schema = copy.get("parameters")
        if isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping) and schema["properties"]:
            first, *_ = schema["properties"]
            renamed = first + self._new("the parameters of the tools")
            properties = {(renamed if key == first else key): value for key, value in schema["properties"].items()}
            required = [renamed if key == first else key for key in schema.get("required") or ()]
            copy["parameters"] = {**schema, "properties": properties, **({"required": required} if "required" in schema else {})}
        return {**tool, "function": copy} if "function" in tool else copy

    def _inside(self, value: Any, key: str, named: str) -> Any:
        if isinstance(value, str):
            lost = f"the {key} {named}"
            return f"{self._new(lost)} {value} {self._new(lost)}"
        if isinstance(value, Mapping):
            return {k: v if k in _BESIDE[2:] else self._inside(v, f"{key}.{k}", named) for k, v in value.items()}
        if isinstance(value, Sequence):
            return [self._inside(item, key, named) for item in value]
        return value

    def _new(self, lost: str) -> str:
        mark = f"mark{7041 + len(self.made)}x"
        self.made[mark] = lost
        return mark
