"""The metrics of one iteration, read from TRL without its logging."""

import math
from collections.abc import Mapping, Sequence

METRICS = {
    "loss": "loss",
    "reward": "reward",
    "reward_std": "reward_std",
    "zero_advantage_groups": "frac_reward_zero_std",
    "kl": "kl",
    "entropy": "entropy",
    "clip_ratio": "clip_ratio/region_mean",
    "grad_norm": "grad_norm",
    "learning_rate": "learning_rate",
}
"""Our name of a metric -> TRL's."""
LAST = ("grad_norm", "learning_rate")
"""Metrics whose value is that of the iteration's last optimiser step; the others are means over the iteration."""


class IterationMetrics:
    """What TRL measured in the optimiser steps of one iteration."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}

    def add(self, values: Mapping[str, Sequence[float]]) -> None:
        """Add the values of one optimiser step, by TRL's names."""
        for name, found in values.items():
            self._values.setdefault(name, []).extend(found)

    def means(self) -> dict[str, float]:
        """One number for each metric, by our names; values that are not a number are left out, as TRL does."""
        found = {}
        for name, key in METRICS.items():
            known = self._values.get(key, ())
            values = known[-1:] if name in LAST else [value for value in known if not math.isnan(value)]
            if values:
                found[name] = sum(values) / len(values)
        return found
