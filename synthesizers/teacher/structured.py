"""How an endpoint is asked: OpenAI-compatible servers differ in the ways to ask for JSON and in the names of two settings.

Full structured output (OpenAI, vLLM, llama.cpp), `json_object` with the schema beside it (older llama.cpp), none (transformers serve).
"""

from collections.abc import Mapping
from typing import Any

import attrs
from attrs import frozen

from coevolve.endpoint import error_fields

FORMATS = ("json_schema", "json_object", "none")
"""From the strictest to none at all."""
_TOO_LONG = ("context_length_exceeded", "string_above_max_length")
_NOT_UNDERSTOOD = (400, 415, 422, 501)


@frozen
class Dialect:
    """What the endpoint understands. `format` is one of FORMATS."""

    format: str = FORMATS[0]
    limit: str = "max_tokens"
    temperature: bool = True

    def body(self, request: Mapping[str, Any], room: int) -> dict[str, Any]:
        """The request as this endpoint takes it, with `room` tokens for the reply."""
        body: dict[str, Any] = {"model": request["model"], "messages": request["messages"], self.limit: room}
        if self.temperature:
            body["temperature"] = request["temperature"]
        if request["schema"] is not None and self.format == "json_schema":
            named = {"name": "reply", "strict": True, "schema": request["schema"]}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif request["schema"] is not None and self.format == "json_object":
            body["response_format"] = {"type": "json_object", "schema": request["schema"]}
        return body

    def simpler(self, status: int, body: object, asked_schema: bool) -> "Dialect | None":
        """The next thing to try after the endpoint refused this one; None when its refusal is about something else."""
        fields = error_fields(body)
        code, message, parameter = (str(fields.get(name) or "") for name in ("code", "message", "param"))
        if status not in _NOT_UNDERSTOOD or code in _TOO_LONG:
            return None
        if self.limit == "max_tokens" and "max_completion_tokens" in message:
            return attrs.evolve(self, limit="max_completion_tokens")
        if self.temperature and parameter == "temperature":
            return attrs.evolve(self, temperature=False)
        if asked_schema and self.format != FORMATS[-1]:
            return attrs.evolve(self, format=FORMATS[FORMATS.index(self.format) + 1])
        return None

    def both(self, other: "Dialect") -> "Dialect":
        """What remains when each of the two was found out for a part."""
        limit = self.limit if other.limit == "max_tokens" else other.limit
        return Dialect(max(self.format, other.format, key=FORMATS.index), limit, self.temperature and other.temperature)
