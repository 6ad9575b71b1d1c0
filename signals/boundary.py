"""Boundary: the K rollouts of one task in one iteration hold both successes and failures (paper, section on signals).

    exists k: s_k >= 0.5   and   exists k: s_k < 0.5

The signal has no threshold of its own. Rollouts that ended in an infrastructure fault have no score and do not count.

With `of = "progress"` it is read off the rollouts' progress g_k in [0, 1] instead, which is this project's addition:

    0 < m < 1   and   exists j, k: g_j != g_k        m = mean of the g_k

so there is a signal for a task that was never solved, as long as some rollouts got further than others. Its strength is 4 m (1 - m), the
paper's share of successes p replaced by m. A success has progress 1 and a failure less, so wherever the paper's formula finds a boundary
this one does too, if all rollouts know their progress. Rollouts that do not know it do not count.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from attrs import field, frozen, validators

from coevolve import SUCCESS, History, RolloutGroup, Signal, hookimpl


@frozen
class BoundaryOptions:
    """Options of the boundary signal."""

    of: str = field(default="success", validator=validators.in_(("success", "progress")))
    """What is compared: "success" (the paper's formula) or "progress" (how much of the task each rollout did)."""


class Boundary:
    """Yields one signal for each task and iteration. Its strength is 4 p (1 - p), p the share of successes; it is 1 when half succeed."""

    name: ClassVar[str] = "boundary"
    Options: ClassVar[type] = BoundaryOptions

    def __init__(self, options: BoundaryOptions) -> None:
        self.options = options

    def detect(self, groups: Sequence[RolloutGroup], history: History) -> list[Signal]:
        found: dict[str, Signal] = {}
        for group in groups:
            read = _of_progress(group) if self.options.of == "progress" else _of_success(group)
            if read is None:
                continue
            rate, evidence = read
            signal = Signal(self.name, group.task.id, group.iteration, 4 * rate * (1 - rate), evidence)
            if signal.id not in found or found[signal.id].strength < signal.strength:
                found[signal.id] = signal
        return list(found.values())


def _of_success(group: RolloutGroup) -> tuple[float, Mapping[str, Any]] | None:
    """The share of successes, and the evidence for it. None where the rollouts all succeed or all fail."""
    scores = group.scores
    successes = sum(score >= SUCCESS for score in scores)
    if not 0 < successes < len(scores):
        return None
    return successes / len(scores), {"scores": list(scores), "successes": successes, "rollouts": len(scores)}


def _of_progress(group: RolloutGroup) -> tuple[float, Mapping[str, Any]] | None:
    """The mean progress, and the evidence for it. None where the rollouts have equal progress."""
    known = [(t.score, t.progress) for t in group.trajectories if t.score is not None and t.progress is not None]
    progress = [found for _, found in known]
    mean = group.progress
    if mean is None or not 0.0 < mean < 1.0 or len(set(progress)) < 2:
        return None
    successes = sum(score >= SUCCESS for score, _ in known)
    return mean, {"of": "progress", "progress": progress, "successes": successes, "rollouts": len(known)}


@hookimpl
def coevolve_signals() -> list[type[Boundary]]:
    return [Boundary]
