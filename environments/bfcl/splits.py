"""Splits of the scenarios. Variants of a scenario share its initial state, so a split is by scenario, never by row or category.

Each kind of scenario (its set of involved classes) is spread evenly: 5 : 1 : 4 for train, dev and test (100, 20, 80 of 200). The benchmark is ordered by
class, so its two unshuffled halves train and test on different services; they are here under their own names only.
"""

import random
from collections.abc import Mapping, Sequence

SPLITS = ("train", "dev", "test", "all", "first_half", "second_half")
_PATTERN = ("train", "test", "train", "test", "train", "dev", "train", "test", "train", "test")


def assign(scenarios: Mapping[int, Sequence[str]], seed: int) -> dict[str, list[int]]:
    """Scenario indices by split; `scenarios` maps an index to its involved classes."""
    rng = random.Random(seed)
    kinds: dict[tuple[str, ...], list[int]] = {}
    for index in sorted(scenarios):
        kinds.setdefault(tuple(sorted(scenarios[index])), []).append(index)
    shuffled = [index for kind in sorted(kinds) for index in rng.sample(kinds[kind], len(kinds[kind]))]
    found: dict[str, list[int]] = {name: [] for name in SPLITS}
    for place, index in enumerate(shuffled):
        found[_PATTERN[place % len(_PATTERN)]].append(index)
        found["all"].append(index)
    for index in scenarios:
        found["first_half" if index < len(scenarios) // 2 else "second_half"].append(index)
    return {name: sorted(indices) for name, indices in found.items()}
