"""The environment as synthesizers and validators see it: each call has a deadline, each failure is an InfrastructureFault that names it.

A plugin that explores need not protect itself from an environment that raises or hangs. The plugin's own code runs in a watched thread
(`Guard.run`, `Guard.each`); its calls of the environment record when they begin and end.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar, cast

from ..contracts import Environment, Episode
from ..errors import CoevolveError, InfrastructureFault, UserError, boundary, did_you_mean
from ..model import Task
from .checked_environment import OPTIONAL_EPISODE_METHODS, OPTIONAL_METHODS, EnvironmentStandIn, EpisodeStandIn, checked, optional_methods
from .deadlines import CallWatch, DeadlinePool, TimeLimit, TimeLimitExceeded

T = TypeVar("T")


def _bounded(environment: Environment, what: str, function: Callable[[], T], timeout: float) -> T:
    """Call `function` at the start of a run, within `timeout` seconds (many, because data may be fetched); a failure becomes one line."""
    late = f"environment {environment.name!r} did not return its {what} within {timeout:g} s; if it needs longer, set tasks_timeout to more"
    pool = DeadlinePool()
    try:
        with boundary(InfrastructureFault, f"environment {environment.name!r} cannot return its {what}", keep=(CoevolveError,)):
            return pool.supervise(function, CallWatch(), TimeLimit(timeout, late))
    finally:
        pool.close()


def splits_of(environment: Environment, timeout: float) -> tuple[str, ...]:
    """The environment's splits; UserError or InfrastructureFault, one line, when it does not return them within `timeout` seconds."""
    return _bounded(environment, "splits", checked(environment).splits, timeout)


def check_splits(environment: Environment, wanted: Iterable[str], timeout: float) -> None:
    """UserError for a wanted split that the environment does not have. Asks it for its splits once."""
    splits = splits_of(environment, timeout)
    for split in wanted:
        if split not in splits:
            raise UserError(f"environment {environment.name!r} has no split {split!r}{did_you_mean(split, splits)}")


def tasks_of(environment: Environment, split: str, timeout: float) -> tuple[Task, ...]:
    """The tasks of a split; UserError or InfrastructureFault, one line, when it does not return them within `timeout` seconds."""
    return _bounded(environment, "tasks", lambda: tuple(checked(environment).tasks(split)), timeout)


NOBODY = 0
"""The owner after a fault: no thread has this id, so every call goes to the pool `others`."""


class ThreadAwareWatch(CallWatch):
    """Watches the calls of the environment that the guard's thread makes; they run in that thread.

    Calls from threads that the plugin started itself run in the pool `others`, where each has its own deadline.
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

    def guarded(self, method: str, function: Callable[[], T]) -> T:
        """The result of a method of the environment; InfrastructureFault, with the method's name, for whatever it raises."""
        with boundary(InfrastructureFault, f"environment failed in {method}"):
            return self.call(function)


class Guard:
    """Runs the code of plugins over the guarded `environment`. Used by one thread, that of the loop.

    `timeout`: seconds for one call of the environment. `workers`: calls at once of a plugin that explores in several threads. `limit`: the
    time limit of one item of `each`.
    """

    def __init__(self, environment: Environment, timeout: float, workers: int = 1, limit: TimeLimit | None = None) -> None:
        self._others = DeadlinePool(workers, timeout)
        self._watch = ThreadAwareWatch(self._others)
        self._pool = DeadlinePool(1, timeout)
        self._limit = limit
        self._late: threading.Lock | None = None
        """Locked while the abandoned synthesizer call is still running."""
        self.environment = cast(Environment, GuardedEnvironment(checked(environment), self._watch))

    def run(self, function: Callable[[], T], limit: TimeLimit | None = None) -> T:
        """The function's result. Raises what it raises; InfrastructureFault when the environment failed in it or a deadline passed."""

        def owned() -> T:
            self._watch.owner = threading.get_ident()
            return function()

        try:
            return self._pool.supervise(owned, self._watch, limit)
        except InfrastructureFault:
            self._watch.started, self._watch.owner = None, NOBODY
            raise

    def each(self, make: Callable[[], Iterable[T]]) -> Iterator[T]:
        """The items of the iterable that `make` returns; each must come within the limit. A fault ends the iteration.

        A plugin that passed its limit is not called again while its abandoned call is still running.
        """
        if self._limit and self._late and self._late.locked():
            raise InfrastructureFault(f"{self._limit.text} (that was earlier, and that call is still running)")
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


class GuardedEnvironment(EnvironmentStandIn):
    """An environment whose calls go through the guard."""

    def __init__(self, environment: Environment, watch: ThreadAwareWatch) -> None:
        self._environment, self._watch = environment, watch
        super().__init__(environment.name, optional_methods(environment, OPTIONAL_METHODS))

    def _forward(self, method: str, *arguments: Any, **named: Any) -> Any:
        return self._watch.guarded(method, partial(getattr(self._environment, method), *arguments, **named))

    def open(self, task: Task) -> Any:
        return GuardedEpisode(self._forward("open", task), self._watch)


class GuardedEpisode(EpisodeStandIn):
    """An episode whose calls go through the guard."""

    def __init__(self, episode: Episode, watch: ThreadAwareWatch) -> None:
        self._episode, self._watch = episode, watch
        self.messages, self.tools = episode.messages, episode.tools
        self._offer(optional_methods(episode, OPTIONAL_EPISODE_METHODS))

    def _forward(self, method: str, *arguments: Any) -> Any:
        return self._watch.guarded(method, partial(getattr(self._episode, method), *arguments))
