"""The pool of an executor's workers: which worker gets a call, and what happens when a worker is lost.

An episode lives on one worker. A worker that dies, or that is stopped because it passed a deadline, is replaced; its episodes are opened
again on workers that are ready, from their tasks and the texts so far. The call under way on a worker that died is repeated at most
`WorkerSettings.retries` times; a call that passed its deadline is not repeated, it is an infrastructure fault. Calls that were queued on a
lost worker do not use up a retry. Every wait has a deadline.
"""

import pickle
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen

from ..contracts import EnvironmentSource, Executor, Worker, WorkerSettings
from ..errors import InfrastructureFault, WorkerLost
from .worker_server import OWN_ERRORS, Hello

T = TypeVar("T")
GRACE = 10.0
"""Seconds that a worker has to end by itself before it is killed."""


class RaisedOnWorker(Exception):
    """Base of the classes that stand for errors raised on a worker; each has the name of the original class."""


def unpack(reply: bytes) -> Any:
    """The value in an answer. Raises the error that the answer holds, with the worker's traceback as a note."""
    done, found = pickle.loads(reply)  # written by worker_server.py in a worker that this program started
    if done:
        return found
    name, text, trace = found
    error = OWN_ERRORS[name](text) if name in OWN_ERRORS else type(name, (RaisedOnWorker,), {})(text)
    if trace:
        error.add_note(f"On the worker:\n{trace}")
    raise error


@frozen
class Placement:
    """Where an episode lives: a slot, and the generation of its worker, counted from 1."""

    slot: "WorkerSlot"
    generation: int

    @property
    def valid(self) -> bool:
        """Whether that worker is still running."""
        return self.slot.ready and self.slot.generation == self.generation


class WorkerSlot:
    """The place of one worker and of those that replace it."""

    def __init__(self, pool: "WorkerPool") -> None:
        self._pool = pool
        self.lock = threading.Lock()
        """Held while the worker answers a request."""
        self.ready = False
        self.generation = 0
        self.load = 0
        """Number of episodes that live here and of calls under way."""
        self.hello: Hello
        self.failure: Exception | None = None
        """Why no worker will be started here any more."""
        self._worker: Worker | None = None
        self._starting: threading.Thread | None = None

    def start(self) -> None:
        """Start a worker, in a thread of its own."""
        self._starting = threading.Thread(target=self._start_worker, daemon=True, name="coevolve-worker-start")
        self._starting.start()

    def _start_worker(self) -> None:
        pool, reason = self._pool, ""
        for _ in range(1 + pool.settings.retries):
            try:
                self._worker = worker = pool.executor.worker(pool.source)
                if pool.closed:
                    worker.stop(0)
                    return
                hello = unpack(worker.ask(pickle.dumps(("hello", ())), pool.settings.start_timeout))
            except (WorkerLost, TimeoutError) as error:
                reason = str(error) or f"not ready within {pool.settings.start_timeout:g} s"
                self._end(0)
                if pool.closed:
                    return
                pool.add_lost(reason)
            except Exception as error:  # noqa: BLE001 - of the environment or the executor; `_pick` raises it once every slot has failed
                self._end(0)
                self._fail(error)
                return
            else:
                with pool.changed:
                    self.hello, self.generation, self.load, self.ready = hello, self.generation + 1, 0, True
                    pool.changed.notify_all()
                return
        self._fail(InfrastructureFault(f"no environment worker could be started in {1 + pool.settings.retries} tries: {reason}"))

    def _fail(self, error: Exception) -> None:
        with self._pool.changed:
            self.failure = error
            self._pool.changed.notify_all()

    def ask(self, method: str, *arguments: Any, timeout: float = 0.0) -> Any:
        """The worker's answer within `timeout` seconds (0: the pool's `timeout`). The caller holds `lock`.

        Raises WorkerLost when the worker is gone. A worker that passes the deadline is stopped: nothing else can end its call.
        """
        seconds = timeout or self._pool.timeout
        assert self._worker is not None
        try:
            reply = self._worker.ask(pickle.dumps((method, arguments)), seconds)
        except TimeoutError:
            self._lose(f"stopped after {seconds:g} s without an answer")
            raise InfrastructureFault(f"no answer within {seconds:g} s") from None
        except BaseException as error:  # after an interrupt a late answer would be taken for that of the next request
            self._lose(str(error) or type(error).__name__)
            raise
        return unpack(reply)

    def _lose(self, reason: str) -> None:
        with self._pool.changed:
            self.ready, self.load = False, 0
        self._end(0)
        if not self._pool.closed:
            self._pool.add_lost(reason)
            self.start()

    def _end(self, grace: float) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop(grace)

    def close(self) -> None:
        """End the worker: with a grace when it is idle, else by force. Waits for the thread that starts it."""
        if self.lock.acquire(blocking=False):
            try:
                self._end(GRACE if self.ready else 0)
            finally:
                self.lock.release()
        else:
            self._end(0)
        if self._starting is not None:
            self._starting.join(GRACE)


