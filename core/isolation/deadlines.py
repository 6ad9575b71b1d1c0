"""Run environment calls with a deadline each, so that one that never returns cannot hang a run.

A thread cannot be killed: a stuck thread is abandoned as a daemon and replaced. The standard executors are not used, because they join
their threads at exit, where a stuck call would hang the program. Calls are submitted in batches: one thread switch per
batch keeps the overhead at microseconds per call.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple, TypeVar

from ..errors import InfrastructureFault

T = TypeVar("T")
LOOK = 0.25
"""Seconds between two checks for calls past their deadline."""


class TimeLimitExceeded(InfrastructureFault):
    """A function passed its own time limit, outside of any call of the environment."""


class TimeLimit(NamedTuple):
    """Time limit of a whole call in seconds, and the error message when it is exceeded."""

    seconds: float
    text: str


class CallWatch:
    """When a thread's present call of the environment started, on the monotonic clock; None outside of one."""

    def __init__(self) -> None:
        self.started: float | None = None

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Record a call of the environment while the block runs."""
        since = self.started = time.monotonic()
        try:
            yield
        finally:
            if self.started is since:  # an abandoned thread ends late: the watch may be in use by its successor
                self.started = None


class CallBatch:
    """A batch of functions for the pool's threads, which start them in order; made by `DeadlinePool.begin`. Used by one thread.

    Each function is one call of the environment, unless a `watch` records its calls.
    """

    def __init__(self, pool: "DeadlinePool", watch: CallWatch | None = None, limit: TimeLimit | None = None) -> None:
        self._pool, self._watch, self._limit = pool, watch, limit
        self._begun = time.monotonic()
        self._functions: list[Callable[[], Any]] = []
        self._results: list[Any] = []
        self._running: dict[int, CallWatch] = {}
        self._next = self._left = self._serving = 0
        self._lock, self._done = threading.Lock(), threading.Event()

    def add(self, functions: Sequence[Callable[[], Any]]) -> None:
        """Start these functions as soon as threads are free."""
        with self._lock:
            self._functions += functions
            self._results += [None] * len(functions)
            self._left += len(functions)
            if self._left:
                self._done.clear()
            idle = min(self._pool.workers - self._serving, len(functions))
            self._serving += idle
        self._pool.serve(self, idle)

    def results(self, *, leave: bool = False) -> list[Any]:
        """Wait for all functions: their values and exceptions in order, an InfrastructureFault where the deadline passed.

        When it is interrupted it starts no further function and waits for those that run; with `leave` it abandons them at once.
        """
        try:
            self._wait()
        except BaseException:
            if not leave:
                self.drop()
            raise
        for result in self._results:
            if isinstance(result, BaseException) and not isinstance(result, Exception):
                raise result
        return self._results

    def drop(self) -> None:
        """Start no further function, and wait for those that run, at most until their deadlines."""
        with self._lock:
            self._left -= len(self._functions) - self._next
            self._next = len(self._functions)
            if self._left == 0:
                self._done.set()
        self._wait()

    def work(self) -> bool:
        """Run functions until none is left. False when this thread was abandoned meanwhile and must end."""
        while True:
            watch = self._watch or CallWatch()
            with self._lock:
                if self._next >= len(self._functions):
                    self._serving -= 1
                    return True
                number, self._next = self._next, self._next + 1
                self._running[number] = watch
            began = time.monotonic()
            try:
                with nullcontext() if self._watch else watch.calling():
                    result = self._functions[number]()
            except SystemExit as error:  # raised by the environment: it may not end the run silently
                result = InfrastructureFault(f"it tried to end the program ({error!r})")
            except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
                result = error
            if self._watch is None:  # the deadline may have passed between two checks
                result = self._overdue(began) or result
            if not self._settle(number, result):
                return False

    def _overdue(self, since: float | None) -> InfrastructureFault | None:
        """The fault of a function whose call of the environment began at `since`, when a deadline has passed; else None."""
        now = time.monotonic()
        if since is not None and now - since > self._pool.timeout:
            return InfrastructureFault(f"no answer within {self._pool.timeout:g} s")
        return TimeLimitExceeded(self._limit.text) if self._limit and now - self._begun > self._limit.seconds else None

    def _settle(self, number: int, result: Any) -> bool:
        """Store the result of a function; False when it has one already."""
        with self._lock:
            if self._running.pop(number, None) is None:
                return False
            self._results[number] = result
            self._left -= 1
            if self._left == 0:
                self._done.set()
            return True

    def _wait(self) -> None:
        while self._functions and not self._done.wait(min(self._pool.timeout, LOOK)):
            with self._lock:
                running = list(self._running.items())
            for number, watch in running:
                fault = self._overdue(watch.started)
                if fault and self._settle(number, fault):  # its thread is stuck: start another one in its place
                    self._pool.replace(self)


class DeadlinePool:
    """`workers` daemon threads that run calls, each for at most `timeout` seconds."""

    def __init__(self, workers: int = 1, timeout: float = 30.0) -> None:
        self.workers, self.timeout = workers, timeout
        self._waiting: queue.SimpleQueue[CallBatch | None] = queue.SimpleQueue()
        for _ in range(workers):
            self._start()

    def _start(self) -> None:
        threading.Thread(target=self._serve, args=(self._waiting,), daemon=True, name="coevolve-environment").start()

    @staticmethod
    def _serve(waiting: "queue.SimpleQueue[CallBatch | None]") -> None:
        while (calls := waiting.get()) is not None:
            if not calls.work():
                return

    def begin(self) -> CallBatch:
        """An empty batch; functions may be added while earlier ones run."""
        return CallBatch(self)

    def map(self, functions: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """The functions' results in order. An exception is returned in its place, an InfrastructureFault where the deadline passed."""
        calls = self.begin()
        calls.add(functions)
        return calls.results()

    def supervise(self, function: Callable[[], T], watch: CallWatch, limit: TimeLimit | None = None) -> T:
        """Run a function and return its result. Each call under `watch` must keep the deadline; `limit` bounds the whole (None: no bound).

        Raises what the function raised, or InfrastructureFault.
        """
        calls = CallBatch(self, watch, limit)
        calls.add([function])
        result = calls.results(leave=True)[0]  # it may take hours: an interrupt does not wait for it
        if isinstance(result, Exception):
            raise result
        return result  # type: ignore[no-any-return]

    def serve(self, calls: CallBatch, threads: int) -> None:
        """Queue `calls` for this many threads."""
        for _ in range(threads):
            self._waiting.put(calls)

    def replace(self, calls: CallBatch) -> None:
        """Start a thread in the place of a stuck one."""
        self._start()
        self.serve(calls, 1)

    def close(self) -> None:
        """Let the idle threads end."""
        for _ in range(self.workers):
            self._waiting.put(None)
