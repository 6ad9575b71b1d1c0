"""Checks of the values that an environment returns: a wrong type is a fault of that call, not an error somewhere later.

Each function returns what it was given, or raises TypeError or ValueError with a text for the environment's author.
"""

import json
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeVar

from ..contracts import LightEpisode
from ..model import Action, Description, Message, Observation, Step, Task, TaskKeys
from ..optional import Goal
from ..text import one_line

T = TypeVar("T")


def unchecked(found: Any) -> Any:
    """Any value."""
    return found


def episode(found: Any) -> LightEpisode:
    """The result of `Environment.open`; defaults stand in for what else it lacks."""
    lacking = [name for name in ("step", "score") if not hasattr(found, name)]
    if lacking:
        raise TypeError(f"open() must return an Episode, but {type(found).__name__} has no {lacking[0]}")
    return found  # type: ignore[no-any-return]


def observation(found: Any) -> Observation:
    """The result of `Episode.step`."""
    seen = _of(Observation, found, "step()")
    messages(seen.messages)
    if not isinstance(seen.steps, tuple | list) or not all(isinstance(step, Step) for step in seen.steps):
        raise TypeError(f"Observation.steps must hold Steps, not {_short(seen.steps)}")
    if not isinstance(seen.fault, str | None):
        raise TypeError(f"Observation.fault must be a text or None, not {_short(seen.fault)}")
    for step in seen.steps:
        if not isinstance(step.action.arguments, Mapping):
            raise TypeError(f"the arguments of an Action must be a mapping, not {_short(step.action.arguments)}")
        _json([dict(step.action.arguments), step.result], f"arguments and result of {step.action.name}")
    return seen


def score(found: Any) -> float:
    """The result of `Episode.score`."""
    return _share(found, "score()")


def progress(found: Any) -> float:
    """The result of `HasProgress.progress`."""
    return _share(found, "progress()")


def metrics(found: Any) -> dict[str, float]:
    """The result of `Episode.metrics`."""
    if not isinstance(found, Mapping) or not all(isinstance(name, str) and isinstance(value, Real) for name, value in found.items()):
        raise TypeError(f"metrics() must return numbers by name, not {_short(found)}")
    return {name: float(value) for name, value in found.items()}


def patterns(found: Any) -> tuple[str, ...]:
    """The result of `Environment.patterns`."""
    if not isinstance(found, tuple | list) or not all(isinstance(name, str) for name in found):
        raise TypeError(f"patterns() must return texts, not {_short(found)}")
    return tuple(found)


def tasks(found: Any) -> Sequence[Task]:
    """The result of `Environment.tasks`."""
    if not isinstance(found, Sequence) or not all(isinstance(task, Task) for task in found):
        raise TypeError(f"tasks() must return a sequence of Tasks, not {_short(found)}")
    ids = set()
    for one in found:
        if task(one).id in ids:
            raise ValueError(f"two tasks have the id {one.id!r}; an id must be unique")
        ids.add(one.id)
    return found


def task(found: Task) -> Task:
    """A task whose fields can be stored."""
    for name in ("id", "environment", "query", "intent"):
        value = getattr(found, name)
        if not isinstance(value, str):
            raise TypeError(f"Task.{name} must be a text, not {_short(value)}")
        if not _encodes(value):
            raise ValueError(f"Task.{name} must be text in UTF-8, not {_short(value)}")
    if not isinstance(found.solution, tuple | list) or not all(isinstance(action, Action) for action in found.solution):
        raise TypeError(f"Task.solution must hold Actions, not {_short(found.solution)}")
    return found


def composed(found: Any) -> Task | None:
    """The result of `Environment.compose`."""
    return None if found is None else _of(Task, found, "compose()")


def goals(found: Any) -> Sequence[Goal]:
    """The result of `HasGoals.goals`: each goal has calls, and a paragraph of its request for each of their turns."""
    if not isinstance(found, tuple | list):
        raise TypeError(f"goals() must return a list of goals, not {_short(found)}")
    for goal in found:
        _of(Goal, goal, "goals()")
        paragraphs = len([part for part in goal.query.split("\n\n") if part.strip()])
        if not goal.actions or not all(0 <= action.turn < paragraphs for action in goal.actions):
            raise ValueError(f"goals() returned {goal.kind!r}, whose calls are none or have turns beyond the request's paragraphs")
    return found


def variants(found: Any) -> Sequence[Task]:
    """The result of `HasVariants.variants`."""
    if not isinstance(found, tuple | list):
        raise TypeError(f"variants() must return a list of tasks, not {_short(found)}")
    return [_of(Task, task, "variants()") for task in found]


def splits(found: Any) -> tuple[str, ...]:
    """The result of `Environment.splits`."""
    if not isinstance(found, tuple | list) or not all(isinstance(name, str) for name in found):
        raise TypeError(f"splits() must return a tuple of texts, not {_short(found)}")
    return tuple(found)


def keys(found: Any) -> TaskKeys:
    """The result of `Environment.keys`."""
    return _of(TaskKeys, found, "keys()")


def description(found: Any) -> Description:
    """The result of `Environment.describe`."""
    return _of(Description, found, "describe()")


def messages(found: Any) -> Sequence[Message]:
    """`Episode.messages` or `Observation.messages`."""
    if not isinstance(found, tuple | list):
        raise TypeError(f"messages must be a tuple of messages, not {_short(found)}")
    for message in found:
        if not isinstance(message, Mapping) or not all(isinstance(message.get(key), str) for key in ("role", "content")):
            raise TypeError(f"a message must be a mapping with texts under role and content, not {_short(message)}")
        message["content"].encode()  # a tokenizer cannot take a lone surrogate
    _json([dict(message) for message in found], "messages")
    return found


def _share(found: Any, where: str) -> float:
    if not isinstance(found, Real):
        raise TypeError(f"{where} must return a number in [0, 1], not {_short(found)}")
    value = float(found)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{found!r} is not in [0, 1]")
    return value


def _of(kind: type[T], found: Any, where: str) -> T:
    if not isinstance(found, kind):
        raise TypeError(f"{where} must return {'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}, not {_short(found)}")
    return found


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _json(value: Any, what: str) -> None:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{what} must be JSON values: {error}") from error


def _short(found: Any) -> str:
    return one_line(repr(found), limit=63)
