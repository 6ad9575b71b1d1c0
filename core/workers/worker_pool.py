"""The near end of an executor: its workers, who is asked what, and what happens when one of them is lost.

An episode lives on one worker. A worker that dies, or that is stopped because it passed a deadline, is replaced; its episodes are opened
again on workers that are ready, from their tasks and the texts so far. The call that was under way is repeated at most
`WorkerSettings.retries` times. Calls that were queued on a lost worker do not use up a retry. Every wait has a deadline.
"""

import pickle
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen

from ..contracts import EnvironmentSource, Executor, Worker, WorkerSettings
from ..errors import InfrastructureFault, WorkerLost
from .worker_server import OURS, Hello

T = TypeVar("T")
GRACE = 10.0
"""Seconds that a worker has to end by itself."""


class RaisedOnWorker(Exception):
    """Base of the classes that stand for what an environment raised on a worker; they carry the original class's name."""


def unpack(reply: bytes) -> Any:
    """The value in an answer; raises what was raised on the worker, with the traceback from there as a note."""
    done, found = pickle.loads(reply)  # written by worker_server.py in a worker that this program started
    if done:
        return found
    name, text, trace = found
    error = OURS[name](text) if name in OURS else type(name, (RaisedOnWorker,), {})(text)
    if trace:
        error.add_note(f"On the worker:\n{trace}")
    raise error


@frozen
class Placement:
    """Where an episode lives: a slot, and which of its workers, counted from 1."""

    slot: "WorkerSlot"
    generation: int

    @property
    def taken(self) -> bool:
        """Whether that worker is still there."""
        return self.slot.ready and self.slot.generation == self.generation


class WorkerSlot:
    """The place of one worker, and of its successors."""

    def __init__(self, pool: "WorkerPool") -> None:
        self._pool = pool
        self.lock = threading.Lock()
        """Held while the worker is asked."""
        self.ready = False
        self.generation = 0
        self.load = 0
        """Episodes that live here, and calls under way."""
        self.hello: Hello
        self.failure: Exception | None = None
        """Why there will be no worker here any more."""
        self._worker: Worker | None = None
        self._starting: threading.Thread | None = None

    def start(self) -> None:
        """Bring a worker up, in a thread of its own."""
        self._starting = threading.Thread(target=self._bring_up, daemon=True, name="coevolve-worker-start")
        self._starting.start()

    def _bring_up(self) -> None:
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
                pool.tell(reason)
            except Exception as error:  # noqa: BLE001 - of the environment or the executor; whoever calls gets it
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
        """The worker's answer within `timeout` seconds (0: those of a call). The caller holds `lock`.

        WorkerLost when the worker is gone. One that passes the deadline is stopped: there is no other way to end what it does.
        """
        seconds = timeout or self._pool.timeout
        assert self._worker is not None
        try:
            reply = self._worker.ask(pickle.dumps((method, arguments)), seconds)
        except TimeoutError:
            self._lose(f"stopped after {seconds:g} s without an answer")
            raise InfrastructureFault(f"no answer within {seconds:g} s") from None
        except BaseException as error:  # when it was interrupted, the answer may still come, to the wrong question
            self._lose(str(error) or type(error).__name__)
            raise
        return unpack(reply)

    def _lose(self, reason: str) -> None:
        with self._pool.changed:
            self.ready, self.load = False, 0
        self._end(0)
        if not self._pool.closed:
            self._pool.tell(reason)
            self.start()

    def _end(self, grace: float) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop(grace)

    def close(self) -> None:
        """End the worker, politely unless it is busy or only starts; wait for the end of what starts it."""
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
    """The workers of one environment. `timeout`: seconds for one call of the environment."""

    def __init__(self, executor: Executor, settings: WorkerSettings, source: EnvironmentSource, timeout: float) -> None:
        self.executor, self.settings, self.source, self.timeout = executor, settings, source, timeout
        self.changed = threading.Condition()
        self.closed = False
        self.patience = (1 + settings.retries) * (settings.start_timeout + 2 * timeout)
        """Seconds after which a call is given up, whatever happened to it: its own tries and waiting for workers."""
        self.replay_timeout = settings.start_timeout + timeout
        """Seconds for opening an episode again at the point that it had reached."""
        self._lost: list[str] = []
        self.slots = tuple(WorkerSlot(self) for _ in range(settings.workers))
        for slot in self.slots:
            slot.start()

    @property
    def longest(self) -> float:
        """Seconds that no call can pass: for a watch from outside."""
        return self.patience + self.replay_timeout + 2 * self.timeout

    def call(self, visit: Callable[[WorkerSlot], T], placement: Callable[[], Placement | None] = lambda: None) -> T:
        """Let `visit` ask a worker, that in `placement` if it is still there; again with another one when it is lost meanwhile."""
        until, lost = time.monotonic() + self.patience, 0
        while True:
            at = placement()
            slot = at.slot if at is not None and at.taken else self._pick(until)
            generation = slot.generation
            if not slot.lock.acquire(timeout=max(0.0, until - time.monotonic())):
                raise InfrastructureFault(f"no environment worker had time within {self.patience:g} s")
            try:
                if not (slot.ready and slot.generation == generation):
                    continue  # lost while this call waited: it is not to blame
                return visit(slot)
            except WorkerLost as error:
                lost += 1
                if lost > self.settings.retries or self.closed:
                    raise InfrastructureFault(f"{lost} environment workers were lost in this call; the last: {error}") from error
            finally:
                slot.lock.release()

    def any(self, method: str, *arguments: Any, timeout: float = 0.0, **named: Any) -> Any:
        """A call of the environment itself, by whichever worker has least to do; `timeout` as in `WorkerSlot.ask`."""

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
        """What the first worker that is ready says of itself."""
        return self._pick(time.monotonic() + self.patience).hello

    def _pick(self, until: float) -> WorkerSlot:
        """The ready slot with least to do; waits for one until `until`."""
        with self.changed:
            while True:
                if self.closed:
                    raise InfrastructureFault("the environment's workers were ended")
                if ready := [slot for slot in self.slots if slot.ready]:
                    return min(ready, key=lambda slot: slot.load)
                failures = [slot.failure for slot in self.slots if slot.failure]
                if len(failures) == len(self.slots):
                    raise failures[0]
                left = until - time.monotonic()
                if left <= 0:
                    raise InfrastructureFault(f"no environment worker was ready within {self.patience:g} s")
                self.changed.wait(left)

    def tell(self, reason: str) -> None:
        """Count a worker that was lost."""
        with self.changed:
            self._lost.append(reason)

    def lost(self) -> list[str]:
        """Why workers were lost since this was asked last, one text each."""
        with self.changed:
            found, self._lost = self._lost, []
        return found

    def close(self) -> None:
        """End all workers; calls under way fail."""
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
