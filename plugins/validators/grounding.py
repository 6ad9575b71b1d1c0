"""Check that an agent can know the literals of a solution: from the user's messages, an earlier call's result, or the tool's own document.

A tool's document is its descriptions, enumerations and defaults. Flags and None need no source. System messages do not count, since they
hold the documents of all tools. Many tasks that people wrote fail this check: they expect the agent to draw conclusions ("next Tuesday",
"the airport of New York"), which a search for the literal does not find.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field

from coevolve import Action, Environment, Task, perform

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


@define
class SpokenText:
    """Text that an agent has read so far, for searching words and numbers in it."""

    text: str = ""
    numbers: set[float] = field(factory=set)

    def add(self, text: str) -> None:
        """Append a text; its case does not matter."""
        self.text += f"\n{text.casefold()}"
        self.numbers |= {float(number.replace(",", "")) for number in _NUMBER.findall(text)}

    def contains(self, value: Any) -> bool:
        """Whether a text occurs as whole words, or a number in any notation. The sign of a number does not matter."""
        if isinstance(value, int | float):
            return abs(value) in self.numbers
        wanted = str(value).strip().casefold()
        return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", self.text) is not None


def ungrounded_literal(environment: Environment, task: Task, limit: int) -> str | None:
    """Describe the first literal of the solution that has no source; None when all have one.

    Plays at most `limit` completions in a fresh episode and raises what the environment raises.
    """
    schemas = {tool.name: (tool.description, tool.parameters.get("properties", {})) for tool in environment.describe().tools}
    read = SpokenText()
    with environment.open(task) as episode:
        for message in episode.messages:
            _add_user_message(read, message)
        for seen in perform(episode, environment.script(task.solution)[:limit]):
            for step in seen.steps:
                description, properties = schemas.get(step.action.name, ("", {}))
                if (missing := _missing(step.action, properties, description, read)) is not None:
                    return f"{step.action.name}: {missing} comes from nowhere"
                read.add(step.observation)
            for message in seen.messages:
                _add_user_message(read, message)
    return None


def _add_user_message(read: SpokenText, message: Mapping[str, Any]) -> None:
    if message.get("role") == "user":
        read.add(str(message.get("content", "")))


def _missing(action: Action, properties: Mapping[str, Any], description: str, read: SpokenText) -> str | None:
    for name, value in action.arguments.items():
        schema = properties.get(name, {})
        document = SpokenText()
        document.add(f"{description} {schema.get('description', '')}")
        choices = [*schema.get("enum", ()), *_items(schema).get("enum", ()), schema.get("default")]
        if value in choices:
            continue
        for literal in literals(value):
            if not (literal in choices or read.contains(literal) or document.contains(literal)):
                return f"{name} {literal!r}"
    return None


def _items(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    items = schema.get("items")
    return items if isinstance(items, Mapping) else {}


def literals(value: Any) -> Iterator[Any]:
    """The texts and numbers in a JSON value; flags and None are not among them."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from literals(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from literals(inner)
    elif value is not None and not isinstance(value, bool):
        yield value


def mode_arguments(environment: Environment) -> set[tuple[str, str]]:
    """(tool, argument) of each argument that chooses how its tool works (enumerated, without a format): no result supplies its value."""
    return {
        (tool.name, name)
        for tool in environment.describe().tools
        for name, schema in tool.parameters.get("properties", {}).items()
        if schema.get("enum") and "format" not in schema
    }
