"""The environment as core sees it when workers do its work: the same contract, each call carried out by a worker.

Episodes are functions of their task and the texts so far. An episode whose worker was lost is opened again on another worker, which replays
the texts; the trajectory stays the same.
"""

import itertools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from ..contracts import Environment, Executor
from ..errors import UserError, WorkerLost, boundary
from ..isolation.checked_environment import EnvironmentStandIn, EpisodeStandIn, checked
from ..model import Observation, Task
from ..registry import Registry
from ..settings.config import Config
from .worker_pool import Placement, RaisedOnWorker, WorkerPool, WorkerSlot
from .worker_server import Opened, PickledEnvironment

NUMBERS = itertools.count()
"""Numbers of episodes and snapshots in this process."""
CONSTANT = ("splits", "tasks", "describe")
"""Methods whose results are fetched once: they are the same each time."""
AHEAD = 2
"""Threads a worker: while the worker answers one thread, the next one has its request ready."""


class SnapshotHandle:
    """A snapshot of a remote episode: the texts that lead to it, and the worker's number for it. The state itself stays on the worker."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.number, self.texts = next(NUMBERS), texts
        self.episode_number: int | None = None
        """The episode's number when the snapshot was taken; an episode that was opened again has another one, and no snapshots."""


class RemoteEpisode(EpisodeStandIn):
    """An episode that lives on a worker."""

    def __init__(self, pool: WorkerPool, task: Task) -> None:
        self._pool, self._task = pool, task
        self._number = -1
        """A new one each time that it is opened."""
        self._texts: list[str] = []
        self._placement: Placement | None = None
        self._dropped: list[int] = []
        self._with_worker(lambda slot: None)

    def _with_worker(self, then: Callable[[WorkerSlot], Any]) -> Any:
        """`then(slot)` with the worker on which the episode is open; opens it first where it is not."""

        def visit(slot: WorkerSlot) -> Any:
            if self._placement is None or not (self._placement.valid and self._placement.slot is slot):
                self._open(slot)
            return then(slot)

        return self._pool.call(visit, lambda: self._placement)

    def _open(self, slot: WorkerSlot) -> None:
        texts, before, number = tuple(self._texts), self._number, next(NUMBERS)
        timeout = self._pool.replay_timeout if texts else 0.0
        opened: Opened = slot.ask("open", number, self._task, texts, before, timeout=timeout)
        self._number = number
        self.messages, self.tools = opened.messages, opened.tools
        self._offer(opened.optional)
        with self._pool.changed:
            if self._placement is None or not self._placement.valid:
                slot.load += 1
            self._placement = Placement(slot, slot.generation)

    def _forward(self, method: str, *arguments: Any) -> Any:
        return self._with_worker(lambda slot: slot.ask("episode", self._number, method, arguments))

    def step(self, text: str) -> Observation:
        seen: Observation = self._forward("step", text)
        self._texts.append(text)
        return seen

    def snapshot(self) -> SnapshotHandle:
        handle, dropped = SnapshotHandle(tuple(self._texts)), tuple(self._dropped)

        def visit(slot: WorkerSlot) -> None:
            slot.ask("snapshot", self._number, handle.number, dropped)
            handle.episode_number = self._number

        self._with_worker(visit)
        del self._dropped[: len(dropped)]
        weakref.finalize(handle, self._dropped.append, handle.number).atexit = False
        return handle

    def restore(self, snapshot: SnapshotHandle) -> None:
        self._texts = list(snapshot.texts)  # what is replayed from now on, should its worker be lost

        def visit(slot: WorkerSlot) -> None:
            if snapshot.episode_number == self._number:
                slot.ask("restore", self._number, snapshot.number)
            else:  # the snapshot was lost with its worker
                self._open(slot)

        self._with_worker(visit)

    def close(self) -> None:
        placement, self._placement = self._placement, None
        if placement is None or not placement.valid:
            return  # it ended with its worker
        with placement.slot.lock, suppress(WorkerLost):
            if placement.valid:
                with self._pool.changed:
                    placement.slot.load -= 1
                placement.slot.ask("close", self._number)


class RemoteEnvironment(EnvironmentStandIn):
    """An environment whose calls are carried out by a pool of workers, which check the returned values."""

    def __init__(self, name: str, pool: WorkerPool, tasks_timeout: float = 0.0) -> None:
        self.pool, self._tasks_timeout = pool, tasks_timeout
        self._fetched: dict[tuple[Any, ...], Any] = {}
        super().__init__(name, pool.hello().optional)

    def _forward(self, method: str, *arguments: Any, **named: Any) -> Any:
        if method not in CONSTANT:
            return self.pool.call_environment(method, *arguments, **named)
        if (method, *arguments) not in self._fetched:
            timeout = self._tasks_timeout if method in ("splits", "tasks") else 0.0
            self._fetched[method, *arguments] = self.pool.call_environment(method, *arguments, timeout=timeout)
        return self._fetched[method, *arguments]

    def open(self, task: Task) -> Any:
        return RemoteEpisode(self.pool, task)


@contextmanager
def placed_environment(config: Config, registry: Registry) -> Iterator[Environment]:
    """The configured environment, run where the configured executor runs it; afterwards no worker is left."""
    component: Any = registry.component("environment", config.environment.name)
    splits = tuple(dict.fromkeys((config.train_split, config.evaluation.split)))
    if config.executor is None:
        yield checked(component(config.environment.options), splits)
        return
    executor: Executor = registry.make("executor", config.executor)
    pool: WorkerPool | None = None
    try:
        source = PickledEnvironment.of(component, config.environment.options, splits)
        pool = WorkerPool(executor, executor.open(), source, config.step_timeout)
        yield cast(Environment, _connected(config, pool))
    finally:
        if pool is None:
            executor.close()
        else:
            pool.close()


def _connected(config: Config, pool: WorkerPool) -> RemoteEnvironment:
    """The environment, as soon as the first worker has made it."""
    name = config.environment.name
    with boundary(
        UserError,
        f"environment {name!r} cannot be made in a worker of executor {pool.executor.name!r}",
        catch=RaisedOnWorker,
        fix="mend the environment, or see with executor.name=threads where it fails",
    ):
        return RemoteEnvironment(name, pool, config.tasks_timeout)


def worker_limits(environment: Environment) -> tuple[float, int] | None:
    """Seconds that no call can pass and threads that keep all workers busy; None where the environment runs in this process."""
    if not isinstance(environment, RemoteEnvironment):
        return None
    return environment.pool.longest, AHEAD * len(environment.pool.slots)


def lost_workers(environment: Environment) -> list[str]:
    """Why workers were lost since this was asked last."""
    return environment.pool.take_lost() if isinstance(environment, RemoteEnvironment) else []
