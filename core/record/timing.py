"""Where the time went: wall seconds by part of a run."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class Clock:
    """Seconds by part. Parts nest, and time in an inner part is not counted in the outer one, so the parts add up to the whole."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._running: list[str] = []
        self._since = self._begun = time.perf_counter()

    @property
    def wall(self) -> float:
        """Seconds since this clock was made (and those carried over), in any part or none."""
        return time.perf_counter() - self._begun

    def carry(self, seconds: Mapping[str, float], wall: float) -> None:
        """Add the seconds of earlier processes of the same run."""
        self._begun -= wall
        for name, value in seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + value

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the time inside as `name`."""
        self._switch()
        self._running.append(name)
        try:
            yield
        finally:
            self._switch()
            self._running.pop()

    def _switch(self) -> None:
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] = self.seconds.get(self._running[-1], 0.0) + now - self._since
        self._since = now

    def read(self) -> dict[str, float]:
        """Seconds so far, the running part up to now included."""
        self._switch()
        return dict(self.seconds)


def timed(items: Iterator[T], clock: Clock, name: str) -> Iterator[T]:
    """The same items; the time that each took to make is counted as `name`."""
    while True:
        with clock.part(name):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
