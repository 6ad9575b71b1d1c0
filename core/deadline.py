"""Run environment calls with a deadline each, so that one that never returns cannot hang a run.

A thread cannot be killed: one that is stuck is left behind as a daemon and replaced. The standard executors join their threads at exit,
so a stuck call would hang the program's end; that is why this does not use them. Work is handed over in batches: one switch between
threads for each batch and not for each call keeps the cost of a call in the microseconds.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple, TypeVar

from .errors import InfrastructureFault

T = TypeVar("T")
LOOK = 0.25
"""Seconds between looks for calls past their deadline."""


class TooSlow(InfrastructureFault):
    """A function passed its own limit, in no call of the environment."""


class Limit(NamedTuple):
    """Seconds for a whole function, and what is said past them."""

    seconds: float
    text: str


class Watch:
    """What one thread is in: a call into the environment since `started` (None: in none)."""

    def __init__(self) -> None:
        self.started: float | None = None

    @contextmanager
    def calling(self) -> Iterator[None]:
        """The thread is in a call of the environment."""
        self.started = time.monotonic()
        try:
            yield
        finally:
            self.started = None


class _Batch:
    """Functions that threads take one by one; `results` holds values and exceptions in the functions' order.

    Each function is one call of the environment, unless there is a `watch` that says when it is in one.
    """

    def __init__(self, functions: Sequence[Callable[[], Any]], watch: Watch | None, limit: Limit | None = None) -> None:
        self.functions, self.watch, self.limit = functions, watch, limit
        self.begun = time.monotonic()
        self.results: list[Any] = [None] * len(functions)
        self.running: dict[int, Watch] = {}
        self.next, self.left = 0, len(functions)
        self.lock, self.done = threading.Lock(), threading.Event()

    def work(self) -> bool:
        """Run functions until none is left; False when this thread was given up meanwhile and must end."""
        while True:
            watch = self.watch or Watch()
            with self.lock:
                if self.next >= len(self.functions):
                    return True
                number, self.next = self.next, self.next + 1
                self.running[number] = watch
            try:
                with nullcontext() if self.watch else watch.calling():
                    result = self.functions[number]()
            except SystemExit as error:  # of the environment's own; it may not end the run, and unseen at that
                result = InfrastructureFault(f"it tried to end the program ({error!r})")
            except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
                result = error
            if not self.settle(number, result):
                return False

    def overdue(self, watch: Watch, timeout: float) -> InfrastructureFault | None:
        """Why a function is not waited for any longer; None where it still is."""
        since, now = watch.started, time.monotonic()
        if since is not None and now - since > timeout:
            return InfrastructureFault(f"no answer within {timeout:g} s")
        return TooSlow(self.limit.text) if self.limit and now - self.begun > self.limit.seconds else None

    def settle(self, number: int, result: Any) -> bool:
        """The result of a function, unless it was settled before."""
        with self.lock:
            if self.running.pop(number, None) is None:
                return False
            self.results[number] = result
            self.left -= 1
            if self.left == 0:
                self.done.set()
            return True


class DeadlinePool:
    """`workers` daemon threads that run calls, each for at most `timeout` seconds."""

    def __init__(self, workers: int = 1, timeout: float = 30.0) -> None:
        self._workers, self._timeout = workers, timeout
        self._batches: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        for _ in range(workers):
            self._start()

    def _start(self) -> None:
        threading.Thread(target=self._serve, args=(self._batches,), daemon=True, name="coevolve-environment").start()

    @staticmethod
    def _serve(batches: "queue.SimpleQueue[_Batch | None]") -> None:
        while (batch := batches.get()) is not None:
            if not batch.work():
                return

    def map(self, functions: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Results in order; an exception stands in the place of its call, an InfrastructureFault where the deadline passed."""
        return self._run(_Batch(functions, None))

    def supervise(self, function: Callable[[], T], watch: Watch, limit: Limit | None = None) -> T:
        """The result of one function that may take its time (up to `limit`), but no call that it makes under `watch` may pass the deadline.

        Raises what the function raised, or InfrastructureFault.
        """
        result = self._run(_Batch([function], watch, limit))[0]
        if isinstance(result, Exception):
            raise result
        return result  # type: ignore[no-any-return]

    def _run(self, batch: _Batch) -> list[Any]:
        if not batch.functions:
            return []
        for _ in range(min(self._workers, len(batch.functions))):
            self._batches.put(batch)
        while not batch.done.wait(min(self._timeout, LOOK)):
            self._give_up_overdue(batch)
        for result in batch.results:
            if isinstance(result, BaseException) and not isinstance(result, Exception):
                raise result
        return batch.results

    def _give_up_overdue(self, batch: _Batch) -> None:
        with batch.lock:
            running = list(batch.running.items())
        for number, watch in running:
            fault = batch.overdue(watch, self._timeout)
            if fault and batch.settle(number, fault):  # its thread is lost to us; another takes its place
                self._start()
                self._batches.put(batch)

    def close(self) -> None:
        """Let the idle threads end."""
        for _ in range(self._workers):
            self._batches.put(None)
