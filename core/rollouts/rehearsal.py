"""What an environment says, collected before the first rollout, so that a policy can check that it would read all of it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..contracts import Environment, Policy
from ..isolation.checked_environment import checked
from ..isolation.deadlines import DeadlinePool
from ..model import Message, Task
from ..optional import ChecksMessages

TASKS = 4
"""Tasks that are rehearsed, evenly spread over those that there are."""
COMPLETIONS = 12
"""Completions of a solution that are played."""
NONSENSE = "This is not a call."


def rehearse(policy: Policy, environment: Environment, tasks: Sequence[Task], timeout: float) -> None:
    """Let `policy` check what the environment says at the beginning of `tasks` and in answer to their solutions and to nonsense.

    UserError where the policy would not read a part of it. A task in which the environment fails is left out: rollouts attribute that.
    """
    if not isinstance(policy, ChecksMessages):
        return
    world = checked(environment)
    openings: dict[Any, tuple[Sequence[Message], Any]] = {}
    replies: dict[Any, Sequence[Message]] = {}
    pool = DeadlinePool(1, timeout)
    try:
        for task in _spread(tasks):
            for texts in _scripts(pool, world, task):
                _play(pool, world, task, texts, openings, replies)
    finally:
        pool.close()
    policy.check_messages(list(openings.values()), list(replies.values()))


def _spread(tasks: Sequence[Task]) -> list[Task]:
    count = min(TASKS, len(tasks))
    return [tasks[n * (len(tasks) - 1) // max(1, count - 1)] for n in range(count)]


def _scripts(pool: DeadlinePool, world: Environment, task: Task) -> list[list[str]]:
    """What to write in two episodes: the task's solution; nonsense, and then the solution's first two completions as one."""
    played = _call(pool, lambda: list(world.script(task.solution))) if task.solution else None
    texts = [text for text in played or () if isinstance(text, str)][:COMPLETIONS]
    return [texts, [NONSENSE, "\n".join(texts[:2])]]


def _play(
    pool: DeadlinePool, world: Environment, task: Task, texts: Sequence[str], openings: dict[Any, Any], replies: dict[Any, Any]
) -> None:
    episode = _call(pool, lambda: world.open(task))
    if episode is None:
        return
    try:
        openings.setdefault((_kind(episode.messages), bool(episode.tools)), (list(episode.messages), episode.tools))
        for text in texts:
            seen = _call(pool, partial(episode.step, text))
            if seen is None:
                return
            if seen.messages:
                replies.setdefault(_kind(seen.messages), list(seen.messages))
            if seen.done:
                return
    finally:
        _call(pool, episode.close)


def _kind(messages: Sequence[Message]) -> tuple[Any, ...]:
    """What a template can tell messages apart by, beside their text."""
    return tuple((m.get("role"), *sorted(m), type(m.get("content")).__name__) for m in messages)


def _call(pool: DeadlinePool, function: Callable[[], Any]) -> Any:
    """The function's result; None where it fails or does not return in time."""
    result = pool.map([function])[0]
    return None if isinstance(result, Exception) else result
