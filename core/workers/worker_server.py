"""What runs in an executor's worker: a server that holds the environment and its open episodes, and answers requests.

A request is a method and its arguments, an answer is a value or the name and text of what was raised. Both are pickled domain objects and
pass between processes of this program only: nothing that a model, a teacher or a file wrote is ever unpickled.
"""

import os
import pickle
import socket
import traceback
from collections.abc import Callable, Sequence
from typing import Any, Self

from attrs import frozen

from ..contracts import Environment, Episode
from ..errors import CoevolveError, InfrastructureFault, UserError
from ..isolation.checked_environment import OPTIONAL_EPISODE_METHODS, OPTIONAL_METHODS, checked, optional_methods
from ..model import Message, Task

OWN_ERRORS = {kind.__name__: kind for kind in (CoevolveError, UserError, InfrastructureFault)}
"""Errors that keep their class when they pass between processes; of all others only the class's name passes."""


@frozen
class Hello:
    """A worker's first answer: `optional` names those of OPTIONAL_METHODS that its environment has."""

    pid: int
    host: str
    optional: tuple[str, ...]


@frozen
class Opened:
    """A worker's answer when it opened an episode: `optional` names those of OPTIONAL_EPISODE_METHODS that it has."""

    messages: tuple[Message, ...]
    tools: Sequence[dict[str, Any]] | None
    optional: tuple[str, ...]


@frozen
class PickledEnvironment:
    """contracts.EnvironmentSource: the component's class by its module's name, its options, and the splits of the configuration.

    A worker needs no registry: it imports the class from the module that this process imported it from.
    """

    data: bytes

    @classmethod
    def of(cls, component: type[Any], options: Any, splits: Sequence[str]) -> Self:
        """Pickle them; UserError for a class that another process cannot import."""
        try:
            if component.__module__ == "__main__":
                raise TypeError("it stands in the program's main file")
            return cls(pickle.dumps((component, options, tuple(splits))))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            fix = "put it at the top level of a module, or take executor.name=threads"
            raise UserError(f"environment {component.name!r} cannot be made in another process ({error}): {fix}") from error

    def build(self) -> Callable[[bytes], bytes]:
        return EnvironmentServer(self.data).answer


class EnvironmentServer:
    """One worker's environment, made at the first request, and its open episodes by number. One thread."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._environment: Environment
        self._episodes: dict[int, Episode] = {}
        self._snapshots: dict[int, dict[int, Any]] = {}

    def answer(self, request: bytes) -> bytes:
        """Carry out a request. An error is an answer too, also one raised while the answer is pickled."""
        try:
            method, arguments = pickle.loads(request)  # written by worker_pool.py of the program that started this worker
            return pickle.dumps((True, getattr(self, method)(*arguments)))
        except SystemExit as error:  # as in threads: the environment may not end its worker
            return pickle.dumps((False, ("InfrastructureFault", f"it tried to end the program ({error!r})", "")))
        except Exception as error:  # noqa: BLE001 - the answer holds it
            name = next((c.__name__ for c in type(error).__mro__ if OWN_ERRORS.get(c.__name__) is c), type(error).__name__)
            return pickle.dumps((False, (name, str(error), traceback.format_exc())))

    def hello(self) -> Hello:
        component, options, splits = pickle.loads(self._data)  # written by PickledEnvironment.of above
        self._environment = checked(component(options), splits)
        return Hello(os.getpid(), socket.gethostname(), optional_methods(self._environment, OPTIONAL_METHODS))

    def environment(self, method: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call a method of the environment itself."""
        return getattr(self._environment, method)(*arguments, **named)

    def open(self, number: int, task: Task, texts: tuple[str, ...], before: int) -> Opened:
        """Open `task` as episode `number` and replay `texts` in it. Closes episode `before` first, where it is open here."""
        if before in self._episodes:
            self.close(before)
        episode = self._environment.open(task)
        try:
            for text in texts:
                episode.step(text)
        except BaseException:
            episode.close()
            raise
        self._episodes[number], self._snapshots[number] = episode, {}
        return Opened(tuple(episode.messages), episode.tools, optional_methods(episode, OPTIONAL_EPISODE_METHODS))

    def episode(self, number: int, method: str, arguments: tuple[Any, ...]) -> Any:
        """Call a method of an open episode that returns a value: step, score, state or metrics."""
        return getattr(self._episodes[number], method)(*arguments)

    def snapshot(self, number: int, snapshot: int, dropped: tuple[int, ...]) -> None:
        """Keep a snapshot of episode `number` under the number `snapshot`, and drop those that cannot be asked for any more."""
        kept = self._snapshots[number]
        for old in dropped:
            kept.pop(old, None)
        kept[snapshot] = self._episodes[number].snapshot()

    def restore(self, number: int, snapshot: int) -> None:
        self._episodes[number].restore(self._snapshots[number][snapshot])

    def close(self, number: int) -> None:
        self._snapshots.pop(number, None)
        self._episodes.pop(number).close()
