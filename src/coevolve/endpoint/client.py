"""One HTTP call: the answer's body, or a Failed that names what may help.

The client's own retries are off, answers are bounded in size, and redirects are not followed. `scrub` removes the key from texts, because a
server may repeat it in an error.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from operator import attrgetter
from typing import Any, Literal

from coevolve import Unsent, one_line

from .faults import Failed, of_status
from .settings import key_source, missing_key, read_key
from .waiting import retry_after

LARGEST = 4 << 20
"""Upper bound on the bytes of one answer. An answer of 1,024 tokens has about 5,000."""
SHORTEST_SECRET = 8
"""Shorter keys (such as "none" for local servers) are not scrubbed: they are ordinary words, which replies may contain."""


class Endpoint:
    """A client of the endpoint for one event loop; `close` it in that loop. `options` is an Access, or has the same fields.

    Raises Failed where a key is needed and there is none.
    """

    def __init__(self, options: Any) -> None:
        import httpx2
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        self.options = options
        try:
            self._key = read_key(options)
        except ValueError as error:
            raise Failed(str(error), unsent=Unsent.NO_KEY) from None
        if self._key is None and (text := missing_key(options)):
            raise Failed(text, unsent=Unsent.NO_KEY)

        class Bounded(httpx2.AsyncByteStream):
            """A body that raises Failed when it grows larger than LARGEST."""

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
            if response.headers.get("content-encoding", "identity").lower() != "identity":  # a few bytes may expand to any size
                raise Failed("the answer is compressed although the request forbids it", again=True)
            response.stream = Bounded(response.stream)

        http = DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [bound]}, headers={"Accept-Encoding": "identity"})
        # The openai client needs a key; local servers accept any.
        self._client = AsyncOpenAI(
            api_key=self._key or "none", base_url=options.base_url, timeout=options.timeout, max_retries=0, http_client=http
        )
        # openai reads these from environment variables, which may belong to another service.
        self._client.organization = self._client.project = None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def scrub(self, text: str) -> str:
        """The text without the key, and without surrogates, which cannot be stored."""
        text = text.encode("utf-8", "replace").decode("utf-8")
        return text.replace(self._key, "[key]") if self._key and len(self._key) >= SHORTEST_SECRET else text

    async def post(
        self, body: Mapping[str, Any], route: Literal["chat.completions", "moderations"] = "chat.completions"
    ) -> tuple[str, str]:
        """Send `body`; return the body and the content type of the answer. Raises Failed, whose texts are not scrubbed yet."""
        import openai

        options = self.options
        try:
            async with asyncio.timeout(options.timeout):
                ask = attrgetter(f"{route}.with_raw_response.create")(self._client)
                response = await ask(**body, extra_headers={"Accept-Encoding": "identity"})
                return response.content.decode("utf-8", "replace"), response.headers.get("content-type", "no content type")
        except (TimeoutError, openai.APITimeoutError):
            raise Failed(f"no whole answer within {options.timeout:g} s", again=True, lost=True) from None
        except openai.APIStatusError as error:
            advice = f"model {options.model!r} at {options.base_url}: check the model, the address and the key in {key_source(options)}"
            answer = error.response
            raise of_status(error.status_code, error.body, answer.text, retry_after(answer.headers), advice) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise Failed(f"the connection failed: {type(cause).__name__}: {one_line(cause, 200)}", again=True) from None
        except (openai.OpenAIError, ValueError, TypeError, LookupError) as error:  # the last two: an unknown charset
            raise Failed(f"the request cannot be sent: {type(error).__name__}: {one_line(error, 200)}") from None
