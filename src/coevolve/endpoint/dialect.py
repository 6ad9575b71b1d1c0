"""The forms of a chat completion request that OpenAI-compatible endpoints differ in, and the next form to try when one is refused.

Structured output: full JSON schemas (OpenAI, vLLM, llama.cpp), `json_object` with the schema beside it (older llama.cpp), or none
(transformers serve). Functions, temperature and seed may be refused, and newer models want `max_completion_tokens`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs
from attrs import frozen

from .faults import Failed, error_fields

FORMATS = ("json_schema", "json_object", "none")
"""Ways to hold a reply to a JSON schema, the strictest first."""
REFUSALS_OF_FIELDS = (400, 415, 422, 500, 501)
"""Statuses with which servers refuse a field that they do not know. Some servers crash on it (500)."""
_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "grammar")


@frozen
class Dialect:
    """The request form that an endpoint takes, as far as it is known. `fixed` names fields that `simpler` must not change."""

    format: str = FORMATS[0]
    """One of FORMATS."""
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The name of the limit on the reply's tokens."""
    temperature: bool = True
    seed: bool = True
    tools: bool = True
    """Whether tools are sent as functions."""
    fixed: frozenset[str] = frozenset()

    def body(
        self,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        room: int,
        temperature: float,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """A request's body, without the fields that the endpoint does not take. `room` is the limit on the reply's tokens."""
        body: dict[str, Any] = {"model": model, "messages": messages, self.limit: room}
        if tools and self.tools:
            body["tools"] = tools
        if self.temperature:
            body["temperature"] = temperature
        if seed is not None and self.seed:
            body["seed"] = seed
        if schema is not None and self.format == "json_schema":
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
        elif schema is not None and self.format == "json_object":
            body["response_format"] = {"type": "json_object", "schema": schema}
        return body

    def simpler(self, failed: Failed, body: Mapping[str, Any]) -> "Dialect | None":
        """The next form to try after the endpoint refused `body`; None where the form was not the reason.

        The error must name the field. Only `response_format` is also dropped after a status 4xx that names no field.
        """
        if failed.status not in REFUSALS_OF_FIELDS or failed.too_long or not failed.counts:
            return None
        fields = error_fields(failed.body)
        parameter, message = str(fields.get("param") or ""), str(fields.get("message") or failed.raw).lower()

        def refused(field: str, *words: str) -> bool:
            return field in body and field not in self.fixed and (parameter == field or any(word in message for word in words))

        if "max_tokens" in body and "max_completion_tokens" in message:
            return attrs.evolve(self, limit="max_completion_tokens")
        if refused("temperature", "temperature"):
            return attrs.evolve(self, temperature=False)
        if refused("seed", "seed"):
            return attrs.evolve(self, seed=False)
        if refused("tools", "tool", "function"):
            return attrs.evolve(self, tools=False)
        if "format" not in self.fixed and "response_format" in body and (failed.status < 500 or refused("response_format", *_FORMAT_WORDS)):
            return attrs.evolve(self, format=FORMATS[FORMATS.index(self.format) + 1])
        return None

    def common(self, other: "Dialect") -> "Dialect":
        """The features that both dialects have."""
        return attrs.evolve(
            self,
            format=max(self.format, other.format, key=FORMATS.index),
            limit=self.limit if other.limit == "max_tokens" else other.limit,
            temperature=self.temperature and other.temperature,
            seed=self.seed and other.seed,
            tools=self.tools and other.tools,
        )
