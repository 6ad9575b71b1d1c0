"""Choose where an evolution explores: one exploration for each task with a signal, strongest first, the kinds in turn."""

import random
from collections.abc import Sequence

from attrs import frozen

from coevolve import Feedback, RolloutGroup, Signal, Task

from .options import TeacherOptions


@frozen
class Assignment:
    """One exploration: where it starts and which signal it answers (None: at random). `number` counts an evolution's from 1."""

    number: int
    task: Task
    signal: Signal | None
    groups: tuple[RolloutGroup, ...] = ()
    """The task's rollouts since the last evolution, in order."""


def assignments(feedback: Feedback, options: TeacherOptions, rng: random.Random) -> list[Assignment]:
    """At most `options.explorations`. Without signals, or when they are not to be used, tasks of the pool drawn from `rng`."""
    tasks = {task.id: task for task in feedback.pool} | {group.task.id: group.task for group in feedback.groups}
    signals = [signal for signal in feedback.signals if signal.task_id in tasks] if options.use_signals else []
    if signals:
        chosen = in_turn(signals)[: options.explorations]
        groups = {signal.task_id: tuple(g for g in feedback.groups if g.task.id == signal.task_id) for signal in chosen}
        return [Assignment(n, tasks[s.task_id], s, groups[s.task_id]) for n, s in enumerate(chosen, 1)]
    drawn = rng.sample(feedback.pool.tasks, min(options.explorations, len(feedback.pool)))
    return [Assignment(n, task, None) for n, task in enumerate(drawn, 1)]


def in_turn(signals: Sequence[Signal]) -> list[Signal]:
    """One signal a task: the kinds take turns, each with its strongest whose task is still free, so that a frequent kind (boundary is half
    of the paper's signals) leaves room for the others. The kind of the strongest signal begins."""
    ranked: dict[str, list[Signal]] = {}
    for signal in sorted(signals, key=lambda signal: (-signal.strength, signal.id)):
        ranked.setdefault(signal.kind, []).append(signal)
    found: dict[str, Signal] = {}
    while any(ranked.values()):
        for waiting in ranked.values():
            while waiting and waiting[0].task_id in found:
                waiting.pop(0)
            if waiting:
                signal = waiting.pop(0)
                found[signal.task_id] = signal
    return list(found.values())
