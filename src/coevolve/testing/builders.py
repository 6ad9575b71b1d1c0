"""Tasks, trajectories, groups and feedback for tests, with only what the test cares about spelt out."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from attrs import frozen

from coevolve import (
    Action,
    Attempts,
    Chat,
    Feedback,
    History,
    Journal,
    Message,
    Outcome,
    RolloutGroup,
    Services,
    Signal,
    Step,
    Task,
    TaskPool,
    Trajectory,
)


def make_task(task_id: str = "task", environment: str = "stockroom", query: str = "", solution: Sequence[Action] = ()) -> Task:
    """A task; without a `query` one that is made from its id."""
    return Task(id=task_id, environment=environment, query=query or f"Do {task_id}.", solution=tuple(solution))


def make_trajectory(
    task_id: str = "task",
    score: float | None = 1.0,
    *,
    iteration: int = 1,
    index: int = 0,
    steps: Sequence[Step] = (),
    patterns: Sequence[str] = (),
    messages: Sequence[Message] = (),
    progress: float | None = None,
) -> Trajectory:
    """One rollout; a score of None makes it an infrastructure fault."""
    broken = score is None
    return Trajectory(
        task_id=task_id,
        iteration=iteration,
        index=index,
        messages=tuple(messages),
        steps=tuple(steps),
        outcome=Outcome.INFRASTRUCTURE_FAULT if broken else Outcome.COMPLETED,
        score=score,
        fault="the service is down" if broken else None,
        patterns=tuple(patterns),
        progress=None if broken else progress,
    )


def make_group(
    task: Task | str = "task",
    scores: Iterable[float | None] = (1.0, 0.0),
    *,
    iteration: int = 1,
    patterns: Sequence[str] = (),
    steps: Sequence[Step] = (),
    progress: Sequence[float | None] = (),
) -> RolloutGroup:
    """A rollout group with these scores; every rollout has the same `patterns` and `steps`. `progress`: of each rollout, or of none."""
    of = make_task(task) if isinstance(task, str) else task
    rollouts = (
        make_trajectory(of.id, score, iteration=iteration, index=index, steps=steps, patterns=patterns, progress=known)
        for index, (score, known) in enumerate(zip(scores, chain(progress, repeat(None)), strict=False))
    )
    return RolloutGroup(of, iteration, tuple(rollouts))


def make_feedback(
    pool: Sequence[Task], groups: Sequence[RolloutGroup] = (), signals: Sequence[Signal] = (), *, iteration: int = 10, wanted: int = 16
) -> Feedback:
    """Feedback whose history is that of `groups`."""
    return Feedback(iteration, tuple(signals), tuple(groups), History().with_groups(groups), TaskPool(tuple(pool)), wanted)


@frozen
class _GivenServices:
    journal: Journal
    chat: Chat
    made: Attempts

    def attempts(self, policy: str, options: Mapping[str, Any]) -> Attempts:
        return self.made


def make_services(journal: Journal | None = None, chat: Chat | None = None, attempts: Attempts | None = None) -> Services:
    """Services for a component's `bind_services`, of the parts that the test cares about; `attempts` is returned for every policy."""
    return _GivenServices(journal, chat, attempts)  # type: ignore[arg-type]  # a test that uses what it did not give fails on None
