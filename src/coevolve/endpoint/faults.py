"""The failure of a request, and what may help: the same request again, another form of it, or neither."""

from collections.abc import Mapping
from typing import Any

from attrs import define

from coevolve import Unsent, one_line

RAW_KEPT = 20_000
"""Upper bound on the stored characters of an unusable answer."""
ANSWERED = "the endpoint answered with an error"
"""How the reason begins where an answer with status 200 holds an error."""
REFUSALS = ("content_filter", "content_policy_violation", "data_inspection_failed", "moderation_blocked")
"""Error codes of endpoints that refuse the prompt's content."""
TOO_LONG = ("context_length_exceeded", "string_above_max_length", "exceed_context_size_error")
"""Error codes of prompts that exceed the model's context: OpenAI's two, llama.cpp's."""
TOO_LONG_WORDS = ("context length", "context size", "context window", "maximum context", "too many tokens", "prompt is too long")
"""The same in messages without such a code: vLLM's, SGLang's, Anthropic's."""
TOO_LONG_STATUSES = (400, 413, 422, 500, 501)


@define
class Failed(Exception):
    """A failed attempt: its reason, and what the caller may do about it."""

    reason: str
    """The reason in one line."""
    raw: str = ""
    """The body that came instead of a reply."""
    again: bool = False
    """Whether the same request may succeed on another attempt."""
    instead: Any = None
    """A simpler form of the request to send immediately (not counted as a retry)."""
    after: float | None = None
    """Seconds that the endpoint asks to wait."""
    counts: bool = True
    """Whether the circuit breaker counts it as a failure of the endpoint. A refusal is not one."""
    own: bool = False
    """Whether the model itself gave no usable answer: it refused in words (`raw` holds them), or wrote nothing."""
    cut: bool = False
    """The limit on tokens was reached before any text came."""
    lost: bool = False
    """No answer came, although the endpoint may have computed one and charged for it."""
    unsent: Unsent | None = None
    """Why no request was sent; None where one was sent."""
    usage: Any = None
    """The Usage that the endpoint reported despite the failure, or None."""
    status: int = 0
    """The HTTP status, or the one that an error inside an answer names; 0 where there is none."""
    body: object = None
    """The parsed body of the error where it is JSON, else None."""
    too_long: bool = False
    """The prompt exceeds the model's context: neither another form of the request nor a retry helps."""

    def __str__(self) -> str:
        return self.reason

    @property
    def fault(self) -> str:
        """The reason, and below it the first RAW_KEPT characters of `raw`."""
        return f"{self.reason}\n{self.raw[:RAW_KEPT]}" if self.raw else self.reason


def error_fields(body: object) -> Mapping[str, Any]:
    """The `error` object of an OpenAI-like error body (some servers omit the wrapper); empty for any other body."""
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    return inner if isinstance(inner, Mapping) else {"message": inner} if isinstance(inner, str) else {}


def of_answer(error: object, text: str) -> Failed:
    """The Failed for an error inside an answer with status 200, which gateways send in place of the model's or around a part of it.

    `error`: the error object or text; `text`: the whole body.
    """
    fields = error_fields({"error": error})
    code = str(fields.get("code") or "")
    told = int(code) if code.isascii() and code.isdigit() and 400 <= int(code[:4]) < 600 else 0
    what = ANSWERED + (f" ({code})" if code else "")
    told_in = {"error": dict(fields)}
    failed = of_status(told or 502, told_in, "", None, "check the model, the address and the key", what)  # 502: a gateway's
    failed.raw, failed.status = text, told
    return failed


def of_status(status: int, body: object, text: str, after: float | None, advice: str, what: str = "") -> Failed:
    """The Failed for an HTTP status; `advice` names what to check where the endpoint denies access; `what`: how the reason begins."""
    what = what or f"HTTP {status}"
    fields = error_fields(body)
    codes, message = (str(fields.get("code") or ""), str(fields.get("type") or "")), one_line(fields.get("message") or text, 200)
    reason = what + (f": {message}" if message else "")
    if code := next((code for code in codes if code in REFUSALS), ""):
        return Failed(f"refused ({code}): {message}", text, counts=False, status=status, body=body)
    words = str(fields.get("message") or "").lower()
    if status in TOO_LONG_STATUSES and (set(codes) & set(TOO_LONG) or any(part in words for part in TOO_LONG_WORDS)):
        return Failed(f"the prompt is too long ({reason})", text, status=status, body=body, too_long=True)
    if status in (401, 403, 404):
        return Failed(f"{what}, {advice} ({message})" if message else f"{what}, {advice}", text, status=status, body=body)
    # insufficient_quota comes with status 429, but waiting does not help.
    again = "insufficient_quota" not in codes and (status in (408, 409, 425, 429) or status >= 500)
    return Failed(reason, text, again=again, after=after, status=status, body=body)
