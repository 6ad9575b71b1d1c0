"""Splits of the scenarios. Variants of a scenario share its initial state, so a split is by scenario, never by row or category.

Each kind of scenario (its set of involved classes) is spread evenly, 5 : 1 : 4 over train, dev and test (100, 20, 80 of 200); scenarios
with the same solution or the same initial state in any category go together. So the split is the same in every category. The benchmark is
ordered by class, so its two unshuffled halves train and test on different services; they are offered under their own names only.
"""

import random
from collections.abc import Collection, Mapping, Sequence

SPLITS = ("train", "dev", "test", "all", "first_half", "second_half")
_PATTERN = ("train", "test", "train", "test", "train", "dev", "train", "test", "train", "test")


def assign(scenarios: Mapping[int, Sequence[str]], marks: Mapping[int, Collection[str]], seed: int) -> dict[str, list[int]]:
    """Scenario indices by split; `scenarios` maps an index to its involved classes.

    `marks` maps an index to texts that identify its variants' solutions and initial states; scenarios with a common mark share a split.
    """
    rng = random.Random(seed)
    kinds: dict[tuple[str, ...], list[int]] = {}
    for index in sorted(scenarios):
        kinds.setdefault(tuple(sorted(scenarios[index])), []).append(index)
    shuffled = [index for kind in sorted(kinds) for index in rng.sample(kinds[kind], len(kinds[kind]))]
    split = {index: _PATTERN[place % len(_PATTERN)] for place, index in enumerate(shuffled)}
    _unite(split, {index: set(scenarios[index]) for index in scenarios}, marks)
    found = {name: sorted(index for index in split if split[index] == name) for name in SPLITS}
    half = len(scenarios) // 2
    found["all"] = sorted(scenarios)
    found["first_half"], found["second_half"] = found["all"][:half], found["all"][half:]
    return found


def _unite(split: dict[int, str], kinds: Mapping[int, set[str]], marks: Mapping[int, Collection[str]]) -> None:
    """Bring scenarios with a common mark into one split, each in exchange for another scenario of its kind where there is one."""
    groups = _groups(marks)
    alone = {group[0] for group in groups if len(group) == 1}
    for group in groups:
        home = split[group[0]]
        for index in group[1:]:
            if split[index] != home:
                for other in sorted(alone):
                    if split[other] == home and kinds[other] == kinds[index]:
                        split[other] = split[index]
                        break
                split[index] = home


def _groups(marks: Mapping[int, Collection[str]]) -> list[list[int]]:
    """Scenarios that are linked by common marks, in order."""
    groups: list[list[int]] = []
    known: list[set[str]] = []
    for index in sorted(marks):
        keys, members = set(marks[index]), [index]
        for place in reversed([n for n, other in enumerate(known) if other & keys]):
            members = groups.pop(place) + members
            keys |= known.pop(place)
        groups.append(sorted(members))
        known.append(keys)
    return sorted(groups)
