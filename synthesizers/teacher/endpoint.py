"""One attempt at one question in the form that the endpoint understands."""

from collections.abc import Mapping
from typing import Any

from coevolve.endpoint import Answer, Endpoint, Failed, read_answer

from .structured import Dialect

EMPTY = "the reply is empty"


class TeacherEndpoint(Endpoint):
    """The teacher's endpoint as one event loop reaches it; `options` are the teacher's."""

    async def send(self, request: Mapping[str, Any], dialect: Dialect, room: int) -> Answer:
        """The reply; raises Failed. `request` holds model, messages, schema, temperature; `room` is its limit on tokens."""
        try:
            answer = read_answer(*await self.post(dialect.body(request, room)))
        except Failed as failed:
            if failed.status and not failed.again and failed.counts:
                asked_schema = request["schema"] is not None and self.options.structured == "auto"
                failed.instead = dialect.simpler(failed.status, failed.body, asked_schema)
            raise
        if not answer.text.strip():  # calls of functions that nobody offered
            raise Failed(EMPTY, again=True, counts=False, usage=answer.usage)
        return answer
