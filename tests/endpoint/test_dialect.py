"""The form of a request follows the endpoint's refusals; every server's error for a too long prompt is recognised."""

import json
from typing import Any

import pytest

from coevolve.endpoint import Dialect, Failed, of_status

SCHEMA = {"type": "object"}
ALL: dict[str, Any] = {"schema": SCHEMA, "tools": [{"type": "function", "function": {"name": "take"}}], "seed": 7}


def error(status: int, **fields: Any) -> Failed:
    body = {"error": fields}
    return of_status(status, body, json.dumps(body), None, "advice")


TOO_LONG = {
    "llama.cpp": error(400, code=400, message="the request exceeds the limit", type="exceed_context_size_error", n_ctx=512),
    "llama.cpp, by text": error(400, code=400, message="the request exceeds the available context size. try increasing it"),
    "OpenAI": error(400, code="context_length_exceeded", message="Please reduce the length", type="invalid_request_error"),
    "OpenAI, one message": error(400, code="string_above_max_length", message="Invalid input", param="messages[1].content"),
    "vLLM": error(400, code=400, type="BadRequestError", message="This model's maximum context length is 512 tokens. You requested 600."),
    "SGLang": error(400, code=400, message="The input (600 tokens) is longer than the model's context length (512 tokens)."),
    "Anthropic": error(400, type="invalid_request_error", message="prompt is too long: 208310 tokens > 200000 maximum"),
}


@pytest.mark.parametrize("kind", TOO_LONG)
def test_no_other_form_and_no_retry_is_tried_for_a_prompt_that_is_too_long(kind: str) -> None:
    failed = TOO_LONG[kind]
    assert failed.too_long and not failed.again and failed.counts
    assert failed.reason.startswith("the prompt is too long (HTTP 400: ")
    assert Dialect().simpler(failed, Dialect().body("m", [], 9, 0.5, **ALL)) is None


@pytest.mark.parametrize("failed", [error(400, message="too odd"), error(429, message="too many tokens per minute"), error(500)])
def test_other_errors_are_not_about_the_length(failed: Failed) -> None:
    assert not failed.too_long


def left(failed: Failed, dialect: Dialect | None = None) -> Dialect | None:
    dialect = dialect or Dialect()
    return dialect.simpler(failed, dialect.body("m", [], 9, 0.5, **ALL))


def test_the_field_that_the_error_names_is_left_out() -> None:
    assert left(error(400, message="Use 'max_completion_tokens' instead", param="max_tokens")) == Dialect(limit="max_completion_tokens")
    assert left(error(400, message="only the default", param="temperature")) == Dialect(temperature=False)
    assert left(error(422, message="temperature: extra input")) == Dialect(temperature=False)
    assert left(error(400, message="unknown field: seed")) == Dialect(seed=False)
    assert left(error(501, message="tools are not supported")) == Dialect(tools=False)
    assert left(error(400, message="response_format is not supported")) == Dialect("json_object")


def test_formats_are_tried_from_the_strictest_down() -> None:
    odd = error(400, message="too odd")
    assert left(odd) == Dialect("json_object") and left(odd, Dialect("json_object")) == Dialect("none")
    assert left(odd, Dialect("none")) is None


def test_a_crash_must_name_the_field() -> None:
    assert left(error(500, message="internal error")) is None
    assert left(error(500, message="failed to compile the grammar")) == Dialect("json_object")
    assert left(error(429, message="no temperature today")) is None


def test_a_field_that_was_not_sent_or_is_fixed_is_not_left_out() -> None:
    plain = Dialect()
    assert plain.simpler(error(400, message="tools? temperature? seed?"), {"max_tokens": 9}) is None
    fixed = Dialect(fixed=frozenset({"tools", "format"}))
    assert left(error(400, message="tools are not supported"), fixed) is None


def test_a_body_holds_what_the_dialect_takes() -> None:
    every = {"model", "messages", "max_tokens", "temperature", "seed", "tools", "response_format"}
    assert set(Dialect().body("m", [], 9, 0.5, **ALL)) == every
    least = Dialect("none", "max_completion_tokens", temperature=False, seed=False, tools=False)
    assert least.body("m", [], 9, 0.5, **ALL) == {"model": "m", "messages": [], "max_completion_tokens": 9}
    assert Dialect("json_object").body("m", [], 9, 0.5, schema=SCHEMA)["response_format"] == {"type": "json_object", "schema": SCHEMA}


def test_the_dialects_of_two_requests_are_combined() -> None:
    one, other = Dialect("json_object", seed=False), Dialect("none", "max_completion_tokens", temperature=False)
    assert one.common(other) == other.common(one) == Dialect("none", "max_completion_tokens", temperature=False, seed=False)
