"""Rare: an action pattern that occurs, but in less than theta percent of the observations (paper, section on signals).

    c_p > 0   and   c_p / N < theta / 100

By pattern (the paper's formula): c_p counts the trajectories with action pattern p, N counts all pattern observations, both over the
whole training. By task (another reading of the paper's text): c is the number of the task's attempts, N that of all tasks' attempts. The
paper does not give theta; 0.5 percent is this project's choice. Nothing can be rare before N exceeds 100 / theta observations (200 by
default), so the formula has its own warm-up. `min_observations` can only lengthen it, and is 0 by default.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import History, RolloutGroup, Signal, hookimpl


@frozen
class RareOptions:
    """Options of the rare signal."""

    theta: float = field(default=0.5, validator=[validators.gt(0.0), validators.le(100.0)])
    """Threshold in percent of the observations. The paper gives no value."""
    by: str = field(default="pattern", validator=validators.in_(("pattern", "task")))
    """What is counted: "pattern" (the paper's formula) or "task" (attempts of each task)."""
    min_observations: int = field(default=0, validator=validators.ge(0))
    """Warm-up: there is no signal before this many observations N. 0 is the paper's formula."""
    most: int = field(default=5, validator=validators.ge(1))
    """Most patterns that a signal's evidence names, the rarest first. It bounds the size of the stored evidence."""


class Rare:
    """Yields a signal for each task, at its last iteration with a rare pattern, of strength 1 - (c / N) / (theta / 100) for the rarest."""

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
            keys = {group.task.id} if by_task else {p for t in group.trajectories if t.score is not None for p in t.patterns}
            rare = {key for key in keys if self._is_rare(counts.get(key, 0), observations)}
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
