"""Digests of states and canonical texts of values: equal exactly when the things compare equal (65 and 65.0 do)."""

import hashlib
import json
import random
from collections.abc import Mapping
from typing import Any


def canonical(value: Any) -> str:
    """JSON text in which equal values look the same."""
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """A digest of `canonical(value)`: 32 hexadecimal digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:32]


_CACHES = frozenset({"_flight_cost_lookup"})
"""Attributes that no later call can see: a booking computes its price anew before it reads the entry of this cache."""


def whole_state(instances: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of the instances, by class, including private ones: what later calls can depend on. Caches are left out."""
    return {
        owner: {name: _place(value) if name == "_current_dir" else value for name, value in vars(instance).items() if name not in _CACHES}
        for owner, instance in instances.items()
    }


def _place(directory: Any) -> list[Any]:
    """A directory by its path as the simulator sees it, and its content (it may have been removed from the tree)."""
    path, place = [], directory
    while place is not None:
        path.append(place.name)
        place = place.parent
    return [path, directory]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return int(value) if isinstance(value, int) or value.is_integer() else repr(value) if value != value else value
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, Mapping):
        return {"dict": sorted(([_plain(key), _plain(inner)] for key, inner in value.items()), key=json.dumps)}
    if isinstance(value, tuple):
        return {"tuple": [_plain(inner) for inner in value]}
    if isinstance(value, set | frozenset):
        return {"set": sorted((_plain(inner) for inner in value), key=json.dumps)}
    if isinstance(value, random.Random):
        return {"random": hashlib.sha256(repr(value.getstate()).encode()).hexdigest()}
    if hasattr(value, "contents"):
        return {"directory": value.name, "contents": _plain(value.contents)}
    if hasattr(value, "content"):
        return {"file": value.name, "content": _plain(value.content)}
    raise TypeError(f"a state holds {type(value).__name__}")
