"""A run's figures so far, collected from the observer hooks for the reporters."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from coevolve import RolloutGroup, Signal

FEEDBACK = ("signals", "synthesis", "validation")
"""Parts of an iteration's time that make up the feedback stage."""


@define
class Progress:
    """Figures of one run. `evaluations`: iteration -> held-out success (0 to 1) by mode. `seconds`: the last iteration's, by part."""

    steps: int
    first: int
    """Iterations that were finished before this process started (0 unless the run was resumed)."""
    iteration: int = 0
    first_finished: float = 0.0
    """Time when this process finished its first iteration (monotonic seconds); 0 before that."""
    reward: float = 0.0
    """Mean score of the last iteration's groups."""
    mixed: float = 0.0
    """Share of the last iteration's groups with unequal scores; only these give a gradient."""
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
        """Take in the figures of a finished iteration; `seconds` by part."""
        means = [group.mean for group in groups if group.mean is not None]
        self.iteration, self.first_finished = iteration, self.first_finished or time.monotonic()
        self.reward = sum(means) / len(means) if means else 0.0
        self.mixed = sum(len(set(group.scores)) > 1 for group in groups) / len(groups) if groups else 0.0
        self.faults += sum(len(group.trajectories) - len(group.scores) for group in groups)
        self.metrics, self.seconds = dict(metrics), dict(seconds)

    def signals_detected(self, signals: Sequence[Signal]) -> None:
        """Count signals by kind."""
        self.signals.update(signal.kind for signal in signals)

    @property
    def remaining(self) -> float | None:
        """Estimated seconds left; None until the second iteration ends. The first one does not count, since it includes the start-up."""
        done = self.iteration - self.first - 1
        return (time.monotonic() - self.first_finished) / done * (self.steps - self.iteration) if done > 0 else None

    def log_line(self) -> str:
        """The last iteration in one line."""
        left = f", {self.remaining:.0f} s left" if self.remaining is not None else ""
        done = f", progress {self.metrics['progress']:.3f}" if "progress" in self.metrics else ""
        loss = f", kl {self.metrics['kl']:.4f}" if "kl" in self.metrics else ""
        loss += f", engine gap {self.metrics['logprob_gap']:.1e}" if "logprob_gap" in self.metrics else ""
        faults = f", {self.faults} faults" if self.faults else ""
        return f"iteration {self.iteration}/{self.steps}: reward {self.reward:.3f}{done}, mixed groups {self.mixed:.2f}{loss}{faults}{left}"


def format_counts(counts: Mapping[str, Any]) -> str:
    """Format counts as "a 1, b 2", or "none".

    >>> format_counts({"boundary": 3, "rare": 1})
    'boundary 3, rare 1'
    """
    return ", ".join(f"{name} {n}" for name, n in counts.items()) or "none"


def format_success(results: Mapping[str, float]) -> str:
    """Format success by mode as "greedy 0.512, sampled 0.433"."""
    return ", ".join(f"{mode} {success:.3f}" for mode, success in results.items())
