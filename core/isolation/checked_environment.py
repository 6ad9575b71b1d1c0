"""Environments and episodes whose returned values are checked, once, where the environment is made.

`METHODS` and `EPISODE_METHODS` list the contract's methods with the check of what each returns. All stand-ins for an environment are made
from these two tables: the checked one here, the guarded one (guard.py), the remote one and the server of a worker (core/workers). So a
method of the contract is added in contracts.py and in one of the tables, and nowhere else.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import FunctionType, TracebackType
from typing import Any, ClassVar, cast

from ..contracts import Environment, Episode, LightEnvironment
from ..environment_defaults import SPLITS, complete, complete_episode
from ..model import Message, Task
from . import returned_values as check

METHODS: Mapping[str, Callable[[Any], Any]] = {
    "splits": check.splits,
    "tasks": check.tasks,
    "open": check.episode,
    "describe": check.description,
    "patterns": check.patterns,
    "script": check.unchecked,
    "compose": check.composed,
    "keys": check.keys,
}
OPTIONAL_METHODS: Mapping[str, Callable[[Any], Any]] = {
    "provenance": check.unchecked,
    "aggregates": check.unchecked,
    "goals": check.goals,
    "variants": check.variants,
    "copied": check.unchecked,
}
"""Of some environments: optional.HasProvenance, HasAggregates, HasGoals, HasVariants, FindsCopies."""
EPISODE_METHODS: Mapping[str, Callable[[Any], Any]] = {
    "step": check.observation,
    "score": check.score,
    "snapshot": check.unchecked,
    "restore": check.unchecked,
    "state": check.unchecked,
    "close": check.unchecked,
}
OPTIONAL_EPISODE_METHODS: Mapping[str, Callable[[Any], Any]] = {
    "metrics": check.metrics,
    "progress": check.progress,
    "visible_state": check.unchecked,
}
"""Of some episodes: optional.HasMetrics, HasProgress, HasVisibleState."""


def _forwarding(owner: str, name: str) -> FunctionType:
    """A method that calls `self._forward(name, ...)`; a traceback shows it under its own name."""

    def forwarding(self: Any, *arguments: Any, **named: Any) -> Any:
        return self._forward(name, *arguments, **named)

    code = forwarding.__code__.replace(co_name=name, co_qualname=f"{owner}.{name}")
    method = FunctionType(code, globals(), name, closure=forwarding.__closure__)
    method.__qualname__ = f"{owner}.{name}"
    return method


class _StandIn:
    """Base of the stand-ins: the methods that a subclass lists go through its `_forward`, unless it defines them itself."""

    def __init_subclass__(cls, methods: Iterable[str] = (), **named: Any) -> None:
        super().__init_subclass__(**named)
        for name in methods:
            if name not in vars(cls):
                setattr(cls, name, _forwarding(cls.__qualname__, name))

    def _forward(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Carry out `method`; every subclass defines it."""
        raise NotImplementedError

    def _offer(self, methods: Iterable[str]) -> None:
        """Add optional methods to this object alone."""
        for name in methods:
            setattr(self, name, partial(self._forward, name))


class EnvironmentStandIn(_StandIn, methods=METHODS):
    """Base of the environments that pass each call on. What they return was checked."""

    name: ClassVar[str]
    Options: ClassVar[type[Any]] = object

    def __init__(self, name: str, optional: Iterable[str]) -> None:
        self.name = name  # type: ignore[misc]  # it is known by the name of the environment that it stands for
        self._offer(optional)


class EpisodeStandIn(_StandIn, methods=EPISODE_METHODS):
    """Base of the episodes that pass each call on. What they return was checked."""

    messages: Sequence[Message] = ()
    tools: Sequence[dict[str, Any]] | None = None
    close: Callable[[], None]

    def __enter__(self) -> "EpisodeStandIn":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class CheckedEnvironment(EnvironmentStandIn):
    """An environment with all methods of the contract, whose returned values are checked; its other attributes are reachable."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        super().__init__(environment.name, optional_methods(environment, OPTIONAL_METHODS))

    def _forward(self, method: str, *arguments: Any, **named: Any) -> Any:
        found = getattr(self._environment, method)(*arguments, **named)
        return (METHODS.get(method) or OPTIONAL_METHODS[method])(found)

    def open(self, task: Task) -> Any:
        return CheckedEpisode(complete_episode(self._environment, task, self._forward("open", task)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._environment, name)


class CheckedEpisode(EpisodeStandIn):
    """An episode of a CheckedEnvironment."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self.messages, self.tools = check.messages(episode.messages), episode.tools
        self._offer(optional_methods(episode, OPTIONAL_EPISODE_METHODS))

    def _forward(self, method: str, *arguments: Any) -> Any:
        found = getattr(self._episode, method)(*arguments)
        return (EPISODE_METHODS.get(method) or OPTIONAL_EPISODE_METHODS[method])(found)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._episode, name)


def optional_methods(thing: object, names: Iterable[str]) -> tuple[str, ...]:
    """Those of `names` that `thing` has."""
    return tuple(name for name in names if callable(getattr(thing, name, None)))


def checked(environment: LightEnvironment, splits: Sequence[str] = SPLITS) -> Environment:
    """`environment`, completed with the contract's defaults (see environment_defaults.complete) and checked.

    An environment that is a stand-in already is returned as it is: each value is checked once.
    """
    if isinstance(environment, EnvironmentStandIn):
        return cast(Environment, environment)
    return cast(Environment, CheckedEnvironment(complete(environment, splits)))
