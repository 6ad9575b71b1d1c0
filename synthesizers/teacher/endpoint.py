"""One HTTP attempt at one chat completion: what was answered, or a Failed that says what may help.

The client's own retries are off, answers are bounded in size, redirects are not followed, and nothing that is said of a failure repeats the
key, also where a server echoes it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from .faults import NOT_ASKED, Answer, Failed, Usage, line, of_status
from .options import TeacherOptions, key_source, missing_key, read_key
from .structured import Dialect
from .waiting import retry_after

LARGEST = 4 << 20
"""Bytes of one answer at most: 1,024 tokens are about 5,000."""
LONGEST = 200_000
"""Characters of a reply at most, also of a server that minds no limit on tokens."""
MOST_TOKENS = 10**9
"""A usage above this is nonsense, and taken as not told."""
SHORTEST_SECRET = 8
"""Shorter keys (local servers' "none") are ordinary words, which would be cut out of replies."""


class Endpoint:
    """The endpoint as one event loop reaches it; `close` it in that loop."""

    def __init__(self, options: TeacherOptions) -> None:
        import httpx2
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        self.options = options
        try:
            self._key = read_key(options)
        except ValueError as error:
            raise Failed(f"{NOT_ASKED}{error}") from None
        if self._key is None and (text := missing_key(options)):
            raise Failed(f"{NOT_ASKED}{text}")

        class Bounded(httpx2.AsyncByteStream):
            """A body that ends with a fault where it grows too large."""

            def __init__(self, inner: Any) -> None:
                self._inner = inner

            async def __aiter__(self) -> AsyncIterator[bytes]:
                size = 0
                async for chunk in self._inner:
                    size += len(chunk)
                    if size > LARGEST:
                        raise Failed(f"the answer is larger than {LARGEST >> 20} MiB", again=True)
                    yield chunk

            async def aclose(self) -> None:
                await self._inner.aclose()

        async def bound(response: Any) -> None:
            if response.headers.get("content-encoding", "identity").lower() != "identity":  # a few bytes may unfold to any size
                raise Failed("the answer is compressed, which was not asked for", again=True)
            response.stream = Bounded(response.stream)

        http = DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [bound]}, headers={"Accept-Encoding": "identity"})
        # Without a key openai refuses to begin; local servers take any.
        self._client = AsyncOpenAI(
            api_key=self._key or "none", base_url=options.base_url, timeout=options.timeout, max_retries=0, http_client=http
        )
        self._client.organization = self._client.project = None  # those of another service, from its own variables

    async def close(self) -> None:
        await self._client.close()

    def scrub(self, text: str) -> str:
        """The text without the key, and as text that can be stored."""
        text = text.encode("utf-8", "replace").decode("utf-8")
        return text.replace(self._key, "[key]") if self._key and len(self._key) >= SHORTEST_SECRET else text

    async def send(self, request: Mapping[str, Any], dialect: Dialect, room: int) -> Answer:
        """The reply; raises Failed. `request` holds model, messages, schema, temperature; `room` is its limit on tokens."""
        import openai

        try:
            async with asyncio.timeout(self.options.timeout):
                response = await self._client.chat.completions.with_raw_response.create(
                    **dialect.body(request, room), extra_headers={"Accept-Encoding": "identity"}
                )
                return read_answer(response.content.decode("utf-8", "replace"), response.headers.get("content-type", "no content type"))
        except (TimeoutError, openai.APITimeoutError):
            raise Failed(f"no whole answer within {self.options.timeout:g} s", again=True, lost=True) from None
        except openai.APIStatusError as error:
            raise self._of_status(error, request, dialect) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise Failed(f"the connection failed: {type(cause).__name__}: {line(cause)}", again=True) from None
        except (openai.OpenAIError, ValueError, TypeError, LookupError) as error:  # the last two: a charset that is none
            raise Failed(f"cannot ask: {type(error).__name__}: {line(error)}") from None

    def _of_status(self, error: Any, request: Mapping[str, Any], dialect: Dialect) -> Failed:
        options, headers = self.options, error.response.headers
        advice = f"model {options.model!r} at {options.base_url}: check these two and the key in {key_source(options)}"
        failed = of_status(error.status_code, error.body, error.response.text, retry_after(headers), advice)
        if not failed.again and failed.counts:
            failed.instead = dialect.simpler(error.status_code, error.body, request["schema"] is not None and options.structured == "auto")
        return failed


def read_answer(text: str, content_type: str) -> Answer:
    """The first choice's text in the body of an answer; raises Failed for everything that holds none."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise Failed(f"the answer is no JSON ({line(content_type, 60)}, {len(text)} characters)", text, again=True) from None
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Failed("the answer is no chat completion", text, again=True)
    usage, ending, content = read_usage(body.get("usage")), choice.get("finish_reason"), read_content(message.get("content"))
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        raise Failed(f"refused: {line(refusal)}", refusal, counts=False, usage=usage)
    if ending == "content_filter":
        raise Failed("refused: the endpoint filtered the reply", content, counts=False, usage=usage)
    if not content.strip():
        cut = ending == "length"
        why = "the limit on tokens was reached before any text came" if cut else "the reply is empty"
        raise Failed(why, text, again=True, counts=False, cut=cut, usage=usage)
    if len(content) > LONGEST:
        raise Failed(f"the reply has {len(content)} characters, more than any that was asked for", content, again=True, usage=usage)
    return Answer(content, usage)


def read_content(content: object) -> str:
    """A message's text, also where it is told in parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def read_usage(usage: object) -> Usage | None:
    """The tokens that an answer tells; None when it tells none that can be."""
    if not isinstance(usage, dict):
        return None
    told = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    counts = [count for count in told if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS]
    return Usage(counts[0], counts[1]) if len(counts) == len(told) else None
