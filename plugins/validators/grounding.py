"""Whether an agent could know a solution's literals: said by the user, shown by an earlier call, or told by the tool's own document.

A document is a description, an enumeration or a default in the tool's schema; flags and None need no source. What a system message tells
does not count, for it holds the documents of all tools. Many tasks that people wrote fail this: they expect the agent to conclude
("next Tuesday", "the airport of New York"), which no search for the literal can see.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field

from coevolve import Action, Environment, Task, perform

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


@define
class Said:
    """Everything that was said so far."""

    text: str = ""
    numbers: set[float] = field(factory=set)

    def add(self, text: str) -> None:
        self.text += f"\n{text.casefold()}"
        self.numbers |= {float(number.replace(",", "")) for number in _NUMBER.findall(text)}

    def holds(self, value: Any) -> bool:
        """Whether a text was said, or a number in any notation."""
        if isinstance(value, int | float):
            return abs(value) in self.numbers
        wanted = str(value).strip().casefold()
        return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", self.text) is not None


def ungrounded(environment: Environment, task: Task, limit: int) -> str | None:
    """The first literal of the solution without a source, in words; None when all have one. Plays at most `limit` completions."""
    schemas = {tool.name: (tool.description, tool.parameters.get("properties", {})) for tool in environment.describe().tools}
    said = Said()
    with environment.open(task) as episode:
        for message in episode.messages:
            _hear(said, message)
        for seen in perform(episode, environment.script(task.solution)[:limit]):
            for step in seen.steps:
                told, properties = schemas.get(step.action.name, ("", {}))
                if (missing := _missing(step.action, properties, told, said)) is not None:
                    return f"{step.action.name}: {missing} comes from nowhere"
                said.add(step.observation)
            for message in seen.messages:
                _hear(said, message)
    return None


def _hear(said: Said, message: Mapping[str, Any]) -> None:
    if message.get("role") == "user":
        said.add(str(message.get("content", "")))


def _missing(action: Action, properties: Mapping[str, Any], told: str, said: Said) -> str | None:
    for name, value in action.arguments.items():
        schema = properties.get(name, {})
        document = Said()
        document.add(f"{told} {schema.get('description', '')}")
        choices = [*schema.get("enum", ()), *_inner(schema).get("enum", ()), schema.get("default")]
        if value in choices:
            continue
        for literal in literals(value):
            if not (literal in choices or said.holds(literal) or document.holds(literal)):
                return f"{name} {literal!r}"
    return None


def _inner(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    items = schema.get("items")
    return items if isinstance(items, Mapping) else {}


def literals(value: Any) -> Iterator[Any]:
    """The texts and numbers in a value."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from literals(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from literals(inner)
    elif value is not None and not isinstance(value, bool):
        yield value


def modes(environment: Environment) -> set[tuple[str, str]]:
    """Tools' arguments that choose how the tool works (enumerated, without a format): their values come from no result."""
    return {
        (tool.name, name)
        for tool in environment.describe().tools
        for name, schema in tool.parameters.get("properties", {}).items()
        if schema.get("enum") and "format" not in schema
    }
