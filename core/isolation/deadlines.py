"""Run environment calls with a deadline each, so that one that never returns cannot hang a run.

A thread cannot be killed: one that is stuck is left behind as a daemon and replaced. The standard executors join their threads at exit,
so a stuck call would hang the program's end; that is why this does not use them. Calls are submitted in batches: one thread switch per
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
"""Seconds between looks for calls past their deadline."""


class TimeLimitExceeded(InfrastructureFault):
    """A function passed its own limit, in no call of the environment."""


class TimeLimit(NamedTuple):
    """Seconds for a whole function, and what is said past them."""

    seconds: float
    text: str


class CallWatch:
    """What one thread is in: a call into the environment since `started` (None: in none)."""

    def __init__(self) -> None:
        self.started: float | None = None

    @contextmanager
    def calling(self) -> Iterator[None]:
        """The thread is in a call of the environment."""
        since = self.started = time.monotonic()
        try:
            yield
        finally:
            if self.started is since:  # a thread that was given up leaves late: by then the watch may be another's
                self.started = None


class CallBatch:
    """Functions that the pool's threads take one by one, from the moment that each is added; made by `DeadlinePool.begin`.

    Each function is one call of the environment, unless there is a `watch` that says when it is in one.
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
        """Begin these calls as soon as threads are free."""
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
        """Wait for all calls; values and exceptions in the functions' order, an InfrastructureFault where the deadline passed.

        Interrupted, it lets no further call begin and waits for those under way, or leaves them behind at once (`leave`).
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
        """Let no further call begin, and wait for those under way, at most until their deadlines."""
        with self._lock:
            self._left -= len(self._functions) - self._next
            self._next = len(self._functions)
            if self._left == 0:
                self._done.set()
        self._wait()

    def work(self) -> bool:
        """Run functions until none is left; False when this thread was given up meanwhile and must end."""
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
            except SystemExit as error:  # of the environment's own; it may not end the run, and unseen at that
                result = InfrastructureFault(f"it tried to end the program ({error!r})")
            except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
                result = error
            if self._watch is None:  # nobody may have looked meanwhile
                result = self._overdue(began) or result
            if not self._settle(number, result):
                return False

    def _overdue(self, since: float | None) -> InfrastructureFault | None:
        """Why a function, in a call `since` then, is not waited for any longer; None where it still is."""
        now = time.monotonic()
        if since is not None and now - since > self._pool.timeout:
            return InfrastructureFault(f"no answer within {self._pool.timeout:g} s")
        return TimeLimitExceeded(self._limit.text) if self._limit and now - self._begun > self._limit.seconds else None

    def _settle(self, number: int, result: Any) -> bool:
        """The result of a function, unless it was settled before."""
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
                if fault and self._settle(number, fault):  # its thread is lost to us; another takes its place
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
        """CallBatch to add to while others of them run already."""
        return CallBatch(self)

    def map(self, functions: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Results in order; an exception stands in the place of its call, an InfrastructureFault where the deadline passed."""
        calls = self.begin()
        calls.add(functions)
        return calls.results()

    def supervise(self, function: Callable[[], T], watch: CallWatch, limit: TimeLimit | None = None) -> T:
        """The result of one function that may take its time (up to `limit`), but no call that it makes under `watch` may pass the deadline.

        Raises what the function raised, or InfrastructureFault.
        """
        calls = CallBatch(self, watch, limit)
        calls.add([function])
        result = calls.results(leave=True)[0]  # it may take hours: an interrupt does not wait for it
        if isinstance(result, Exception):
            raise result
        return result  # type: ignore[no-any-return]

    def serve(self, calls: CallBatch, threads: int) -> None:
        """Send so many threads to `calls` when they are free."""
        for _ in range(threads):
            self._waiting.put(calls)

    def replace(self, calls: CallBatch) -> None:
        """Give it another thread for one that is lost."""
        self._start()
        self.serve(calls, 1)

    def close(self) -> None:
        """Let the idle threads end."""
        for _ in range(self.workers):
            self._waiting.put(None)
