"""The environment as the loop sees it when workers do its work: the same contract, each call carried out elsewhere.

Episodes are functions of their task and the texts so far, so one whose worker was lost is opened again and led there; nobody notices.
"""

import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, ClassVar, cast

import attrs

from .config import Config
from .contracts import Environment, Executor
from .crew import Crew, RaisedOnWorker, Seat, Station
from .episodes import Limits
from .errors import UserError, WorkerLost
from .far_end import Opened, PickledEnvironment
from .model import Action, Description, Message, Observation, Step, Task, TaskKeys, Trajectory
from .registry import Registry

NUMBERS = itertools.count()
"""Of episodes and snapshots in this process."""
AHEAD = 2
"""Threads a worker: while it answers one of them, the next has its request ready."""


class Mark:
    """A snapshot: what leads to it, and where a worker keeps it."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.number, self.texts = next(NUMBERS), texts
        self.kept_by: int | None = None
        """The number that the episode had then; under another one its worker knows nothing of this."""


class RemoteEpisode:
    """An Episode that lives on a worker."""

    def __init__(self, crew: Crew, task: Task) -> None:
        self._crew, self._task = crew, task
        self._number = -1
        """Another one each time that it is opened."""
        self._texts: list[str] = []
        self._seat: Seat | None = None
        self._dropped: list[int] = []
        self.messages: Sequence[Message] = ()
        self.tools: Sequence[dict[str, Any]] | None = None
        self._visit(lambda station: None)

    def _visit(self, then: Callable[[Station], Any]) -> Any:
        """Ask the worker where the episode is open; open it there first if it is not."""

        def visit(station: Station) -> Any:
            if self._seat is None or not (self._seat.taken and self._seat.station is station):
                self._open(station)
            return then(station)

        return self._crew.call(visit, lambda: self._seat)

    def _open(self, station: Station) -> None:
        texts, before, number = tuple(self._texts), self._number, next(NUMBERS)
        timeout = self._crew.replay_timeout if texts else 0.0
        opened: Opened = station.ask("open", number, self._task, texts, before, timeout=timeout)
        self._number = number
        self.messages, self.tools = opened.messages, opened.tools
        if opened.metrics:
            self.metrics = self._metrics
        with self._crew.changed:
            if self._seat is None or not self._seat.taken:
                station.load += 1
            self._seat = Seat(station, station.incarnation)

    def _metrics(self) -> Mapping[str, float]:
        """optional.HasMetrics, for an episode that has it."""
        return cast(Mapping[str, float], self._ask("metrics"))

    def _ask(self, method: str, *arguments: Any) -> Any:
        return self._visit(lambda station: station.ask("episode", self._number, method, arguments))

    def step(self, text: str) -> Observation:
        seen = self._ask("step", text)
        self._texts.append(text)
        return cast(Observation, seen)

    def score(self) -> float:
        return cast(float, self._ask("score"))

    def state(self) -> str:
        return cast(str, self._ask("state"))

    def snapshot(self) -> Mark:
        mark, dropped = Mark(tuple(self._texts)), tuple(self._dropped)

        def visit(station: Station) -> None:
            station.ask("snapshot", self._number, mark.number, dropped)
            mark.kept_by = self._number

        self._visit(visit)
        del self._dropped[: len(dropped)]
        weakref.finalize(mark, self._dropped.append, mark.number).atexit = False
        return mark

    def restore(self, snapshot: Mark) -> None:
        self._texts = list(snapshot.texts)  # from now on it stands here: should its worker be lost, this is what it is led to again

        def visit(station: Station) -> None:
            if snapshot.kept_by == self._number:
                station.ask("restore", self._number, snapshot.number)
            else:  # the snapshot was lost with its worker
                self._open(station)

        self._visit(visit)

    def close(self) -> None:
        seat, self._seat = self._seat, None
        if seat is None or not seat.taken:
            return  # it ended with its worker
        with seat.station.lock, suppress(WorkerLost):
            if seat.taken:
                with self._crew.changed:
                    seat.station.load -= 1
                seat.station.ask("close", self._number)

    def __enter__(self) -> "RemoteEpisode":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class RemoteEnvironment:
    """An Environment whose calls are carried out by a crew."""

    name: ClassVar[str]
    Options: ClassVar[type[Any]] = object

    def __init__(self, name: str, crew: Crew, tasks_timeout: float = 0.0) -> None:
        self.name = name  # type: ignore[misc]  # that of the environment on the workers
        self.crew, self._tasks_timeout = crew, tasks_timeout
        self._told: dict[tuple[str, ...], Any] = {}
        for method in crew.hello().optional:
            setattr(self, method, self._optional(method))

    def _optional(self, method: str) -> Callable[..., Any]:
        return lambda *arguments: self.crew.any(method, *arguments)

    def _once(self, *call: str, timeout: float = 0.0) -> Any:
        """What is the same each time is fetched once."""
        if call not in self._told:
            self._told[call] = self.crew.any(*call, timeout=timeout)
        return self._told[call]

    def splits(self) -> tuple[str, ...]:
        return cast(tuple[str, ...], self._once("splits", timeout=self._tasks_timeout))

    def tasks(self, split: str) -> Sequence[Task]:
        return cast(Sequence[Task], self._once("tasks", split, timeout=self._tasks_timeout))

    def open(self, task: Task) -> Any:
        return RemoteEpisode(self.crew, task)

    def describe(self) -> Description:
        return cast(Description, self._once("describe"))

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        return cast(tuple[str, ...], self.crew.any("patterns", trajectory))

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        return cast(tuple[str, ...], self.crew.any("script", actions))

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        return cast(Task | None, self.crew.any("compose", start, steps, task_id, query))

    def keys(self, task: Task) -> TaskKeys:
        return cast(TaskKeys, self.crew.any("keys", task))


@contextmanager
def placed(config: Config, registry: Registry) -> Iterator[Environment]:
    """The configured environment, its work done where the configured executor says; afterwards no worker is left."""
    component: Any = registry.component("environment", config.environment.name)
    if config.executor is None:
        yield component(config.environment.options)
        return
    executor: Executor = registry.component("executor", config.executor.name)(config.executor.options)
    crew: Crew | None = None
    try:
        source = PickledEnvironment.of(component, config.environment.options)
        crew = Crew(executor, executor.open(), source, config.step_timeout)
        yield cast(Environment, _met(config, crew))
    finally:
        if crew is None:
            executor.close()
        else:
            crew.close()


def _met(config: Config, crew: Crew) -> RemoteEnvironment:
    """The environment, once a worker has made it."""
    name = config.environment.name
    try:
        return RemoteEnvironment(name, crew, config.tasks_timeout)
    except RaisedOnWorker as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        fix = "mend the environment, or see with executor.name=threads where it fails"
        raise UserError(f"environment {name!r} cannot be made in a worker of executor {crew.executor.name!r} ({why}): {fix}") from error


def limits_for(environment: Environment, limits: Limits) -> Limits:
    """`limits` with threads and deadlines that fit where the environment's work is done: workers keep their own, shorter deadlines."""
    if not isinstance(environment, RemoteEnvironment):
        return limits
    crew = environment.crew
    return attrs.evolve(limits, timeout=crew.longest, workers=max(limits.workers, AHEAD * len(crew.stations)))


def lost_workers(environment: Environment) -> list[str]:
    """Why workers were lost since this was asked last."""
    return environment.crew.lost() if isinstance(environment, RemoteEnvironment) else []
