"""Function documents as tools with JSON schemas."""

from collections.abc import Mapping
from typing import Any

from coevolve import Tool

from .apis import Apis, Function

_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}


def tools(apis: Apis) -> tuple[Tool, ...]:
    """All functions. A parameter that another function of its class returns under the same name has that name as `format`."""
    returned = {
        owner: {name for document in documents for name in document.get("response", {}).get("properties", {})}
        for owner, documents in apis.documents.items()
    }
    return tuple(_tool(function, returned[function.owner]) for function in apis.functions.values())


def _tool(function: Function, linked: set[str]) -> Tool:
    parameters, returns = _schema(function.document["parameters"]), function.document.get("response")
    for name, detail in parameters.get("properties", {}).items():
        if name in linked and detail.get("type") != "boolean":
            detail["format"] = name
    found = None if returns is None else _schema(returns)
    for name, detail in (found or {}).get("properties", {}).items():
        if name in linked and detail.get("type") != "boolean":
            detail["format"] = name
    return Tool(function.name, function.description, parameters, found, function.owner)


def _schema(detail: Mapping[str, Any]) -> dict[str, Any]:
    kind = _TYPES.get(detail["type"], detail["type"])
    found: dict[str, Any] = {} if kind is None else {"type": kind}
    if "description" in detail:
        found["description"] = detail["description"]
    if "default" in detail and detail["default"] != "None":
        found["default"] = detail["default"]
    if "properties" in detail:
        found["properties"] = {name: _schema(inner) for name, inner in detail["properties"].items()}
    if kind == "object" and "required" in detail:
        found["required"] = list(detail["required"])
    if "items" in detail:
        found["items"] = _schema(detail["items"])
    return found
