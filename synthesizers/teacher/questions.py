"""Repeat a request until its reply can be read, up to a bounded number of times."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from attrs import define, field

from coevolve import Message

from . import prompts, rendering
from .faults import BudgetSpent
from .teacher_client import TeacherClient

T = TypeVar("T")


@define
class Questions:
    """The requests of one exploration. `left`: how many it may still make (None: no limit). `keys`: the keys of the requests so far."""

    client: TeacherClient
    iteration: int
    number: int
    reasks: int
    max_tokens: int
    left: int | None = None
    keys: list[str] = field(factory=list)
    unreadable: int = 0
    """Number of replies that could not be read."""

    async def ask(
        self,
        purpose: str,
        place: str,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        read: Callable[[str], T | None],
    ) -> T | None:
        """The result of `read` on the first readable reply; None where it returned None for all replies. Raises TeacherFault."""
        key = f"{self.iteration}/{purpose}/{self.number}{place}"
        for again in range(self.reasks + 1):
            if self.left is not None:
                if self.left <= 0:
                    raise BudgetSpent("this exploration has used up its share of the calls")
                self.left -= 1
            asked = f"{key}/again{again}" if again else key
            self.keys.append(asked)
            # Most unreadable replies were cut off, so a repeated request doubles the limit on tokens.
            reply = await self.client.ask(
                asked, self.iteration, purpose, messages, schema, max_tokens=2 * self.max_tokens if again else None
            )
            if (found := read(reply)) is not None:
                return found
            self.unreadable += 1
            if not again:
                quoted = rendering.cut(reply, prompts.quoted_chars(self.client.options))
                messages = [*messages, {"role": "assistant", "content": quoted}, {"role": "user", "content": prompts.AGAIN}]
        return None
