"""The official verdict on an entry: all or nothing.

For each turn with a non-empty ground truth, at that turn's end: at least one call was made in it; all public attributes of the
services equal the reference's; and the turn's reference results are a sub-multiset of all results so far. An entry that was
force-ended fails. The reference is computed in the running interpreter (one float result depends on Python's version), once a task.
"""

import json
from collections import Counter
from collections.abc import Sequence
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


@lru_cache(maxsize=1024)
def reference(apis: Apis, start: Start, answers: str) -> tuple[ReferenceTurn | None, ...]:
    """The reference of each turn of the ground truth (`answers`: JSON of lists of calls); None for a turn without one."""
    world, turns = fresh(apis, start), list[ReferenceTurn | None]()
    for calls in json.loads(answers):
        results = Counter(world.execute(ground_truth(call, apis.parameters)).text for call in calls)
        turns.append(ReferenceTurn(results, SimulatedApis(apis, world.save()).public()) if calls else None)
    return tuple(turns)


def passes(world: SimulatedApis, turn: ReferenceTurn | None, calls: int, results: Sequence[str]) -> bool:
    """Whether a turn that ends now, with `calls` made in it and `results` since the episode's start, is right."""
    if turn is None:
        return True
    try:
        return calls > 0 and world.public() == turn.state and turn.results <= Counter(results)
    except Exception:  # noqa: BLE001 - a state that cannot be compared is not the reference's
        return False


def judge(world: SimulatedApis, turns: Sequence[ReferenceTurn | None], played: Sequence[Sequence[Call]]) -> tuple[bool, ...]:
    """For each turn, whether `played` (the calls in each turn, carried out in the fresh `world`) is right at its end."""
    results, right = list[str](), []
    for turn, calls in zip(turns, played, strict=False):
        results += [world.execute(call).text for call in calls]
        right.append(passes(world, turn, len(calls), results))
    return tuple(right)
