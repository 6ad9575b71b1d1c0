"""Boundary: the K rollouts of one task in one iteration hold both successes and failures (paper, section on signals).

    exists k: s_k >= 0.5   and   exists k: s_k < 0.5

The signal has no threshold of its own. Rollouts that ended in an infrastructure fault have no score and do not count.
"""

from collections.abc import Sequence
from typing import ClassVar

from attrs import frozen

from coevolve import SUCCESS, History, RolloutGroup, Signal, hookimpl


@frozen
class BoundaryOptions:
    """The boundary signal has no options."""


class Boundary:
    """Yields one signal for each task and iteration. Its strength is 4 p (1 - p), p the share of successes; it is 1 when half succeed."""

    name: ClassVar[str] = "boundary"
    Options: ClassVar[type] = BoundaryOptions

    def __init__(self, options: BoundaryOptions) -> None:
        self.options = options

    def detect(self, groups: Sequence[RolloutGroup], history: History) -> list[Signal]:
        found: dict[str, Signal] = {}
        for group in groups:
            scores = group.scores
            successes = sum(score >= SUCCESS for score in scores)
            if not 0 < successes < len(scores):
                continue
            rate = successes / len(scores)
            evidence = {"scores": list(scores), "successes": successes, "rollouts": len(scores)}
            signal = Signal(self.name, group.task.id, group.iteration, 4 * rate * (1 - rate), evidence)
            if signal.id not in found or found[signal.id].strength < signal.strength:
                found[signal.id] = signal
        return list(found.values())


@hookimpl
def coevolve_signals() -> list[type[Boundary]]:
    return [Boundary]
