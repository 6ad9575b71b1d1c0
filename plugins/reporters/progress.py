"""What the reporters show: a run's figures so far, gathered from the observer hooks."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from coevolve import RolloutGroup, Signal

FEEDBACK = ("signals", "synthesis", "validation")


@define
class Progress:
    """Figures of one run; `evaluations` maps iteration to success by mode."""

    steps: int
    first: int
    """Iterations that were done before this process took the run up."""
    iteration: int = 0
    paced: float = 0.0
    """When the first iteration of this process was done (monotonic seconds)."""
    reward: float = 0.0
    mixed: float = 0.0
    """Share of groups that hold unequal scores: only these teach."""
    pool: int = 0
    signals: Counter[str] = field(factory=Counter)
    rejected: Counter[str] = field(factory=Counter)
    admitted: int = 0
    faults: int = 0
    evaluations: dict[int, dict[str, float]] = field(factory=dict)
    metrics: dict[str, float] = field(factory=dict)
    seconds: dict[str, float] = field(factory=dict)

    def iteration_finished(
        self, iteration: int, groups: Sequence[RolloutGroup], metrics: Mapping[str, float], seconds: Mapping[str, float]
    ) -> None:
        means = [group.mean for group in groups if group.mean is not None]
        self.iteration, self.paced = iteration, self.paced or time.monotonic()
        self.reward = sum(means) / len(means) if means else 0.0
        self.mixed = sum(len(set(group.scores)) > 1 for group in groups) / len(groups) if groups else 0.0
        self.faults += sum(len(group.trajectories) - len(group.scores) for group in groups)
        self.metrics, self.seconds = dict(metrics), dict(seconds)

    def signals_detected(self, signals: Sequence[Signal]) -> None:
        self.signals.update(signal.kind for signal in signals)

    @property
    def remaining(self) -> float | None:
        """Seconds left at the pace since the first iteration, which pays for the start; None before its end."""
        done = self.iteration - self.first - 1
        return (time.monotonic() - self.paced) / done * (self.steps - self.iteration) if done > 0 else None

    def line(self) -> str:
        """One line for a log."""
        left = f", {self.remaining:.0f} s left" if self.remaining is not None else ""
        loss = f", kl {self.metrics['kl']:.4f}" if "kl" in self.metrics else ""
        loss += f", engine gap {self.metrics['logprob_gap']:.1e}" if "logprob_gap" in self.metrics else ""
        faults = f", {self.faults} faults" if self.faults else ""
        return f"iteration {self.iteration}/{self.steps}: reward {self.reward:.3f}, mixed groups {self.mixed:.2f}{loss}{faults}{left}"


def counted(counts: Mapping[str, Any]) -> str:
    """`a 1, b 2`, or `none`.

    >>> counted({"boundary": 3, "rare": 1})
    'boundary 3, rare 1'
    """
    return ", ".join(f"{name} {n}" for name, n in counts.items()) or "none"


def by_mode(results: Mapping[str, float]) -> str:
    """`greedy 0.512, sampled 0.433`."""
    return ", ".join(f"{mode} {success:.3f}" for mode, success in results.items())
