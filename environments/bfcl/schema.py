"""Function documents as tools with JSON schemas."""

import re
from collections.abc import Mapping
from typing import Any

from coevolve import Tool

from .apis import Apis, Function

_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}
_LISTED = re.compile(r"(?:\[Enum\]|[Oo]ptions(?: are)?): (.+)")


def tools(apis: Apis) -> tuple[Tool, ...]:
    """All functions as tools. What one function of a class returns and another takes under the same name has that name as its `format`."""
    found = []
    for documents in apis.documents.values():
        taken = {name for document in documents for name in document["parameters"]["properties"]}
        given = {name for document in documents for name in document["response"].get("properties", {})}
        found += [_tool(apis.functions[document["name"]], taken & given) for document in documents]
    return tuple(found)


def _tool(function: Function, linked: set[str]) -> Tool:
    schemas = [schema(function.document["parameters"]), schema(function.document["response"])]
    for found in schemas:
        for name, detail in found.get("properties", {}).items():
            if name in linked and detail.get("type") != "boolean":
                detail["format"] = name
    return Tool(function.name, function.description, schemas[0], schemas[1], function.owner)


def _choices(description: str) -> list[str]:
    """The values that a document lists, as "[Enum]: ..." or "options are: ..."."""
    found = _LISTED.search(description)
    return [] if found is None else [word.strip(' "[].') for word in found[1].split(",")]


def schema(detail: Mapping[str, Any]) -> dict[str, Any]:
    """A document's description of parameters or of a result as a JSON schema."""
    kind = _TYPES.get(detail["type"], detail["type"])
    found: dict[str, Any] = {} if kind is None else {"type": kind}
    if "description" in detail:
        found["description"] = detail["description"]
    if "default" in detail and detail["default"] != "None":
        found["default"] = detail["default"]
    if "properties" in detail:
        found["properties"] = {name: schema(inner) for name, inner in detail["properties"].items()}
    if kind == "object" and "required" in detail:
        found["required"] = list(detail["required"])
    if "items" in detail:
        found["items"] = schema(detail["items"])
    if choices := _choices(detail.get("description", "")):
        (found if kind == "string" else found.get("items", {}))["enum"] = choices
    return found