class WorkerPool:
    """The workers of one environment. `timeout`: seconds for one call of the environment. Thread-safe."""

    def __init__(self, executor: Executor, settings: WorkerSettings, source: EnvironmentSource, timeout: float) -> None:
        self.executor, self.settings, self.source, self.timeout = executor, settings, source, timeout
        self.changed = threading.Condition()
        self.closed = False
        self.call_timeout = (1 + settings.retries) * (settings.start_timeout + 2 * timeout)
        """Seconds for a call with all its repetitions and all its waiting for workers; past them it is an InfrastructureFault."""
        self.replay_timeout = settings.start_timeout + timeout
        """Seconds for opening an episode again and replaying its texts."""
        self._lost: list[str] = []
        self.slots = tuple(WorkerSlot(self) for _ in range(settings.workers))
        for slot in self.slots:
            slot.start()

    @property
    def longest(self) -> float:
        """Upper bound, in seconds, of every call: a deadline outside of the pool must be longer."""
        return self.call_timeout + self.replay_timeout + 2 * self.timeout

    def call(self, visit: Callable[[WorkerSlot], T], placement: Callable[[], Placement | None] = lambda: None) -> T:
        """Call `visit` on the slot of `placement` if that worker still runs, else on the least busy slot. If the worker is lost, try again.

        Raises InfrastructureFault after `retries` repetitions or `call_timeout` seconds, and what `visit` raises.
        """
        until, losses = time.monotonic() + self.call_timeout, 0
        while True:
            at = placement()
            slot = at.slot if at is not None and at.valid else self._pick(until)
            generation = slot.generation
            if not slot.lock.acquire(timeout=max(0.0, until - time.monotonic())):
                raise InfrastructureFault(f"no environment worker had time within {self.call_timeout:g} s")
            try:
                if not (slot.ready and slot.generation == generation):
                    continue  # lost while this call was queued: this uses up no retry
                return visit(slot)
            except WorkerLost as error:
                losses += 1
                if losses > self.settings.retries or self.closed:
                    raise InfrastructureFault(f"{losses} environment workers were lost in this call; the last: {error}") from error
            finally:
                slot.lock.release()

    def call_environment(self, method: str, *arguments: Any, timeout: float = 0.0, **named: Any) -> Any:
        """Call a method of the environment itself on the least busy worker; `timeout` as in `WorkerSlot.ask`."""

        def visit(slot: WorkerSlot) -> Any:
            with self.changed:
                slot.load += 1
            try:
                return slot.ask("environment", method, arguments, named, timeout=timeout)
            finally:
                with self.changed:
                    slot.load = max(0, slot.load - 1)

        return self.call(visit)

    def hello(self) -> Hello:
        """The first answer of a worker; waits for the first one that is ready."""
        return self._pick(time.monotonic() + self.call_timeout).hello

    def _pick(self, until: float) -> WorkerSlot:
        """The least busy slot that is ready; waits for one until `until` on the monotonic clock."""
        with self.changed:
            while True:
                if self.closed:
                    raise InfrastructureFault("the environment's workers were stopped")
                if ready := [slot for slot in self.slots if slot.ready]:
                    return min(ready, key=lambda slot: slot.load)
                failures = [slot.failure for slot in self.slots if slot.failure]
                if len(failures) == len(self.slots):
                    raise failures[0]
                left = until - time.monotonic()
                if left <= 0:
                    raise InfrastructureFault(f"no environment worker was ready within {self.call_timeout:g} s")
                self.changed.wait(left)

    def add_lost(self, reason: str) -> None:
        """Note why a worker was lost."""
        with self.changed:
            self._lost.append(reason)

    def take_lost(self) -> list[str]:
        """Why workers were lost since the last call of this, one text each."""
        with self.changed:
            found, self._lost = self._lost, []
        return found

    def close(self) -> None:
        """End all workers and the executor; calls under way fail. Harmless a second time."""
        with self.changed:
            if self.closed:
                return
            self.closed = True
            self.changed.notify_all()
        ending = [threading.Thread(target=slot.close, name="coevolve-worker-end") for slot in self.slots]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join()
        self.executor.close()
