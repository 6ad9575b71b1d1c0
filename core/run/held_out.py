"""The tasks that a run begins with, compared with the tasks that it is evaluated on, as its candidates are: by id, text and keys.

A run whose first tasks are among the held-out ones trains on what it is measured with. It is refused, unless the settings accept it; then
each of its results says so.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial

from ..contracts import Environment
from ..environment_defaults import has
from ..errors import UserError
from ..isolation.deadlines import DeadlinePool
from ..isolation.guard import splits_of, tasks_of
from ..model import Task, TaskKeys
from ..randomness import generator
from ..registry import Registry
from ..settings.config import Config

_WORD = re.compile(r"\w+")


def first_tasks(config: Config, environment: Environment) -> list[Task]:
    """D_0: a seeded choice of the environment's train tasks. UserError when there are none."""
    tasks = list(tasks_of(environment, config.train_split, config.tasks_timeout))
    if not tasks:
        raise UserError(f"environment {config.environment.name!r} has no tasks in split {config.train_split!r}")
    if 0 < config.initial_tasks < len(tasks):
        tasks = generator(config.seed, "initial tasks").sample(tasks, config.initial_tasks)
    return tasks


def check_first_tasks(config: Config, registry: Registry, environment: Environment, held_out: Sequence[Task]) -> int:
    """How many of the first tasks are held-out tasks too, by id, text or the environment's own keys.

    UserError where there are any and `evaluation.overlap` is "refuse". A task whose keys cannot be computed is compared without them.
    """
    first = first_tasks(config, environment)
    found = _same(first, [_marks(task) for task in first], [_marks(task) for task in held_out])
    if len(found) < len(first) and has(registry.component("environment", config.environment.name), "keys", Environment):
        solved = [task for task in held_out if task.solution]  # without a solution there are no keys
        keys = _keys(config, environment, [*first, *solved] if solved else [])
        found = _same(first, keys[: len(first)], keys[len(first) :]) | found
    if found and config.evaluation.overlap == "refuse":
        raise UserError(_refusal(config, environment, first, held_out, found))
    return len(found)


def unsolved_text(held_out: Sequence[Task], split: str) -> str | None:
    """How the door protects held-out tasks without a known solution, in words; None where there are none."""
    count = sum(not task.solution for task in held_out)
    if not count:
        return None
    how = "candidates are compared with their requests, and with what else the environment knows of them"
    return f"{count} of the {len(held_out)} held-out tasks of split {split} have no known solution: {how}"


def _same(first: Sequence[Task], own: Sequence[Mapping[str, str]], theirs: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """In what respect each first task equals a held-out one, by its id; those that equal none are left out."""
    known = {kind: {marks[kind] for marks in theirs if kind in marks} for kind in (*MARKS, *KEYS)}
    found = {}
    for task, marks in zip(first, own, strict=False):
        shared = next((kind for kind, mark in marks.items() if mark in known[kind]), None)
        if shared is not None:
            found[task.id] = shared
    return found


MARKS = ("id", "text")
KEYS = ("family", "calls", "end state")


def _marks(task: Task) -> dict[str, str]:
    return {"id": task.id, "text": " ".join(_WORD.findall(task.query.casefold()))}


def _keys(config: Config, environment: Environment, tasks: Sequence[Task]) -> list[dict[str, str]]:
    pool = DeadlinePool(min(config.workers, max(1, len(tasks))), config.step_timeout)
    try:
        found = pool.map([partial(environment.keys, task) for task in tasks])
    finally:
        pool.close()
    return [_as_marks(keys) if isinstance(keys, TaskKeys) else {} for keys in found]


def _as_marks(keys: TaskKeys) -> dict[str, str]:
    family = {} if keys.family is None else {"family": keys.family}
    return family | {"calls": keys.actions, "end state": keys.end_state}


def _refusal(config: Config, environment: Environment, first: Sequence[Task], held_out: Sequence[Task], found: Mapping[str, str]) -> str:
    split, name = config.evaluation.split, min(found)
    ids = {task.id for task in first}
    apart = [
        other
        for other in splits_of(environment, config.tasks_timeout)
        if (theirs := {task.id for task in tasks_of(environment, other, config.tasks_timeout)}) and not theirs & ids
    ]
    fix = f"set evaluation.split to another one ({', '.join(apart)} would do)" if apart else "set train_split to one without them"
    return (
        f"{len(found)} of the {len(first)} tasks that the run begins with (train_split {config.train_split}) are held-out tasks of split "
        f"{split} too, such as {name} (the same {found[name]}): {fix}, or evaluation.overlap=report to accept it in every result"
    )
