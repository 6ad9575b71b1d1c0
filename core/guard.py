"""The environment as synthesizers and validators see it: each call has a deadline, each failure is an InfrastructureFault that names it.

So a plugin that explores need not guard itself against an environment that raises or hangs. The plugin's own code runs in a thread that
is watched (`Guard.run`, `Guard.each`); its calls of the environment say when they begin and end.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, TypeVar, cast

from . import answers
from .contracts import Environment, Episode
from .deadline import DeadlinePool, Watch
from .errors import CoevolveError, InfrastructureFault, UserError, did_you_mean
from .model import Action, Description, Message, Observation, Step, Task, TaskKeys, Trajectory

T = TypeVar("T")


def _guarded(watch: "Watching", where: str, function: Callable[[], T]) -> T:
    try:
        return watch.call(function)
    except Exception as error:
        raise InfrastructureFault(f"environment failed in {where}: {type(error).__name__}: {error}") from error


@contextmanager
def _told(environment: Environment, what: str) -> Iterator[None]:
    """The environment's own failure as one line; there is no deadline, because it may be fetching its data."""
    try:
        yield
    except CoevolveError:
        raise
    except Exception as error:
        raise InfrastructureFault(f"environment {environment.name!r} cannot tell its {what}: {type(error).__name__}: {error}") from error


def check_split(environment: Environment, split: str) -> None:
    """UserError for a split that there is not."""
    with _told(environment, "splits"):
        splits = tuple(environment.splits())
    if split not in splits:
        raise UserError(f"environment {environment.name!r} has no split {split!r}{did_you_mean(split, splits)}")


def tasks_of(environment: Environment, split: str) -> tuple[Task, ...]:
    """The tasks of a split; UserError or InfrastructureFault, one line, when it has none to give."""
    check_split(environment, split)
    with _told(environment, "tasks"):
        return tuple(answers.tasks(environment.tasks(split)))


class Watching(Watch):
    """Calls of the environment by the thread that runs the plugin are watched in place; those of threads that the plugin started itself go
    through `others`, where each has its own deadline."""

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
    """Runs plugin code over the guarded `environment`. `workers`: calls at once of a plugin that explores in several threads."""

    def __init__(self, environment: Environment, timeout: float, workers: int = 1) -> None:
        self._others = DeadlinePool(workers, timeout)
        self._watch = Watching(self._others)
        self._pool = DeadlinePool(1, timeout)
        self.environment: Environment = GuardedEnvironment(environment, self._watch)

    def run(self, function: Callable[[], T]) -> T:
        """The function's result; InfrastructureFault when the environment failed in it or did not answer in time."""

        def owned() -> T:
            self._watch.owner = threading.get_ident()
            return function()

        try:
            return self._pool.supervise(owned, self._watch)
        except InfrastructureFault:
            self._watch.started = None
            raise

    def each(self, items: Iterator[T]) -> Iterator[T]:
        """The same items, each made under guard; after a fault there are no more."""
        end = object()
        while (item := self.run(lambda: next(items, end))) is not end:
            yield cast(T, item)

    def close(self) -> None:
        """Let the worker threads end."""
        self._pool.close()
        self._others.close()


class GuardedEpisode:
    """An Episode whose calls go through the guard."""

    def __init__(self, episode: Episode, watch: Watching) -> None:
        self._episode, self._watch = episode, watch
        self.messages: Sequence[Message] = episode.messages
        self.tools: Sequence[dict[str, Any]] | None = episode.tools

    def step(self, text: str) -> Observation:
        return _guarded(self._watch, "step", lambda: answers.observation(self._episode.step(text)))

    def score(self) -> float:
        return _guarded(self._watch, "score", lambda: answers.score(self._episode.score()))

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

    def __init__(self, environment: Environment, watch: Watching) -> None:
        self.name = environment.name  # type: ignore[misc]  # what it guards is known by its own name
        self._environment = environment
        self._watch = watch

    def splits(self) -> tuple[str, ...]:
        return _guarded(self._watch, "splits", self._environment.splits)

    def tasks(self, split: str) -> Sequence[Task]:
        return _guarded(self._watch, "tasks", lambda: answers.tasks(self._environment.tasks(split)))

    def open(self, task: Task) -> Any:
        return GuardedEpisode(_guarded(self._watch, "open", lambda: answers.episode(self._environment.open(task))), self._watch)

    def describe(self) -> Description:
        return _guarded(self._watch, "describe", lambda: answers.description(self._environment.describe()))

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        return _guarded(self._watch, "patterns", lambda: answers.patterns(self._environment.patterns(trajectory)))

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        return _guarded(self._watch, "script", lambda: self._environment.script(actions))

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        return _guarded(self._watch, "compose", lambda: answers.composed(self._environment.compose(start, steps, task_id, query)))

    def keys(self, task: Task) -> TaskKeys:
        return _guarded(self._watch, "keys", lambda: answers.keys(self._environment.keys(task)))
