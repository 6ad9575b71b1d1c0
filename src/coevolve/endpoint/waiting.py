"""Everything here that waits does so through `sleep` and `now`, so that a test need not wait for real."""

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

OTHERWISE = 10
"""Times that one request is put otherwise: more than there are ways to put it."""
WINDOW = 60.0
"""Seconds of the rate limit's window."""
LONGEST = 60.0
"""Seconds that the growing wait between attempts grows to."""
LONGEST_ASKED = 300.0
"""Seconds of a Retry-After that are honoured at most: an evolution does not stand still for hours because one header says so."""

LONG = 10.0
"""Seconds from which on a wait is told."""

_own = random.SystemRandom()  # never the seeded generators: a replay waits for nothing and must draw the same numbers as the run


async def sleep(seconds: float) -> None:
    """asyncio.sleep."""
    await asyncio.sleep(seconds)


async def _pause(seconds: float) -> None:
    """Sleep, where there is something to wait for."""
    if seconds > 0:
        await sleep(seconds)


def now() -> float:
    """Seconds of a clock that never goes back."""
    return time.monotonic()


def growing(failures: int) -> float:
    """Seconds before the attempt after `failures` failed ones: doubled each time, half of it at random."""
    longest = min(LONGEST, 2.0 ** min(max(0, failures - 1), 10))
    return longest / 2 + _own.uniform(0.0, longest / 2)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait (retry-after-ms, or Retry-After in seconds or as an HTTP date), in [0, LONGEST_ASKED]; None when
    it asks for none or for nonsense."""
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
    """Lets calls begin: at most `per_minute` in any 60 seconds (0: no limit), none while the endpoint asked for quiet."""

    def __init__(self, per_minute: int) -> None:
        self._begun: deque[float] = deque(maxlen=per_minute)
        self._quiet_until = self._told_until = 0.0

    def tell(self, seconds: float, why: str) -> None:
        """Warn of a long wait that begins, once for all calls that wait at the same time."""
        if seconds > LONG and now() + seconds > max(self._told_until, now()) + LONG:
            self._told_until = now() + seconds
            logging.getLogger("coevolve.endpoint").warning("coevolve: the endpoint is asked again in %.0f s (%s)", seconds, why)

    def quiet(self, seconds: float) -> None:
        """Begin nothing for so long: every call honours what one of them was told."""
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
    """What `attempt` comes to, tried up to `retries` times more where its Failed says that this may help; raises the last Failed.

    Before each there is a wait: as long as the endpoint asks, else longer each time. A Failed that says what to do `instead` is followed
    at once by the next attempt, which is not counted, up to OTHERWISE times.
    """
    import tenacity

    failures = otherwise = 0

    def again(error: BaseException) -> bool:
        nonlocal failures, otherwise
        if not isinstance(error, Failed):
            return False
        if error.instead is not None:
            otherwise += 1
            return otherwise <= OTHERWISE
        failures += 1
        if error.after is not None:
            pace.quiet(error.after)
        return error.again and failures <= retries

    def wait(state: tenacity.RetryCallState) -> float:
        failed = state.outcome.exception() if state.outcome else None
        assert isinstance(failed, Failed)
        if failed.instead is not None:
            return 0.0
        seconds = growing(failures) if failed.after is None else failed.after + growing(1)
        pace.tell(seconds, failed.reason)
        return seconds

    async for one in tenacity.AsyncRetrying(retry=tenacity.retry_if_exception(again), wait=wait, sleep=_pause, reraise=True):
        with one:
            return await attempt()
    raise AssertionError("tenacity ended without a result or an error")
