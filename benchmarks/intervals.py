"""Paired differences with their 95 % intervals, for the benchmarks that compare arms."""

import math
import statistics
from collections.abc import Sequence

T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093)
"""97.5 % points of Student's t for 1 to 19 degrees of freedom; above that the point for 19 is used, which is a little too wide."""


def interval(gaps: Sequence[float]) -> str:
    """The mean, its 95 % t-interval, and how many are positive; without an interval where there is one."""
    mean, better = statistics.mean(gaps), f"{sum(gap > 0 for gap in gaps)} of {len(gaps)}"
    if len(gaps) < 2:
        return f"{mean:+.3f}, {better}"
    reach = T95[min(len(gaps) - 1, len(T95)) - 1] * statistics.stdev(gaps) / math.sqrt(len(gaps))
    return f"{mean:+.3f} [{mean - reach:+.3f}, {mean + reach:+.3f}], {better}"


def paired(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """`interval` of the differences of pairs."""
    return interval([one - other for one, other in zip(ours, theirs, strict=True)])
