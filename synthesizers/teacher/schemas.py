"""The replies' shapes as JSON schemas, for endpoints that offer structured output.

They use the subset that strict schema modes and llama.cpp's grammars accept: no union at the root, every property required, no further
properties, null for an omitted value. Tools' schemas are rewritten to this subset: an optional argument may be null (`checked_arguments` in
abstraction.py removes such nulls), and annotations are dropped.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from coevolve import Tool

from .replies import Queries

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: Schema, least: int, most: int) -> Schema:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _any(options: Sequence[Schema]) -> Schema:
    return options[0] if len(options) == 1 else {"anyOf": list(options)}


REFLECTION: Schema = _object(weakness=_TEXT, why=_TEXT, tries=_list(_TEXT, 1, 6), variant=_TEXT)


def step(tools: Sequence[Tool], stop: bool = True) -> Schema:
    """One action of an exploration: a call of one of `tools`, or, where `stop` is allowed, of "stop"."""
    ending = [_object(tool={"type": "string", "enum": ["stop"]}, arguments=_object())] if stop else []
    return _object(thought=_TEXT, action=_any([*map(_call, tools), *ending]))


def candidates(tools: Sequence[Tool], steps: int, count: int, turns: bool = False, queries: Queries = "teacher") -> Schema:
    """At most `count` candidates, or none, solved by some of `steps` explored steps (by number, from 1) and by calls of `tools`.

    With `turns` a candidate is a list of user turns, of which some may have no calls. Where the environment writes the requests, a
    candidate has no query.
    """
    parts = [{"type": "integer", "enum": list(range(1, steps + 1))}] if steps else []
    if not tools and not parts:
        raise ValueError("a solution needs at least one step or tool")
    part, most = _any([*parts, *map(_call, tools)]), max(12, steps)
    solution = _list(part, 1, most)
    if queries == "environment":
        item = _object(intent=_TEXT, solution=solution)
    elif turns:
        item = _object(intent=_TEXT, turns=_list(_object(request=_TEXT, solution=_list(part, 0, most)), 1, 6))
    else:
        item = _object(intent=_TEXT, query=_TEXT, solution=solution)
    return _object(candidates=_list(item, 0, count))


def requests(count: int) -> Schema:
    """The texts of `count` user turns."""
    return _object(requests=_list(_TEXT, count, count))


def _call(tool: Tool) -> Schema:
    return _object(tool={"type": "string", "enum": [tool.name]}, arguments=_strict(tool.parameters))


_SCALARS: Schema = {"anyOf": [{"type": kind} for kind in ("string", "number", "boolean", "null")]}


def _strict(schema: Mapping[str, Any]) -> Schema:
    """A tool's schema in the common subset; a value without a type may be any scalar."""
    kind = schema.get("type")
    if kind == "object":
        required = schema.get("required", ())
        return _object(**{name: _optional(_strict(inner), name in required) for name, inner in schema.get("properties", {}).items()})
    if kind == "array":
        return {"type": "array", "items": _strict(schema.get("items", {}))}
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return {"type": kind, "enum": schema["enum"]} if isinstance(kind, str) else {"enum": schema["enum"]}
    return {"type": kind} if isinstance(kind, str) else _SCALARS


def _optional(schema: Schema, required: bool) -> Schema:
    return schema if required or schema is _SCALARS else {"anyOf": [schema, {"type": "null"}]}
