"""Run environment calls with a deadline each, so that one that never returns cannot hang a run.

A thread cannot be killed: one that is stuck is left behind as a daemon and replaced. The standard executors join their threads at exit,
so a stuck call would hang the program's end; that is why this does not use them.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .errors import InfrastructureFault

T = TypeVar("T")


class _Call:
    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.started: float | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Event()

    def run(self) -> None:
        self.started = time.monotonic()
        try:
            self.result = self.function()
        except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
            self.error = error
        self.done.set()


class DeadlinePool:
    """`workers` daemon threads that run calls, each for at most `timeout` seconds."""

    def __init__(self, workers: int = 1, timeout: float = 30.0) -> None:
        self._workers, self._timeout = workers, timeout
        self._queue: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._start(workers)

    def _start(self, count: int) -> None:
        for _ in range(count):
            threading.Thread(target=self._work, args=(self._queue,), daemon=True, name="coevolve-environment").start()

    @staticmethod
    def _work(calls: "queue.SimpleQueue[_Call | None]") -> None:
        while (call := calls.get()) is not None:
            call.run()

    def map(self, functions: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Results in order; an exception stands in the place of its call, an InfrastructureFault where the deadline passed."""
        calls = [_Call(function) for function in functions]
        for call in calls:
            self._queue.put(call)
        return [self._wait(call) for call in calls]

    def call(self, function: Callable[[], T]) -> T:
        """The result of one call; raises what it raised, or InfrastructureFault at the deadline."""
        result = self.map([function])[0]
        if isinstance(result, Exception):
            raise result
        return result

    def _wait(self, call: _Call) -> Any:
        while not call.done.wait(None if self._timeout <= 0 else min(self._timeout, 0.5)):
            if call.started is not None and time.monotonic() - call.started > self._timeout:
                self._start(1)  # the stuck thread is lost to us
                return InfrastructureFault(f"no answer within {self._timeout:g} s")
        if call.error is not None:
            if not isinstance(call.error, Exception):
                raise call.error
            return call.error
        return call.result

    def close(self) -> None:
        """Let the idle threads end."""
        for _ in range(self._workers):
            self._queue.put(None)
