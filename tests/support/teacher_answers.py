"""A teacher's client that gives one reply, for tests of what is asked and of what becomes of the reply."""

from collections.abc import Mapping, Sequence
from typing import Any

from coevolve import Message
from coevolve.synthesizers.teacher import TeacherOptions


class Answers:
    """Gives `reply`, or raises it, and keeps what it was asked."""

    def __init__(self, reply: str | Exception, **options: Any) -> None:
        self.reply, self.options = reply, TeacherOptions(**options)
        self.asked, self.closed = list[Any](), 0

    async def ask(
        self,
        key: str,
        iteration: int,
        purpose: str,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> str:
        self.asked.append((key, iteration, purpose, messages, schema))
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    async def aclose(self) -> None:
        self.closed += 1
