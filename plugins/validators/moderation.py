"""One question to a moderation endpoint (OpenAI's `/moderations`): does it flag a text, and for what?

The answer is waited for `timeout` seconds, asked again a bounded number of times after growing waits with jitter (Retry-After is honoured
up to a minute), and kept in the run's journal with every attempt that failed, so that a replayed run asks nobody.
"""

import asyncio
import json
import os
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen, validators

from coevolve import Journal, TeacherCall

PURPOSE = "moderate"
LONGEST_WAIT = 60.0
"""Seconds between two attempts at most."""
_LONGEST_FAULT = 300

sleep = asyncio.sleep


class Unavailable(Exception):
    """No answer: `again` says whether another attempt may get one, `after` how many seconds the endpoint asks to wait."""

    def __init__(self, text: str, again: bool = False, after: float | None = None) -> None:
        super().__init__(" ".join(text.split())[:_LONGEST_FAULT])
        self.again, self.after = again, after


@frozen
class ModerationOptions:
    """Where and how to ask."""

    base_url: str = ""
    """Address of an OpenAI-compatible endpoint with `/moderations`; "" asks nobody."""
    model: str = "omni-moderation-latest"
    """The model's name there."""
    api_key_env: str = "OPENAI_API_KEY"
    """Name of the environment variable that holds the key; local servers need none. The key is never stored, logged or shown."""
    timeout: float = field(default=30.0, validator=validators.gt(0.0))
    """Seconds for one whole call."""
    retries: int = field(default=3, validator=[validators.ge(0), validators.le(20)])
    """Further attempts after one that failed."""
    fail_closed: bool = True
    """What no answer means: refuse the candidate as "environment_error", or (false) let it pass unread."""


def moderate(options: ModerationOptions, journal: Journal, key: str, iteration: int, text: str) -> list[str]:
    """The categories that the endpoint flags the text for; raises Unavailable."""
    request = {"model": options.model, "input": text}
    if kept := journal.recall(key, request):
        if kept[-1].reply is None:
            raise Unavailable(kept[-1].fault or "no answer")
        return [str(name) for name in json.loads(kept[-1].reply)]

    def note(began: float, reply: str | None, fault: str | None) -> None:
        seconds = time.monotonic() - began
        journal.record(TeacherCall(key, iteration, PURPOSE, options.model, request, reply, fault, seconds=seconds))

    return asyncio.run(_ask(options, request, note))


async def _ask(options: ModerationOptions, request: dict[str, Any], note: Callable[[float, str | None, str | None], None]) -> list[str]:
    import openai
    import tenacity

    jittered = tenacity.wait_random_exponential(max=LONGEST_WAIT)

    def wait(state: Any) -> float:
        error = state.outcome.exception()
        return float(jittered(state)) if error.after is None else min(max(error.after, 0.0), LONGEST_WAIT)

    attempts = tenacity.AsyncRetrying(
        stop=tenacity.stop_after_attempt(options.retries + 1),
        wait=wait,
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, Unavailable) and error.again),
        sleep=lambda seconds: sleep(seconds),
        reraise=True,
    )

    async def once() -> list[str]:
        began = time.monotonic()
        try:
            found = flagged(await _attempt(client, options, request))
        except Unavailable as error:
            note(began, None, str(error))
            raise
        note(began, json.dumps(found), None)
        return found

    async with openai.AsyncOpenAI(api_key=_key(options), base_url=options.base_url, timeout=options.timeout, max_retries=0) as client:
        return await attempts(once)


def _key(options: ModerationOptions) -> str:
    key = os.environ.get(options.api_key_env, "").strip() if options.api_key_env else ""
    if not key and options.api_key_env and urlsplit(options.base_url).hostname not in ("localhost", "127.0.0.1", "::1"):
        raise Unavailable(f"no key for {options.base_url}: set the variable {options.api_key_env}")
    return key or "none"  # without any, the client refuses to begin


async def _attempt(client: Any, options: ModerationOptions, request: dict[str, Any]) -> str:
    import openai

    try:
        async with asyncio.timeout(options.timeout):
            answer = await client.moderations.with_raw_response.create(**request)
            return str(answer.content.decode("utf-8", "replace"))
    except (TimeoutError, openai.APITimeoutError):
        raise Unavailable(f"no whole answer within {options.timeout:g} s", again=True) from None
    except openai.APIStatusError as error:
        again = error.status_code in (408, 409, 425, 429) or error.status_code >= 500
        raise Unavailable(f"HTTP {error.status_code} from {options.base_url}", again, _seconds(error.response.headers)) from None
    except openai.APIConnectionError as error:
        raise Unavailable(f"cannot reach {options.base_url}: {type(error.__cause__ or error).__name__}", again=True) from None
    except (openai.OpenAIError, ValueError) as error:  # a key with letters that no header takes
        raise Unavailable(f"cannot ask {options.base_url}: {type(error).__name__}") from None


def _seconds(headers: Any) -> float | None:
    try:
        return float(headers.get("retry-after", ""))
    except ValueError:
        return None


def flagged(reply: str) -> list[str]:
    """The flagged categories in an answer's JSON, sorted; raises Unavailable for anything that is no answer."""
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
        raise Unavailable("the answer is no moderation", again=True) from None
    return sorted(found)
