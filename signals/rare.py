"""Rare: something that occurs, but in less than theta percent of the observations (paper, section on signals).

    c_p > 0   and   c_p / N < theta / 100

By pattern (the paper's words): c_p counts the trajectories that show action pattern p, N all pattern observations, both over the
whole training. By task (the digest's words): c is the number of the task's attempts, N that of all tasks' attempts. The paper does
not give theta; 0.5 percent is this project's choice. Nothing can be rare before N exceeds 100 / theta observations (200 by default),
so the formula has a warm-up of its own and `min_observations`, which only lengthens it, is 0 unless a run asks for more.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import History, RolloutGroup, Signal, hookimpl


@frozen
class RareOptions:
    """Options of the rare signal."""

    theta: float = field(default=0.5, validator=[validators.gt(0.0), validators.le(100.0)])
    """Threshold in percent of the observations (not given in the paper)."""
    by: str = field(default="pattern", validator=validators.in_(("pattern", "task")))
    """What is counted: "pattern" (the paper's formula) or "task" (the digest's reading)."""
    min_observations: int = field(default=0, validator=validators.ge(0))
    """Warm-up: no signal before there are this many observations N; 0 leaves the paper's formula as it is."""
    most: int = field(default=5, validator=validators.ge(1))
    """How many of a task's rarest patterns the evidence names."""


class Rare:
    """One signal for each task, at the last iteration that showed it; its strength is 1 - (c / N) / (theta / 100) of its rarest."""

    name: ClassVar[str] = "rare"
    Options: ClassVar[type] = RareOptions

    def __init__(self, options: RareOptions) -> None:
        self.options = options

    def detect(self, groups: Sequence[RolloutGroup], history: History) -> list[Signal]:
        by_task = self.options.by == "task"
        counts = {task: len(attempts) for task, attempts in history.attempts.items()} if by_task else history.patterns
        observations = sum(counts.values())
        if observations == 0 or observations < self.options.min_observations:
            return []
        seen: dict[str, set[str]] = {}
        last: dict[str, int] = {}
        for group in groups:
            if group.mean is None:
                continue
            shown = {group.task.id} if by_task else {p for t in group.trajectories if t.score is not None for p in t.patterns}
            rare = {key for key in shown if self._is_rare(counts.get(key, 0), observations)}
            if rare:
                seen.setdefault(group.task.id, set()).update(rare)
                last[group.task.id] = max(group.iteration, last.get(group.task.id, group.iteration))
        return [self._signal(task_id, last[task_id], rare, counts, observations) for task_id, rare in seen.items()]

    def _is_rare(self, count: int, observations: int) -> bool:
        return count > 0 and count / observations < self.options.theta / 100

    def _signal(self, task_id: str, iteration: int, rare: set[str], counts: Mapping[str, int], observations: int) -> Signal:
        rarest = sorted(rare, key=lambda key: (counts[key], key))[: self.options.most]
        strength = 1 - counts[rarest[0]] / observations / (self.options.theta / 100)
        evidence = {
            "by": self.options.by,
            "counts": {key: counts[key] for key in rarest},
            "rare": len(rare),
            "observations": observations,
            "theta": self.options.theta,
        }
        return Signal(self.name, task_id, iteration, min(1.0, max(0.0, strength)), evidence)


@hookimpl
def coevolve_signals() -> list[type[Rare]]:
    return [Rare]
