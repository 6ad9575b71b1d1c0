"""Read an environment's tools for exploration: which values each argument accepts, and which values each result holds.

An enumerated argument without a `format` is a mode of its tool (a representation, a unit); one with a `format` names a thing. Where an
environment declares no formats, only the JSON type and the name of the property say what a value is.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from coevolve import Action, Description, Step, Tool

TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "float": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "dict": (dict,),
}


@frozen
class Argument:
    """One argument of a tool."""

    name: str
    types: tuple[type, ...] = ()
    """Python types of its JSON values; empty: any."""
    format: str | None = None
    choices: tuple[Any, ...] = ()
    required: bool = True

    @property
    def mode(self) -> bool:
        """Whether the argument chooses how the tool works, rather than what it works on."""
        return bool(self.choices) and self.format is None

    def accepts(self, value: Any, format: str | None) -> bool:
        """Whether a value may be given here: its JSON type, the choices and the format (where both formats are known) must fit."""
        if self.choices and value not in self.choices:
            return False
        if format is not None and self.format is not None and format != self.format:
            return False
        return not self.types or (isinstance(value, self.types) and (not isinstance(value, bool) or bool in self.types))


@frozen
class Leaf:
    """A scalar value inside a result, with its format and the name of the property that holds it."""

    value: Any
    format: str | None
    key: str


@define
class Catalog:
    """The tools of an environment and their arguments, both by the tool's name."""

    tools: dict[str, Tool]
    arguments: dict[str, tuple[Argument, ...]]
    result_formats: dict[str, tuple[str, ...]] = field(factory=dict)
    """Formats of the values that a tool's result is known to hold."""

    def group(self, tool: str) -> str:
        """The tool's app; "" for a tool that the catalog lacks."""
        return self.tools[tool].group if tool in self.tools else ""

    def argument(self, tool: str, name: str) -> Argument | None:
        """The tool's argument of that name; None when it has none."""
        return next((argument for argument in self.arguments.get(tool, ()) if argument.name == name), None)

    def modes(self, tool: str, given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """The modes among the arguments of a call, in the order of the schema."""
        return tuple((a.name, given[a.name]) for a in self.arguments.get(tool, ()) if a.mode and a.name in given)

    def leaves(self, step: Step) -> list[Leaf]:
        """The scalar values of a step's result, at most 20 of each list and 6 levels deep; none for a call that failed."""
        tool = self.tools.get(step.action.name)
        return list(_leaves(step.result, (tool.returns if tool else None) or {}, "")) if step.error is None else []


def catalog_of(description: Description) -> Catalog:
    """Build the catalog from the schemas of an environment's tools."""
    tools = {tool.name: tool for tool in description.tools}
    arguments = {name: _arguments(tool) for name, tool in tools.items()}
    return Catalog(tools, arguments, {name: _formats(tool.returns or {}) for name, tool in tools.items()})


def _arguments(tool: Tool) -> tuple[Argument, ...]:
    required = set(tool.parameters.get("required", ()))
    return tuple(
        Argument(
            name,
            TYPES.get(schema.get("type"), ()) if isinstance(schema.get("type"), str) else (),
            schema.get("format"),
            tuple(schema.get("enum", ())),
            name in required,
        )
        for name, schema in tool.parameters.get("properties", {}).items()
    )


def _formats(schema: Mapping[str, Any]) -> tuple[str, ...]:
    found = [schema["format"]] if "format" in schema else []
    below = [*schema.get("properties", {}).values(), *([schema["items"]] if isinstance(schema.get("items"), Mapping) else [])]
    for inner in below:
        found += [format for format in _formats(inner) if format not in found]
    return tuple(found)


def _leaves(value: Any, schema: Mapping[str, Any], key: str, depth: int = 6) -> Iterator[Leaf]:
    if depth == 0 or value is None or isinstance(value, bool):
        return
    if isinstance(value, Mapping):
        properties = schema.get("properties", {})
        for name, inner in value.items():
            yield from _leaves(inner, properties.get(name, {}), name, depth - 1)
    elif isinstance(value, list | tuple):
        items = schema.get("items")
        for inner in value[:20]:
            yield from _leaves(inner, items if isinstance(items, Mapping) else {}, key, depth - 1)
    elif value != "" and value not in schema.get("enum", ()):
        yield Leaf(value, schema.get("format"), key)


def distinctive(value: Any) -> bool:
    """Whether an equal value elsewhere is unlikely to be chance: a text of two letters or more, or a number of 10 or more."""
    if isinstance(value, str):
        return len(value) > 1
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= 10


def json_equal(first: Any, second: Any) -> bool:
    """Whether two JSON values are equal: 65 and 65.0 are, 1 and True are not."""
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


def same_call(first: Action, second: Action) -> bool:
    """Whether two actions call the same tool with the same arguments; their turns may differ."""
    return first.name == second.name and dict(first.arguments) == dict(second.arguments)


def first_by_name(argument: str, leaves: Sequence[Leaf]) -> list[Leaf]:
    """The leaves, sorted so that those come first whose property has the argument's name."""
    return sorted(leaves, key=lambda leaf: leaf.key != argument)
