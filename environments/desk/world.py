"""The desk itself: what lookups find and actions change. All of it follows from a seed and the calls; nothing is random or shared."""

import json
import zlib
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from coevolve import Action

from .tools import ENTITIES, TOOLS, Spec
from .values import FORMS, READ, SIZE


class Refused(Exception):
    """The desk refused a call; the message is the reason in a few words."""


class World:
    """One desk; for one thread at a time. `state` is JSON: the seed, the records of actions by tool, and the number of refused calls.

    A refused call stays on record as an incident, so a task that needed one is not solved.
    """

    def __init__(self, seed: int) -> None:
        self.state: dict[str, Any] = {"seed": seed, "records": {}, "incidents": 0}

    def call(self, action: Action) -> str:
        """Carry out a call and return its result: a value's text for a lookup, "ok" for an action.

        Raises Refused for an unknown tool, wrong arguments, an unknown entity, or a value in a form that the tool does not read.
        """
        try:
            return self._call(action)
        except Refused:
            self.state["incidents"] += 1
            raise

    def _call(self, action: Action) -> str:
        spec = TOOLS.get(action.name)
        if spec is None:
            raise Refused("unknown tool")
        given = action.arguments
        if given.keys() != set(spec.arguments) or not all(isinstance(v, str) for v in given.values()):
            raise Refused("wants " + " ".join(f"{a}=" for a in spec.arguments))
        entity = self._entity(spec, given)
        value = self._value(spec, given)
        if spec.gives:
            texts = FORMS[spec.gives].get(given["as"])
            if texts is None:
                raise Refused(f"unknown form {given['as']}")
            return texts[self._fact(spec.name, entity if entity is not None else str(value))]
        self._record(spec, entity, value)
        return "ok"

    def _entity(self, spec: Spec, given: Mapping[str, Any]) -> str | None:
        if spec.entity is None:
            return None
        name = given[spec.entity]
        if name not in ENTITIES[spec.entity]:
            raise Refused(f"unknown {spec.entity} {name}")
        return str(name)

    def _value(self, spec: Spec, given: Mapping[str, Any]) -> int | None:
        if spec.takes is None or spec.reads is None:
            return None
        meaning = READ[spec.takes, spec.reads].get(given[spec.takes])
        if meaning is None:
            raise Refused(f"cannot read {given[spec.takes]}")
        return meaning

    def _fact(self, name: str, key: str) -> int:
        """The value that a lookup finds: the one that an action has set, else the one that follows from the seed."""
        changed: dict[str, int] = self.state["records"].get(_CHANGED_BY.get(name, ""), {})
        return changed[key] if key in changed else zlib.crc32(f"{self.state['seed']}/{name}/{key}".encode()) % SIZE

    def _record(self, spec: Spec, entity: str | None, value: int | None) -> None:
        """Actions on an entity set it (the last one counts); the others add to a list."""
        records = self.state["records"]
        if entity is None:
            records.setdefault(spec.name, []).append(value)
        else:
            records.setdefault(spec.name, {})[entity] = value

    def digest(self) -> str:
        """A digest of the state: equal exactly for equal states."""
        return sha256(json.dumps(self.state, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def copy(self) -> "World":
        """An independent world in the same state."""
        new = World(self.state["seed"])
        new.state["incidents"] = self.state["incidents"]
        new.state["records"] = {tool: done.copy() for tool, done in self.state["records"].items()}
        return new


_CHANGED_BY: dict[str, str] = {spec.changes: spec.name for spec in TOOLS.values() if spec.changes}
