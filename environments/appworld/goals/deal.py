"""Deals out goals: different kinds first, and nothing said or done twice."""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from coevolve import Action, Goal

from ..request_linter import fault
from .registry import GOALS
from .scene import Scene, Unavailable
from .snapshot import Snapshot

ROUNDS = 12
"""Times that each kind of goal may come."""
TRIES = 6
"""Choices that are tried for each of them, since many choices do not suit a user's data."""


def goals_in(snapshot: Snapshot, documents: Mapping[str, Mapping[str, Any]], seed: int, count: int) -> tuple[Goal, ...]:
    """Up to `count` goals of the user of `snapshot`; a pure function of its arguments.

    Every kind that the data allows comes once before one comes twice. `documents` are the engine's, by "app.api".
    """
    found: list[Goal] = []
    seen: set[str] = set()
    kinds = [name for name, made in GOALS.items() if all(action in documents for action in made.needs)]
    for turn in range(ROUNDS):
        order = _random(seed, turn, snapshot.key)
        for kind in order.sample(kinds, len(kinds)):
            if len(found) >= count:
                return tuple(found)
            for attempt in range(TRIES):
                goal = make(kind, snapshot, documents, _random(seed, turn, attempt, snapshot.key, kind))
                if goal is not None and not seen & (same := _signs(goal)):
                    seen |= same
                    found.append(goal)
                    break
    return tuple(found)


def make(kind: str, snapshot: Snapshot, documents: Mapping[str, Mapping[str, Any]], rng: random.Random) -> Goal | None:
    """One goal of a kind with the choices of `rng`; None where the user's data does not allow it, or its words have a fault."""
    try:
        wish = GOALS[kind].make(Scene(snapshot, rng))
    except (Unavailable, LookupError):
        return None
    if wish is None or fault(wish.query, wish.actions, documents) is not None:
        return None
    return Goal(kind, wish.query, tuple(wish.actions))


def _signs(goal: Goal) -> set[str]:
    return {goal.query, _written(goal.actions)}


def _written(actions: Sequence[Action]) -> str:
    return json.dumps([[action.name, dict(action.arguments)] for action in actions], sort_keys=True)


def _random(*parts: Any) -> random.Random:
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))
