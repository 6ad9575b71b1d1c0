"""What the contract leaves to an environment's choice, filled in: `complete` gives every environment all methods of the contract.

An environment needs `tasks(split)` and `open(task)`, an episode `step(text)` and `score()`. The docstrings of contracts.Environment and
contracts.Episode list what stands in for the rest. An environment that has all methods is used as it is.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, ClassVar, cast

from .contracts import Environment, Episode, LightEnvironment, LightEpisode
from .errors import UserError
from .model import Action, Description, Message, Observation, Task, TaskKeys, Trajectory
from .replay import perform

SPLITS = ("train", "test")
"""Splits of an environment that names none, where no configuration does either."""
ENVIRONMENT_DEFAULTS = ("splits", "describe", "patterns", "script", "keys")
ENVIRONMENT_METHODS = (*ENVIRONMENT_DEFAULTS, "tasks", "open", "compose", "provenance", "aggregates")
"""Of an object that a run uses; the last two are optional.HasProvenance and HasAggregates."""
_MISSING, _ABSENT = object(), object()
EPISODE_DEFAULTS = ("messages", "tools", "snapshot", "restore", "state", "close", "__exit__")


def has(thing: object, name: str, contract: type) -> bool:
    """Whether `thing` (an object or a class) has a member of its own; what a class inherits from the contract itself does not count."""
    found = getattr(thing, name, _MISSING)
    return found is not _MISSING and getattr(found, "__func__", found) is not getattr(contract, name, _ABSENT)


def complete(environment: LightEnvironment, splits: Sequence[str] = SPLITS) -> Environment:
    """`environment` with all methods of the contract but `compose`, which has no default; `splits` is what `splits()` returns then."""
    lacking = [name for name in ENVIRONMENT_DEFAULTS if not has(environment, name, Environment)]
    return cast(Environment, _CompletedEnvironment(environment, splits, lacking) if lacking else environment)


def complete_episode(environment: LightEnvironment, task: Task, episode: LightEpisode) -> Episode:
    """`episode` of `task` with all members of the contract. Snapshots are restored by replaying the texts in a fresh episode."""
    whole = all(has(episode, name, Episode) for name in EPISODE_DEFAULTS)
    return cast(Episode, episode if whole else _CompletedEpisode(environment, task, episode))


def check_compose(component: type[Any]) -> None:
    """UserError for a class of environments that cannot compose tasks, which execution-checked synthesis needs."""
    if not has(component, "compose", Environment):
        raise UserError(
            f"environment {component.name!r} has no compose(): execution-checked synthesis needs it; "
            "implement it or set synthesizer.name=none"
        )


def digest(value: Any) -> str:
    """SHA-256 of JSON values, whatever the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _calls(actions: Iterable[Action]) -> list[Any]:
    return [[action.name, dict(action.arguments)] for action in actions]


class _CompletedEnvironment:
    """An environment of which the methods `lacking` are the defaults below; all else is its own."""

    name: ClassVar[str]

    def __init__(self, environment: LightEnvironment, splits: Sequence[str], lacking: Sequence[str]) -> None:
        self.name = environment.name  # type: ignore[misc]  # what it completes is known by its own name
        self._environment, self._splits = environment, tuple(splits)
        for name in ENVIRONMENT_METHODS:
            if name not in lacking and hasattr(environment, name):
                setattr(self, name, getattr(environment, name))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._environment, name)

    def splits(self) -> tuple[str, ...]:
        return self._splits

    def describe(self) -> Description:
        return Description(())

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        return tuple(step.action.name for step in trajectory.steps)

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        return tuple(json.dumps({"name": action.name, "arguments": dict(action.arguments)}) for action in actions)

    def keys(self, task: Task) -> TaskKeys:
        calls = _calls(task.solution)
        return TaskKeys(actions=digest([task.query, calls]), end_state=digest(calls or task.query))


class _CompletedEpisode:
    """An episode whose members are its own where it has them, else the defaults below."""

    def __init__(self, environment: LightEnvironment, task: Task, episode: LightEpisode) -> None:
        self._environment, self._task = environment, task
        self.messages: Sequence[Message] = ({"role": "user", "content": task.query},)
        self.tools: Sequence[dict[str, Any]] | None = None
        self._begin(episode)

    def _begin(self, episode: Any) -> None:
        """Stand for `episode`, in which nothing was done yet."""
        self._episode = episode
        self._texts: list[str] = []
        self._seen: list[Observation] = []
        own = [name for name in ("messages", "tools", "state", "metrics") if has(episode, name, Episode)]
        if has(episode, "snapshot", Episode) and has(episode, "restore", Episode):
            own += ["snapshot", "restore"]
        for name in own:
            setattr(self, name, getattr(episode, name))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._episode, name)

    def step(self, text: str) -> Observation:
        seen: Observation = self._episode.step(text)
        self._texts.append(text)
        self._seen.append(seen)
        return seen

    def score(self) -> float:
        score: float = self._episode.score()
        return score

    def state(self) -> str:
        return digest([_visible(seen) for seen in self._seen])

    def snapshot(self) -> Any:
        return tuple(self._texts)

    def restore(self, snapshot: Any) -> None:
        self.close()
        self._begin(self._environment.open(self._task))
        for _ in perform(self, snapshot):
            pass

    def close(self) -> None:
        if has(self._episode, "close", Episode):
            self._episode.close()
        elif has(self._episode, "__exit__", Episode):
            self._episode.__exit__(None, None, None)

    def __enter__(self) -> "_CompletedEpisode":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _visible(seen: Observation) -> list[Any]:
    steps = [[step.action.name, dict(step.action.arguments), step.observation, step.result, step.error] for step in seen.steps]
    return [[dict(message) for message in seen.messages], steps, seen.done, seen.fault]
