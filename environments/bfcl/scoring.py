"""The official verdict on an entry: all or nothing.

For each turn with a non-empty ground truth, at that turn's end: at least one call was made in it; all public attributes of the
services equal the reference's; and the turn's reference results are a sub-multiset of all results so far. An entry that was
force-ended fails. The reference is computed in the running interpreter (one float result depends on Python's version), once a task.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from attrs import frozen

from .apis import Apis
from .decode import Call, ground_truth
from .simulated_apis import SimulatedApis, Start, fresh


@frozen
class ReferenceTurn:
    """The results and the state that a turn's ground truth leads to. Shared between episodes, never changed."""

    results: Counter[str]
    state: dict[str, dict[str, Any]]
    changed: frozenset[tuple[str, str]] = frozenset()
    """Class and name of the attributes that its calls change."""


@lru_cache(maxsize=1024)
def reference(apis: Apis, start: Start, answers: str) -> tuple[ReferenceTurn | None, ...]:
    """The reference of each turn of the ground truth (`answers`: JSON of lists of calls); None for a turn without one."""
    world, turns = fresh(apis, start), list[ReferenceTurn | None]()
    before = fresh(apis, start).public()
    for calls in json.loads(answers):
        results = Counter(world.execute(ground_truth(call, apis.parameters)).text for call in calls)
        after = SimulatedApis(apis, world.save()).public()
        turns.append(ReferenceTurn(results, after, _different(before, after)) if calls else None)
        before = after
    return tuple(turns)


def passes(world: SimulatedApis, turn: ReferenceTurn | None, calls: int, results: Sequence[str]) -> bool:
    """Whether a turn that ends now, with `calls` made in it and `results` since the episode's start, is right."""
    if turn is None:
        return True
    try:
        return calls > 0 and world.public() == turn.state and turn.results <= Counter(results)
    except Exception:  # noqa: BLE001 - a state that cannot be compared is not the reference's
        return False


def share(world: SimulatedApis, turn: ReferenceTurn, calls: int, results: Sequence[str]) -> float:
    """How much of a turn that is not right was done, in [0, 1]: what the verdict compares, one by one.

    The parts are the attributes that the reference changes in this turn, and its results ("None" says nothing and does not count). An
    attribute that differs from the reference and is none of these is a wrong one, which stands in the divisor too.
    """
    if not calls:
        return 0.0
    try:
        differ = _different(world.public(), turn.state)
    except Exception:  # noqa: BLE001 - as in `passes`
        return 0.0
    needed = Counter({text: count for text, count in turn.results.items() if text != "None"})
    there = len(turn.changed - differ) + (needed & Counter(results)).total()
    whole = len(turn.changed | differ) + needed.total()
    return there / whole if whole else 0.0


def _different(first: Mapping[str, Mapping[str, Any]], second: Mapping[str, Mapping[str, Any]]) -> frozenset[tuple[str, str]]:
    """Class and name of the attributes that differ between two states, or cannot be compared."""
    return frozenset(
        (owner, name)
        for owner in first.keys() | second.keys()
        for name in first.get(owner, {}).keys() | second.get(owner, {}).keys()
        if not _equal(first.get(owner, {}).get(name, _ABSENT), second.get(owner, {}).get(name, _ABSENT))
    )


def _equal(first: Any, second: Any) -> bool:
    try:
        return bool(first == second)
    except Exception:  # noqa: BLE001 - what cannot be compared is not the reference's
        return False


_ABSENT = object()


def judge(world: SimulatedApis, turns: Sequence[ReferenceTurn | None], played: Sequence[Sequence[Call]]) -> tuple[bool, ...]:
    """For each turn, whether `played` (the calls in each turn, carried out in the fresh `world`) is right at its end."""
    results, right = list[str](), []
    for turn, calls in zip(turns, played, strict=False):
        results += [world.execute(call).text for call in calls]
        right.append(passes(world, turn, len(calls), results))
    return tuple(right)
