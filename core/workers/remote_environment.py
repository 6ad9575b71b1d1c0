"""The environment as the loop sees it when workers do its work: the same contract, each call carried out elsewhere.

Episodes are functions of their task and the texts so far, so one whose worker was lost is opened again and led there; nobody notices.
"""

import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, ClassVar, cast

from ..contracts import Environment, Executor
from ..errors import UserError, WorkerLost
from ..model import Action, Description, Message, Observation, Step, Task, TaskKeys, Trajectory
from ..registry import Registry
from ..settings.config import Config
from .worker_pool import Placement, RaisedOnWorker, WorkerPool, WorkerSlot
from .worker_server import Opened, PickledEnvironment

NUMBERS = itertools.count()
"""Of episodes and snapshots in this process."""
AHEAD = 2
"""Threads a worker: while it answers one of them, the next has its request ready."""


class SnapshotHandle:
    """A snapshot: what leads to it, and where a worker keeps it."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.number, self.texts = next(NUMBERS), texts
        self.kept_under: int | None = None
        """The number that the episode had then; under another one its worker knows nothing of this."""


class RemoteEpisode:
    """An Episode that lives on a worker."""

    def __init__(self, pool: WorkerPool, task: Task) -> None:
        self._pool, self._task = pool, task
        self._number = -1
        """Another one each time that it is opened."""
        self._texts: list[str] = []
        self._placement: Placement | None = None
        self._dropped: list[int] = []
        self.messages: Sequence[Message] = ()
        self.tools: Sequence[dict[str, Any]] | None = None
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
        if opened.metrics:
            self.metrics = self._metrics
        with self._pool.changed:
            if self._placement is None or not self._placement.taken:
                slot.load += 1
            self._placement = Placement(slot, slot.generation)

    def _metrics(self) -> Mapping[str, float]:
        """optional.HasMetrics, for an episode that has it."""
        return cast(Mapping[str, float], self._ask("metrics"))

    def _ask(self, method: str, *arguments: Any) -> Any:
        return self._visit(lambda slot: slot.ask("episode", self._number, method, arguments))

    def step(self, text: str) -> Observation:
        seen = self._ask("step", text)
        self._texts.append(text)
        return cast(Observation, seen)

    def score(self) -> float:
        return cast(float, self._ask("score"))

    def state(self) -> str:
        return cast(str, self._ask("state"))

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

    def __enter__(self) -> "RemoteEpisode":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class RemoteEnvironment:
    """An Environment whose calls are carried out by a pool."""

    name: ClassVar[str]
    Options: ClassVar[type[Any]] = object

    def __init__(self, name: str, pool: WorkerPool, tasks_timeout: float = 0.0) -> None:
        self.name = name  # type: ignore[misc]  # that of the environment on the workers
        self.pool, self._tasks_timeout = pool, tasks_timeout
        self._told: dict[tuple[str, ...], Any] = {}
        for method in pool.hello().optional:
            setattr(self, method, self._optional(method))

    def _optional(self, method: str) -> Callable[..., Any]:
        return lambda *arguments: self.pool.any(method, *arguments)

    def _once(self, *call: str, timeout: float = 0.0) -> Any:
        """What is the same each time is fetched once."""
        if call not in self._told:
            self._told[call] = self.pool.any(*call, timeout=timeout)
        return self._told[call]

    def splits(self) -> tuple[str, ...]:
        return cast(tuple[str, ...], self._once("splits", timeout=self._tasks_timeout))

    def tasks(self, split: str) -> Sequence[Task]:
        return cast(Sequence[Task], self._once("tasks", split, timeout=self._tasks_timeout))

    def open(self, task: Task) -> Any:
        return RemoteEpisode(self.pool, task)

    def describe(self) -> Description:
        return cast(Description, self._once("describe"))

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        return cast(tuple[str, ...], self.pool.any("patterns", trajectory))

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        return cast(tuple[str, ...], self.pool.any("script", actions))

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        return cast(Task | None, self.pool.any("compose", start, steps, task_id, query))

    def keys(self, task: Task) -> TaskKeys:
        return cast(TaskKeys, self.pool.any("keys", task))


@contextmanager
def placed_environment(config: Config, registry: Registry) -> Iterator[Environment]:
    """The configured environment, its work done where the configured executor says; afterwards no worker is left."""
    component: Any = registry.component("environment", config.environment.name)
    if config.executor is None:
        yield component(config.environment.options)
        return
    executor: Executor = registry.make("executor", config.executor)
    pool: WorkerPool | None = None
    try:
        source = PickledEnvironment.of(component, config.environment.options)
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
    try:
        return RemoteEnvironment(name, pool, config.tasks_timeout)
    except RaisedOnWorker as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        fix = "mend the environment, or see with executor.name=threads where it fails"
        raise UserError(f"environment {name!r} cannot be made in a worker of executor {pool.executor.name!r} ({why}): {fix}") from error


def worker_limits(environment: Environment) -> tuple[float, int] | None:
    """Seconds that no call can pass and threads that keep all workers busy; None where the environment runs in this process."""
    if not isinstance(environment, RemoteEnvironment):
        return None
    return environment.pool.longest, AHEAD * len(environment.pool.slots)


def lost_workers(environment: Environment) -> list[str]:
    """Why workers were lost since this was asked last."""
    return environment.pool.lost() if isinstance(environment, RemoteEnvironment) else []
