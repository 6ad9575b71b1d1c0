"""The environment as the loop sees it when workers do its work: the same contract, each call carried out elsewhere.

Episodes are functions of their task and the texts so far, so one whose worker was lost is opened again and led there; nobody notices.
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
"""Of episodes and snapshots in this process."""
CONSTANT = ("splits", "tasks", "describe")
"""Methods whose results are fetched once: they are the same each time."""
AHEAD = 2
"""Threads a worker: while it answers one of them, the next has its request ready."""


class SnapshotHandle:
    """A snapshot: what leads to it, and where a worker keeps it."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.number, self.texts = next(NUMBERS), texts
        self.kept_under: int | None = None
        """The number that the episode had then; under another one its worker knows nothing of this."""


class RemoteEpisode(EpisodeStandIn):
    """An Episode that lives on a worker."""

    def __init__(self, pool: WorkerPool, task: Task) -> None:
        self._pool, self._task = pool, task
        self._number = -1
        """Another one each time that it is opened."""
        self._texts: list[str] = []
        self._placement: Placement | None = None
        self._dropped: list[int] = []
        self._visit(lambda slot: None)

    def _visit(self, then: Callable[[WorkerSlot], Any]) -> Any:
        """Ask the worker where the episode is open; open it there first if it is not."""

        def visit(slot: WorkerSlot) -> Any:
            if self._placement is None or not (self._placement.taken and self._placement.slot is slot):
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
            if self._placement is None or not self._placement.taken:
                slot.load += 1
            self._placement = Placement(slot, slot.generation)

    def _forward(self, method: str, *arguments: Any) -> Any:
        return self._visit(lambda slot: slot.ask("episode", self._number, method, arguments))

    def step(self, text: str) -> Observation:
        seen: Observation = self._forward("step", text)
        self._texts.append(text)
        return seen

    def snapshot(self) -> SnapshotHandle:
        mark, dropped = SnapshotHandle(tuple(self._texts)), tuple(self._dropped)

        def visit(slot: WorkerSlot) -> None:
            slot.ask("snapshot", self._number, mark.number, dropped)
            mark.kept_under = self._number

        self._visit(visit)
        del self._dropped[: len(dropped)]
        weakref.finalize(mark, self._dropped.append, mark.number).atexit = False
        return mark

    def restore(self, snapshot: SnapshotHandle) -> None:
        self._texts = list(snapshot.texts)  # from now on it stands here: should its worker be lost, this is what it is led to again

        def visit(slot: WorkerSlot) -> None:
            if snapshot.kept_under == self._number:
                slot.ask("restore", self._number, snapshot.number)
            else:  # the snapshot was lost with its worker
                self._open(slot)

        self._visit(visit)

    def close(self) -> None:
        placement, self._placement = self._placement, None
        if placement is None or not placement.taken:
            return  # it ended with its worker
        with placement.slot.lock, suppress(WorkerLost):
            if placement.taken:
                with self._pool.changed:
                    placement.slot.load -= 1
                placement.slot.ask("close", self._number)


class RemoteEnvironment(EnvironmentStandIn):
    """An Environment whose calls are carried out by a pool. Its workers check the values."""

    def __init__(self, name: str, pool: WorkerPool, tasks_timeout: float = 0.0) -> None:
        self.pool, self._tasks_timeout = pool, tasks_timeout
        self._fetched: dict[tuple[Any, ...], Any] = {}
        super().__init__(name, pool.hello().optional)

    def _forward(self, method: str, *arguments: Any, **named: Any) -> Any:
        if method not in CONSTANT:
            return self.pool.any(method, *arguments, **named)
        if (method, *arguments) not in self._fetched:
            timeout = self._tasks_timeout if method in ("splits", "tasks") else 0.0
            self._fetched[method, *arguments] = self.pool.any(method, *arguments, timeout=timeout)
        return self._fetched[method, *arguments]

    def open(self, task: Task) -> Any:
        return RemoteEpisode(self.pool, task)


@contextmanager
def placed_environment(config: Config, registry: Registry) -> Iterator[Environment]:
    """The configured environment, its work done where the configured executor says; afterwards no worker is left."""
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
    """The environment, once a worker has made it."""
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
    return environment.pool.lost() if isinstance(environment, RemoteEnvironment) else []
