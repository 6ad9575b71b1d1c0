"""Waits and retries. All of them use `sleep` and `now` of this module, so that a test can replace both."""

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from .faults import Failed

T = TypeVar("T")

MOST_FORMS = 10
"""Upper bound on the request forms tried for one request. There are fewer forms than this."""
WINDOW = 60.0
"""Length of the rate limit's window in seconds."""
LONGEST = 60.0
"""Upper bound, in seconds, on the growing wait between attempts."""
LONGEST_ASKED = 300.0
"""Upper bound, in seconds, on a Retry-After: one header must not stop a run for hours."""
LONG = 10.0
"""Waits of more seconds than this are logged."""

_own = random.SystemRandom()  # not the seeded generators: a replay does not wait, and must draw the same numbers as the run


async def sleep(seconds: float) -> None:
    """Pause the calling task; tests replace this function."""
    await asyncio.sleep(seconds)


def now() -> float:
    """Seconds of a monotonic clock; tests replace this function."""
    return time.monotonic()


def growing(failures: int) -> float:
    """Seconds to wait after `failures` failed attempts: doubled each time up to LONGEST, half of it at random."""
    longest = min(LONGEST, 2.0 ** min(max(0, failures - 1), 10))
    return longest / 2 + _own.uniform(0.0, longest / 2)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer's headers ask to wait, in [0, LONGEST_ASKED]; None where they ask for none or cannot be read.

    Read are retry-after-ms, and Retry-After in seconds or as an HTTP date.
    """
    seconds: float | None = None
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif (text := headers.get("retry-after", "").strip()) and text[0].isdigit():
            seconds = float(text)
        elif text:
            when = parsedate_to_datetime(text)
            seconds = (when - datetime.now(when.tzinfo and UTC)).total_seconds()
    except (ValueError, OverflowError, TypeError):
        return None
    return None if seconds is None or seconds != seconds else min(max(seconds, 0.0), LONGEST_ASKED)


class Pace:
    """A rate limit: at most `per_minute` calls begin in any 60 seconds (0: no limit), and none during a pause that the endpoint asked for.

    Use it in one event loop at a time.
    """

    def __init__(self, per_minute: int) -> None:
        self._begun: deque[float] = deque(maxlen=per_minute)
        self._quiet_until = self._warned_until = 0.0

    def warn(self, seconds: float, why: str) -> None:
        """Log a wait of more than LONG seconds that begins now, once for all calls that wait at the same time."""
        if seconds > LONG and now() + seconds > max(self._warned_until, now()) + LONG:
            self._warned_until = now() + seconds
            logging.getLogger("coevolve.endpoint").warning("coevolve: the endpoint gets the next request in %.0f s (%s)", seconds, why)

    def quiet(self, seconds: float) -> None:
        """Delay all calls for so many seconds: all of them honour the Retry-After that one of them received."""
        self._quiet_until = max(self._quiet_until, now() + seconds)

    async def turn(self) -> None:
        """Wait until a call may begin, and count it as begun."""
        while (wait := self._wait()) > 0:
            await sleep(wait)
        self._begun.append(now())

    def _wait(self) -> float:
        full = self._begun.maxlen and len(self._begun) == self._begun.maxlen
        return max(self._quiet_until - now(), self._begun[0] + WINDOW - now() if full else 0.0)


async def repeated(attempt: Callable[[], Awaitable[T]], retries: int, pace: Pace) -> T:
    """The result of `attempt`, tried up to `retries` times more where its Failed has `again`; raises the last Failed.

    Before each retry there is a wait: as long as the endpoint asks, else longer each time. A Failed with `instead` is followed at once by
    the next attempt, which is not counted as a retry, up to MOST_FORMS times.
    """
    failures = forms = 0
    while True:
        try:
            return await attempt()
        except Failed as failed:
            if failed.instead is not None:
                forms += 1
                if forms > MOST_FORMS:
                    raise
                continue
            failures += 1
            if failed.after is not None:
                pace.quiet(failed.after)
            if not failed.again or failures > retries:
                raise
            seconds = growing(failures) if failed.after is None else failed.after + growing(1)
            pace.warn(seconds, failed.reason)
        await sleep(seconds)
