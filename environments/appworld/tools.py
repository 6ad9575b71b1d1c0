"""The engine's API documents, read from the user's data, as tools with JSON schemas."""

import contextlib
import json
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coevolve import Tool, UserError

HIDDEN = ("admin", "api_docs")
"""Apps that no task is about."""
_TYPES = {"integer": "integer", "number": "number", "string": "string", "boolean": "boolean"}
_BOUND = re.compile(r"(>=|<=|>|<) (-?[\d.]+(?:e[+-]?\d+)?)")
_KEYWORDS = {
    "value": {">=": "minimum", "<=": "maximum", ">": "exclusiveMinimum", "<": "exclusiveMaximum"},
    "length": {">=": "minLength", "<=": "maxLength", ">": "minLength", "<": "maxLength"},
}
Document = Mapping[str, Any]


def documents(root: Path) -> dict[str, Document]:
    """Every API's document by "app.api", in the order of the files. Raises UserError when they cannot be read or there are none."""
    found: dict[str, Document] = {}
    try:
        for file in sorted((root / "data" / "api_docs" / "standard").glob("*.json")):
            listed = json.loads(file.read_text(encoding="utf-8"))
            for document in listed.values() if isinstance(listed, dict) else listed:
                found[f"{document['app_name']}.{document['api_name']}"] = document
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(f"the API documents in {root} cannot be read ({error}); run coevolve env setup appworld again") from error
    if not found:
        raise UserError(f"there are no API documents in {root}; run coevolve env setup appworld")
    return found


def inhabited(root: Path, app: str) -> bool:
    """Whether anybody has an account in the app, so that its calls can do something; True when its database cannot be read."""
    file = root / "data" / "base_dbs" / f"{app}.db"
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as database:
        return bool(database.execute("SELECT EXISTS (SELECT 1 FROM users)").fetchone()[0])
    return True


def tools(root: Path, known: Mapping[str, Document]) -> tuple[Tool, ...]:
    """The APIs of inhabited apps as tools. Tokens are not among their arguments, since a scripted call fills them in."""
    apps = {app for app in (name.split(".")[0] for name in known) if app not in HIDDEN and inhabited(root, app)}
    return tuple(tool(name, document) for name, document in known.items() if name.split(".")[0] in apps and not _of_accounts(document))


def _of_accounts(document: Document) -> bool:
    """Whether an API is about signing up, in or out, which a scripted call does by itself."""
    secret = any("password" in parameter["name"] or "verification" in parameter["name"] for parameter in document["parameters"])
    return secret or document["api_name"] in ("login", "logout")


def tool(name: str, document: Document) -> Tool:
    """One API as a tool, with JSON schemas of its arguments and its answer."""
    visible = [parameter for parameter in document["parameters"] if not parameter["name"].endswith("access_token")]
    schema = {
        "type": "object",
        "properties": {parameter["name"]: _schema(parameter) for parameter in visible},
        "required": [parameter["name"] for parameter in visible if parameter["required"]],
    }
    answer = document.get("response_schemas", {}).get("success")
    return Tool(name, document["description"], schema, _returns(answer), document["app_name"])


def _schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    kinds = [kind.strip() for kind in str(parameter["type"]).split("|")]
    made: list[dict[str, Any]] = []
    for kind in kinds:
        if kind.startswith("list["):
            made.append({"type": "array", "items": {"type": _TYPES.get(kind[5:-1], "string")}})
        else:
            made.append({"type": _TYPES.get(kind, "string")})
    schema: dict[str, Any] = made[0] if len(made) == 1 else {"anyOf": made}
    schema["description"] = parameter["description"]
    if not parameter["required"] and parameter.get("default") is not None:
        schema["default"] = parameter["default"]
    if parameter["name"].endswith("_id"):
        schema["format"] = parameter["name"]
    for constraint in parameter.get("constraints", ()):
        _constrain(schema, str(constraint))
    return schema


def _constrain(schema: dict[str, Any], constraint: str) -> None:
    subject, _, rest = constraint.partition(" ")
    if constraint == "value is email address":
        schema["format"] = "email"
    elif subject == "value" and rest.startswith("in ["):
        with contextlib.suppress(ValueError):
            schema["enum"] = json.loads(rest.removeprefix("in ").replace("'", '"'))
    elif subject in _KEYWORDS and schema.get("type") in ("integer", "number", "string"):
        for sign, number in _BOUND.findall(rest):
            value = float(number)
            if subject == "length" or schema["type"] == "integer":
                value = int(value) + (subject == "length" and sign == ">") - (subject == "length" and sign == "<")
            schema[_KEYWORDS[subject][sign]] = value


def _returns(example: Any) -> dict[str, Any] | None:
    """A schema of an answer from the document's example, in which every leaf is the name of a type."""
    if isinstance(example, Mapping):
        return {"type": "object", "properties": {str(key): _returns(value) or {} for key, value in example.items()}}
    if isinstance(example, list):
        return {"type": "array", "items": _returns(example[0]) or {} if example else {}}
    return {"type": _TYPES[example]} if isinstance(example, str) and example in _TYPES else None
