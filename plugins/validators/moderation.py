"""One question to a moderation endpoint (OpenAI's `/moderations`): does it flag a text, and for what?

It is asked as every endpoint is (coevolve.endpoint), and each attempt is kept in the run's journal, so that a replayed run asks nobody.
"""

import asyncio
import json
from typing import Any, ClassVar

from attrs import field, frozen, validators

from coevolve import Journal, TeacherCall
from coevolve.endpoint import Access, Endpoint, Failed, Pace, address, line, repeated, waiting

PURPOSE = "moderate"
_LONGEST_FAULT = 300


def _address(instance: object, attribute: object, value: str) -> None:
    if value:
        address(instance, attribute, value)


@frozen(kw_only=True)
class ModerationOptions(Access):
    """Where and how to ask."""

    TABLE: ClassVar[str] = "validators.safety.moderation"

    model: str = field(default="omni-moderation-latest", validator=validators.min_len(1))
    base_url: str = field(default="", validator=_address)
    """Address of an OpenAI-compatible endpoint with `/moderations`; "" asks nobody."""
    timeout: float = field(default=30.0, validator=[validators.gt(0.0), validators.le(1e6)])
    retries: int = field(default=3, validator=[validators.ge(0), validators.le(20)])
    fail_closed: bool = True
    """What no answer means: refuse the candidate as "environment_error", or (false) let it pass unread."""


def moderate(options: ModerationOptions, journal: Journal, key: str, iteration: int, text: str) -> list[str]:
    """The categories that the endpoint flags the text for; raises Failed."""
    request = {"model": options.model, "input": text}
    if kept := journal.recall(key, request):
        if kept[-1].reply is None:
            raise Failed(kept[-1].fault or "no answer", unsent=kept[-1].unsent)
        return [str(name) for name in json.loads(kept[-1].reply)]
    about = (key, iteration, PURPOSE, options.model, request)
    try:
        return asyncio.run(_ask(options, journal, about))
    except Failed as failed:
        if failed.unsent is not None:
            journal.record(TeacherCall(*about, fault=failed.reason, unsent=failed.unsent))
        raise


async def _ask(options: ModerationOptions, journal: Journal, about: tuple[str, int, str, str, dict[str, Any]]) -> list[str]:
    endpoint = Endpoint(options)

    async def once() -> list[str]:
        began = waiting.now()

        def note(reply: str | None, fault: str | None) -> None:
            journal.record(TeacherCall(*about, reply, fault, seconds=waiting.now() - began))

        try:
            reply, _ = await endpoint.post(about[-1], "moderations")
            found = flagged(endpoint.scrub(reply))
        except Failed as failed:
            failed.reason = line(endpoint.scrub(failed.reason), _LONGEST_FAULT)
            note(None, failed.reason)
            raise
        note(json.dumps(found), None)
        return found

    try:
        return await repeated(once, options.retries, Pace(0))
    finally:
        await endpoint.close()


def flagged(reply: str) -> list[str]:
    """The flagged categories in an answer's JSON, sorted; raises Failed for anything that is no answer."""
    try:
        results = json.loads(reply)["results"]
        found: set[str] = set()
        for result in results:
            if not isinstance(result["flagged"], bool):
                raise TypeError
            if result["flagged"]:
                named = {str(name) for name, on in (result.get("categories") or {}).items() if on is True}
                found |= named or {"unnamed"}
        if not results:
            raise ValueError
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Failed("the answer is no moderation", again=True) from None
    return sorted(found)
