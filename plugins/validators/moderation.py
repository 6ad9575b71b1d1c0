"""Ask a moderation endpoint (OpenAI's `/moderations`) whether it flags a text, and for what.

Requests go through coevolve.endpoint. Each attempt is recorded in the run's journal, so that a replayed run sends no request.
"""

import asyncio
import json
from typing import Any, ClassVar

from attrs import field, frozen, validators

from coevolve import Journal, TeacherCall, one_line
from coevolve.endpoint import Access, Endpoint, Failed, Pace, address, check_error, repeated, waiting

PURPOSE = "moderate"
_LONGEST_FAULT = 300


def _address(instance: object, attribute: object, value: str) -> None:
    if value:
        address(instance, attribute, value)


@frozen(kw_only=True)
class ModerationOptions(Access):
    """Options of the moderation endpoint. Key and access options are those of every endpoint."""

    TABLE: ClassVar[str] = "validators.safety.moderation"

    model: str = field(default="omni-moderation-latest", validator=validators.min_len(1))
    """Name of the moderation model at the endpoint; the default is OpenAI's current one."""
    base_url: str = field(default="", validator=_address)
    """Address of an OpenAI-compatible endpoint with `/moderations`. "" (the default) sends no request: moderation is opt-in."""
    timeout: float = field(default=30.0, validator=[validators.gt(0.0), validators.le(1e6)])
    """Seconds for one attempt, from the connection to the whole answer. A moderation answer is short."""
    retries: int = field(default=3, validator=[validators.ge(0), validators.le(20)])
    """Most further attempts after a failure that may pass (a busy server, a lost connection)."""
    fail_closed: bool = True
    """Without an answer, true refuses the candidate as "environment_error"; false accepts it unchecked. True, as it is a safety filter."""


def moderate(options: ModerationOptions, journal: Journal, key: str, iteration: int, text: str) -> list[str]:
    """The categories for which the endpoint flags the text, sorted; empty when it flags none.

    `key` identifies the question in the journal: a recorded answer is used instead of a request. Raises Failed when there is no answer.
    """
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
            failed.reason = one_line(endpoint.scrub(failed.reason), _LONGEST_FAULT)
            note(None, failed.reason)
            raise
        note(json.dumps(found), None)
        return found

    try:
        return await repeated(once, options.retries, Pace(0))
    finally:
        await endpoint.close()


def flagged(reply: str) -> list[str]:
    """The flagged categories in an answer's JSON, sorted; raises Failed when it is not a moderation answer."""
    try:
        body = json.loads(reply)
        check_error(body, reply)
        results = body["results"]
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
        raise Failed(f"the answer is not a moderation result: {one_line(reply, 200)}", again=True) from None
    return sorted(found)
