"""Choose the explorations of an evolution: one for each task with a signal, strongest first; the kinds of signals take turns."""

import random
from collections.abc import Sequence

from attrs import frozen

from coevolve import Feedback, RolloutGroup, Signal, Task

from .options import TeacherOptions


@frozen
class Assignment:
    """One exploration: the task that it starts from, and its signal (None: at random). `number` counts from 1 in each evolution."""

    number: int
    task: Task
    signal: Signal | None
    groups: tuple[RolloutGroup, ...] = ()
    """The task's rollouts since the last evolution, in order."""


def assignments(feedback: Feedback, options: TeacherOptions, rng: random.Random) -> list[Assignment]:
    """At most `options.explorations` assignments. Without signals or `use_signals`, their tasks are drawn from the pool with `rng`.

    Before the first iteration (`Feedback.iteration` 0) one for each task that is wanted: the whole first pool comes of them.
    """
    tasks = {task.id: task for task in feedback.pool} | {group.task.id: group.task for group in feedback.groups}
    signals = [signal for signal in feedback.signals if signal.task_id in tasks] if options.use_signals else []
    if signals:
        chosen = in_turn(signals)[: options.explorations]
        groups = {signal.task_id: tuple(g for g in feedback.groups if g.task.id == signal.task_id) for signal in chosen}
        return [Assignment(n, tasks[s.task_id], s, groups[s.task_id]) for n, s in enumerate(chosen, 1)]
    most = options.explorations if feedback.iteration else max(options.explorations, feedback.wanted)
    drawn = rng.sample(feedback.pool.tasks, min(most, len(feedback.pool)))
    return [Assignment(n, task, None) for n, task in enumerate(drawn, 1)]


def in_turn(signals: Sequence[Signal]) -> list[Signal]:
    """One signal for each task. The kinds take turns, beginning with the kind of the strongest signal.

    A turn takes the kind's strongest signal whose task has none yet, so a frequent kind (half of the paper's signals are boundary signals)
    leaves room for the others.
    """
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
