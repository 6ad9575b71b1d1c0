"""The environment as synthesizers and validators see it: each call has a deadline, each failure is an InfrastructureFault that names it.

So a plugin that explores need not guard itself against an environment that raises or hangs.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from .contracts import Environment, Episode
from .deadline import DeadlinePool
from .errors import InfrastructureFault
from .model import Action, Description, Message, Observation, Step, Task, TaskKeys, Trajectory

T = TypeVar("T")


def _guarded(pool: DeadlinePool, where: str, function: Callable[[], T]) -> T:
    try:
        return pool.call(function)
    except Exception as error:
        raise InfrastructureFault(f"environment failed in {where}: {type(error).__name__}: {error}") from error


class GuardedEpisode:
    """An Episode whose calls go through the guard."""

    def __init__(self, episode: Episode, pool: DeadlinePool) -> None:
        self._episode, self._pool = episode, pool
        self.messages: Sequence[Message] = episode.messages
        self.tools: Sequence[dict[str, Any]] | None = episode.tools

    def step(self, text: str) -> Observation:
        return _guarded(self._pool, "step", lambda: self._episode.step(text))

    def score(self) -> float:
        return _guarded(self._pool, "score", self._episode.score)

    def snapshot(self) -> Any:
        return _guarded(self._pool, "snapshot", self._episode.snapshot)

    def restore(self, snapshot: Any) -> None:
        _guarded(self._pool, "restore", lambda: self._episode.restore(snapshot))

    def state(self) -> str:
        return _guarded(self._pool, "state", self._episode.state)

    def close(self) -> None:
        _guarded(self._pool, "close", self._episode.close)

    def __enter__(self) -> "GuardedEpisode":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class GuardedEnvironment:
    """An Environment whose calls go through the guard; everything else of the environment stays reachable."""

    name: ClassVar[str]
    Options: ClassVar[type[Any]] = object

    def __init__(self, environment: Environment, timeout: float) -> None:
        self.name = environment.name  # type: ignore[misc]  # what it guards is known by its own name
        self._environment = environment
        self._pool = DeadlinePool(1, timeout)

    def splits(self) -> tuple[str, ...]:
        return _guarded(self._pool, "splits", self._environment.splits)

    def tasks(self, split: str) -> Sequence[Task]:
        return _guarded(self._pool, "tasks", lambda: self._environment.tasks(split))

    def open(self, task: Task) -> Any:
        return GuardedEpisode(_guarded(self._pool, "open", lambda: self._environment.open(task)), self._pool)

    def describe(self) -> Description:
        return _guarded(self._pool, "describe", self._environment.describe)

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        return _guarded(self._pool, "patterns", lambda: self._environment.patterns(trajectory))

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        return _guarded(self._pool, "script", lambda: self._environment.script(actions))

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        return _guarded(self._pool, "compose", lambda: self._environment.compose(start, steps, task_id, query))

    def keys(self, task: Task) -> TaskKeys:
        return _guarded(self._pool, "keys", lambda: self._environment.keys(task))
