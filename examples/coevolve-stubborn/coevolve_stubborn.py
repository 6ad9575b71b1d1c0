"""Stubborn: tasks whose every rollout failed in the last iterations.

    max_k s_k < 0.5 over all rollouts of the task in iterations (t - N, t], t being the last iteration seen

When all its rollouts score the same, such a task gives no advantage, so training alone does not improve on it; easier variants of it might.
Not part of the paper.
"""

from collections.abc import Sequence
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import SUCCESS, History, RolloutGroup, Signal, hookimpl


@frozen
class StubbornOptions:
    """Options of the stubborn signal."""

    iterations: int = field(default=3, validator=validators.ge(1))
    """N: number of latest iterations whose rollouts count."""
    min_rollouts: int = field(default=8, validator=validators.ge(1))
    """A task with fewer scored rollouts in these iterations gets no signal."""


class Stubborn:
    """One signal for each such task, at its last iteration; its strength is 1 minus its best score."""

    name: ClassVar[str] = "stubborn"
    Options: ClassVar[type] = StubbornOptions

    def __init__(self, options: StubbornOptions) -> None:
        self.options = options

    def detect(self, groups: Sequence[RolloutGroup], history: History) -> list[Signal]:
        now = max((group.iteration for group in groups), default=0)
        scores: dict[str, list[float]] = {}
        last: dict[str, int] = {}
        for group in groups:
            if group.iteration > now - self.options.iterations and group.scores:
                scores.setdefault(group.task.id, []).extend(group.scores)
                last[group.task.id] = max(group.iteration, last.get(group.task.id, 0))
        return [
            Signal(self.name, task_id, last[task_id], 1.0 - max(found), {"rollouts": len(found), "best": max(found)})
            for task_id, found in scores.items()
            if len(found) >= self.options.min_rollouts and max(found) < SUCCESS
        ]


@hookimpl
def coevolve_signals() -> list[type[Stubborn]]:
    return [Stubborn]
