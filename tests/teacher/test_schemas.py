"""Strict endpoints accept the schemas, and the parser reads every reply that the schemas allow."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest
from jsonschema import Draft202012Validator

from coevolve import Tool
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.desk.environment import Desk, DeskOptions
from coevolve.synthesizers.teacher import schemas
from coevolve.synthesizers.teacher.abstraction import checked_arguments
from coevolve.synthesizers.teacher.parsing import read_candidates, read_reflection, read_step

_KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "enum", "anyOf"}


def inner(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for child in [*schema.get("properties", {}).values(), *schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        yield from inner(child)


def assert_strict(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object" and "anyOf" not in schema
    for one in inner(schema):
        assert set(one) <= _KEYWORDS
        if one.get("type") == "object":
            assert one["additionalProperties"] is False and one["required"] == list(one["properties"])
        assert "type" in one or "anyOf" in one


MAIL = Tool(
    "mail.send",
    "Send a mail",
    {
        "type": "object",
        "properties": {
            "to": {"type": "string", "format": "person"},
            "copies": {"type": "integer", "default": 1},
            "form": {"type": "string", "enum": ["plain", "rich"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "more": {"type": "object", "properties": {"urgent": {"type": "boolean"}}},
            "any": {"description": "whatever"},
        },
        "required": ["to"],
    },
)


@pytest.fixture(scope="module")
def all_tools() -> dict[str, tuple[Tool, ...]]:
    return {"desk": Desk(DeskOptions()).describe().tools, "bfcl": Bfcl(BfclOptions()).describe().tools, "own": (MAIL,)}


@pytest.mark.parametrize("name", ["desk", "bfcl", "own"])
def test_schemas_of_all_tools_are_strict(name: str, all_tools: dict[str, tuple[Tool, ...]]) -> None:
    tools = all_tools[name]
    assert_strict(schemas.REFLECTION)
    assert_strict(schemas.step(tools))
    assert_strict(schemas.step(tools[:5], stop=False))
    for turns, queries in ((False, "teacher"), (True, "teacher"), (False, "environment")):
        assert_strict(schemas.candidates(tools[:20], 5, 3, turns, queries))  # type: ignore[arg-type]
        assert_strict(schemas.candidates((), 5, 3, turns, queries))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.nightly
def test_a_real_server_takes_them(real_server: str, all_tools: dict[str, tuple[Tool, ...]]) -> None:
    """It answers, and its text fits the schema up to its end; a schema that it cannot convert to a grammar would be an error."""
    for name, tools in all_tools.items():
        for schema in (schemas.step(tools[:40]), schemas.candidates(tools[:40], 12, 3, turns=True)):
            asked = {
                "model": "smollm2",
                "messages": [{"role": "user", "content": "Go on."}],
                "max_tokens": 24,
                "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}},
            }
            request = Request(f"{real_server}/chat/completions", json.dumps(asked).encode(), {"Content-Type": "application/json"})
            with urlopen(request, timeout=120) as answer:
                written = json.load(answer)["choices"][0]["message"]["content"]
            assert re.match(r'\{\s*("(thought|candidates)"|\Z)', written), (name, written)


def test_a_schema_without_steps_and_tools_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one step or tool"):
        schemas.candidates((), 0, 3)


def valid(schema: dict[str, Any], value: Any) -> bool:
    return Draft202012Validator(schema).is_valid(value)


def test_what_a_step_allows_is_read_and_fits_the_tool() -> None:
    schema = schemas.step([MAIL])
    arguments = {"to": "ana", "copies": None, "form": "rich", "tags": None, "more": {"urgent": None}, "any": None}
    reply = {"thought": "x", "action": {"tool": "mail.send", "arguments": arguments}}
    assert valid(schema, reply)
    assert not valid(schema, {"thought": "x", "action": {"tool": "mail.send", "arguments": {**arguments, "form": "loud"}}})
    assert not valid(schema, {"thought": "x", "action": {"tool": "mail.burn", "arguments": {}}})
    stop = {"thought": "x", "action": {"tool": "stop", "arguments": {}}}
    assert valid(schema, stop) and not valid(schemas.step([MAIL], stop=False), stop)
    read = read_step(json.dumps(reply))
    assert read is not None and read.tool == "mail.send"
    assert checked_arguments(MAIL, read.arguments) == {"to": "ana", "form": "rich", "more": {}, "any": None}
    ended = read_step(json.dumps(stop))
    assert ended is not None and ended.tool is None


def test_what_the_candidates_allow_is_read() -> None:
    call = {"tool": "mail.send", "arguments": {"to": "a", "copies": 2, "form": None, "tags": [], "more": None, "any": True}}
    single = {"intent": "i", "query": "q", "solution": [1, call]}
    turned = {"intent": "i", "turns": [{"request": "a", "solution": [1]}, {"request": "b", "solution": [call]}]}
    worded = {"intent": "i", "solution": [3]}
    for schema, item, queries in (
        (schemas.candidates([MAIL], 3, 2), single, "teacher"),
        (schemas.candidates([MAIL], 3, 2, turns=True), turned, "teacher"),
        (schemas.candidates([MAIL], 3, 2, queries="environment"), worded, "environment"),
    ):
        assert valid(schema, {"candidates": [item]})
        assert not valid(schema, {"candidates": [item] * 3})
        assert valid(schema, {"candidates": []}), "a teacher without another idea need not repeat one"
        good, bad = read_candidates(json.dumps({"candidates": [item]}), queries)  # type: ignore[arg-type]
        assert len(good) == 1 and bad == []
    assert not valid(schemas.candidates([MAIL], 3, 2), {"candidates": [{**single, "solution": [4]}]})
    assert not valid(schemas.candidates([MAIL], 3, 2), {"candidates": [{**single, "solution": []}]})
    asking = {"intent": "i", "turns": [{"request": "a", "solution": []}, {"request": "b", "solution": [1]}]}
    assert valid(schemas.candidates([MAIL], 3, 2, turns=True), {"candidates": [asking]})
    assert read_candidates('{"candidates": []}')[0] == [], "no candidates, and no unreadable reply"


def test_what_the_reflection_allows_is_read() -> None:
    reply = {"weakness": "w", "why": "y", "tries": ["t"], "variant": "v"}
    assert valid(schemas.REFLECTION, reply) and read_reflection(json.dumps(reply)) is not None
