"""The environment as synthesizers and validators see it: each call has a deadline, each failure is an InfrastructureFault that names it.

So a plugin that explores need not guard itself against an environment that raises or hangs. The plugin's own code runs in a thread that
is watched (`Guard.run`, `Guard.each`); its calls of the environment say when they begin and end.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, ClassVar, TypeVar, cast

from ..contracts import Environment, Episode
from ..errors import CoevolveError, InfrastructureFault, UserError, did_you_mean
from ..model import Action, Description, Message, Observation, Step, Task, TaskKeys, Trajectory
from . import returned_values
from .deadlines import CallWatch, DeadlinePool, TimeLimit, TimeLimitExceeded

T = TypeVar("T")


def _guarded(watch: "ThreadAwareWatch", where: str, function: Callable[[], T]) -> T:
    try:
        return watch.call(function)
    except Exception as error:
        raise InfrastructureFault(f"environment failed in {where}: {type(error).__name__}: {error}") from error


def _bounded(environment: Environment, what: str, function: Callable[[], T], timeout: float) -> T:
    """What the environment tells at the start, or its failure in one line; `timeout` leaves it time to fetch its data."""
    late = f"environment {environment.name!r} did not tell its {what} within {timeout:g} s; if it needs longer, set tasks_timeout to more"
    pool = DeadlinePool()
    try:
        return pool.supervise(function, CallWatch(), TimeLimit(timeout, late))
    except CoevolveError:
        raise
    except Exception as error:
        raise InfrastructureFault(f"environment {environment.name!r} cannot tell its {what}: {type(error).__name__}: {error}") from error
    finally:
        pool.close()


def splits_of(environment: Environment, timeout: float) -> tuple[str, ...]:
    """The environment's splits; UserError or InfrastructureFault, one line, when it cannot tell them within `timeout` seconds."""
    return _bounded(environment, "splits", lambda: tuple(environment.splits()), timeout)


def check_split(environment: Environment, split: str, timeout: float) -> None:
    """UserError for a split that there is not."""
    splits = splits_of(environment, timeout)
    if split not in splits:
        raise UserError(f"environment {environment.name!r} has no split {split!r}{did_you_mean(split, splits)}")


def tasks_of(environment: Environment, split: str, timeout: float) -> tuple[Task, ...]:
    """The tasks of a split; UserError or InfrastructureFault, one line, when it has none to give within `timeout` seconds."""
    check_split(environment, split, timeout)
    return _bounded(environment, "tasks", lambda: tuple(returned_values.tasks(environment.tasks(split))), timeout)


NOBODY = 0
"""Sentinel thread id: no thread owns the guard."""


class ThreadAwareWatch(CallWatch):
    """Watches calls of the environment in place when the thread that runs the plugin makes them.

    Calls from threads that the plugin started itself go through `others`, where each has its own deadline.
    """

    def __init__(self, others: DeadlinePool) -> None:
        super().__init__()
        self.owner: int | None = None
        self._others = others

    def call(self, function: Callable[[], T]) -> T:
        if self.owner in (None, threading.get_ident()):
            with self.calling():
                return function()
        result = self._others.map([function])[0]
        if isinstance(result, Exception):
            raise result
        return result


class Guard:
    """Runs plugin code over the guarded `environment`. `workers`: calls at once of a plugin that explores in several threads; `limit`: for
    one item of `each`."""

    def __init__(self, environment: Environment, timeout: float, workers: int = 1, limit: TimeLimit | None = None) -> None:
        self._others = DeadlinePool(workers, timeout)
        self._watch = ThreadAwareWatch(self._others)
        self._pool = DeadlinePool(1, timeout)
        self._limit = limit
        self._late: threading.Lock | None = None
        """Locked while the abandoned synthesizer call is still running."""
        self.environment: Environment = GuardedEnvironment(environment, self._watch)

    def run(self, function: Callable[[], T], limit: TimeLimit | None = None) -> T:
        """The function's result; InfrastructureFault when the environment failed in it or did not answer in time."""

        def owned() -> T:
            self._watch.owner = threading.get_ident()
            return function()

        try:
            return self._pool.supervise(owned, self._watch, limit)
        except InfrastructureFault:
            self._watch.started, self._watch.owner = None, NOBODY
            raise

    def each(self, make: Callable[[], Iterable[T]]) -> Iterator[T]:
        """The items of what `make` makes, each made under guard and within the limit; after a fault there are no more.

        A plugin that was given up for its own slowness is not entered again before it has come back.
        """
        if self._limit and self._late and self._late.locked():
            raise InfrastructureFault(f"{self._limit.text} (that was earlier, and it has not come back since)")
        making = threading.Lock()

        def guarded(function: Callable[[], Any]) -> Any:
            def made() -> Any:
                with making:
                    return function()

            try:
                return self.run(made, self._limit)
            except TimeLimitExceeded:
                self._late = making
                raise

        end = object()
        items = guarded(lambda: iter(make()))
        while (item := guarded(lambda: next(items, end))) is not end:
            yield cast(T, item)

    def close(self) -> None:
        """Let the worker threads end."""
        self._pool.close()
        self._others.close()


class GuardedEpisode:
    """An Episode whose calls go through the guard."""

    def __init__(self, episode: Episode, watch: ThreadAwareWatch) -> None:
        self._episode, self._watch = episode, watch
        self.messages: Sequence[Message] = episode.messages
        self.tools: Sequence[dict[str, Any]] | None = episode.tools

    def step(self, text: str) -> Observation:
        return _guarded(self._watch, "step", lambda: returned_values.observation(self._episode.step(text)))

    def score(self) -> float:
        return _guarded(self._watch, "score", lambda: returned_values.score(self._episode.score()))

    def snapshot(self) -> Any:
        return _guarded(self._watch, "snapshot", self._episode.snapshot)

    def restore(self, snapshot: Any) -> None:
        _guarded(self._watch, "restore", lambda: self._episode.restore(snapshot))

    def state(self) -> str:
        return _guarded(self._watch, "state", self._episode.state)

    def close(self) -> None:
        _guarded(self._watch, "close", self._episode.close)

    def __enter__(self) -> "GuardedEpisode":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class GuardedEnvironment:
    """An Environment whose calls go through the guard; everything else of the environment stays reachable."""

    name: ClassVar[str]
    Options: ClassVar[type[Any]] = object

    def __init__(self, environment: Environment, watch: ThreadAwareWatch) -> None:
        self.name = environment.name  # type: ignore[misc]  # what it guards is known by its own name
        self._environment = environment
        self._watch = watch

    def splits(self) -> tuple[str, ...]:
        return _guarded(self._watch, "splits", self._environment.splits)

    def tasks(self, split: str) -> Sequence[Task]:
        return _guarded(self._watch, "tasks", lambda: returned_values.tasks(self._environment.tasks(split)))

    def open(self, task: Task) -> Any:
        return GuardedEpisode(_guarded(self._watch, "open", lambda: returned_values.episode(self._environment.open(task))), self._watch)

    def describe(self) -> Description:
        return _guarded(self._watch, "describe", lambda: returned_values.description(self._environment.describe()))

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        return _guarded(self._watch, "patterns", lambda: returned_values.patterns(self._environment.patterns(trajectory)))

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        return _guarded(self._watch, "script", lambda: self._environment.script(actions))

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        return _guarded(self._watch, "compose", lambda: returned_values.composed(self._environment.compose(start, steps, task_id, query)))

    def keys(self, task: Task) -> TaskKeys:
        return _guarded(self._watch, "keys", lambda: returned_values.keys(self._environment.keys(task)))
