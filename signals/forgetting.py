"""Forgetting: a task that was solved recently and is not solved now (paper, section on signals).

    exists s in H_recent(task, W): s >= 0.5   and   s_now < 0.5

`s_now` is the mean score over the task's K rollouts in one iteration, H_recent holds its last W attempts before that iteration. The paper
specifies neither; the mean and W = 5 are this project's choice. Rollouts that ended in an infrastructure fault have no score and do not
count.

With `of = "progress"`, this project's addition, s is the mean progress over those of the K rollouts that know theirs; formula and threshold
stay. It tells a task of which less than half is done now, and half or more was done lately. Iterations without progress do not count.
"""

from collections.abc import Sequence
from typing import ClassVar

from attrs import field, frozen, validators

from coevolve import SUCCESS, History, RolloutGroup, Signal, hookimpl


@frozen
class ForgettingOptions:
    """Options of the forgetting signal."""

    window: int = field(default=5, validator=validators.ge(1))
    """W: how many of the task's attempts before this one count (one attempt an iteration). The paper gives no value."""

    of: str = field(default="success", validator=validators.in_(("success", "progress")))
    """What s is: "success" (the mean score, the paper's formula) or "progress" (the mean share of the task that was done)."""


class Forgetting:
    """Yields one signal for each task and iteration. Its strength is the drop from the best recent s to s now."""

    name: ClassVar[str] = "forgetting"
    Options: ClassVar[type] = ForgettingOptions

    def __init__(self, options: ForgettingOptions) -> None:
        self.options = options

    def detect(self, groups: Sequence[RolloutGroup], history: History) -> list[Signal]:
        found: dict[str, Signal] = {}
        by_progress = self.options.of == "progress"
        for group in groups:
            now = group.progress if by_progress else group.mean
            attempts = history.recent(group.task.id, group.iteration, self.options.window)
            recent = [s for s in (attempt.progress if by_progress else attempt.score for attempt in attempts) if s is not None]
            if now is None or now >= SUCCESS or not any(s >= SUCCESS for s in recent):
                continue
            evidence = {"recent": recent, "now": now, "scores": list(group.scores), "window": self.options.window}
            evidence |= {"of": "progress"} if by_progress else {}
            signal = Signal(self.name, group.task.id, group.iteration, min(1.0, max(recent) - now), evidence)
            if signal.id not in found or found[signal.id].strength < signal.strength:
                found[signal.id] = signal
        return list(found.values())


@hookimpl
def coevolve_signals() -> list[type[Forgetting]]:
    return [Forgetting]
