"""What the user of a task owns and knows, read once for each beginning by running code in a world of that task."""

import json
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from attrs import frozen

from coevolve import Action, Task

from ..beginnings import RunsCode, beginning, start_of
from ..connection import WorldEnded
from ..script import COMPLETE, Calls
from .reading import MARK, PAGE, reading

Row = Mapping[str, Any]
KEPT = 64
"""Snapshots that are kept; a run has one for each user and moment that its tasks begin in."""


@frozen(eq=False)
class Snapshot:
    """The answers that the apps gave to the reading code; `found` has [arguments, answer] of each successful call, by API."""

    key: str
    """A digest of the world that was read."""
    now: datetime
    """The world's date and time."""
    found: Mapping[str, Sequence[tuple[Row, Any]]]

    @property
    def me(self) -> Row:
        """The user's own profile: first_name, last_name, email, phone_number, birthday, sex."""
        return self.one("supervisor.show_profile")

    def rows(self, name: str, /, **arguments: Any) -> list[Row]:
        """The rows of all pages that the API `name` listed, of those calls that had these arguments; empty when it was not read."""
        rows: list[Row] = []
        for given, answer in self.found.get(name, ()):
            if isinstance(answer, list) and all(given.get(key) == value for key, value in arguments.items()):
                rows += [row for row in answer if row not in rows]
        return rows

    def one(self, name: str, /, **arguments: Any) -> Row:
        """The answer of the first call of `name` with these arguments. Raises LookupError when there was none."""
        for given, answer in self.found.get(name, ()):
            if isinstance(answer, Mapping) and all(given.get(key) == value for key, value in arguments.items()):
                return answer
        raise LookupError(f"{name} was not read with {arguments}")

    def next_id(self, name: str, field: str) -> int:
        """The id that the next thing gets which the API `name` creates, from the field of its answer; later ones count on from there."""
        return int(self.one(name)[field])


class Snapshots:
    """Snapshots of the worlds of one data root; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, Snapshot] = {}

    def of(self, worlds: RunsCode, calls: Calls, start: Task, after: Sequence[Action] = ()) -> Snapshot:
        """What is there when `start` begins, once the calls `after` were made. An app that cannot be read is left out.

        Raises LookupError when the data has no such task, ValueError for a call that this environment does not have.
        """
        code = calls.blocks([action for action in after if action.name != COMPLETE])
        key = json.dumps([beginning(worlds.root, start), code])
        with self._lock:
            if key not in self._kept:
                while len(self._kept) >= KEPT:
                    del self._kept[next(iter(self._kept))]
                self._kept[key] = _read(worlds, calls, start, code, key)
            return self._kept[key]


def _read(worlds: RunsCode, calls: Calls, start: Task, code: Sequence[str], key: str) -> Snapshot:
    try:
        made = worlds.trace(start, [*code, *reading(calls)])["calls"]
    except WorldEnded:
        made = []
    marks = [place for place, one in enumerate(made) if one[0] == MARK]
    found: dict[str, list[tuple[Row, Any]]] = {}
    for name, arguments, status, answer in made[marks[-1] + 1 :] if marks else ():
        if status == 200 and not name.endswith((".login", ".show_account_passwords")):
            found.setdefault(name, []).append((arguments, answer))
    return Snapshot(key, _now(worlds, start), found)


def _now(worlds: RunsCode, start: Task) -> datetime:
    specs = json.loads((worlds.root / "data" / "tasks" / start_of(start) / "specs.json").read_text(encoding="utf-8"))
    return datetime.fromisoformat(specs["datetime"])


__all__ = ["PAGE", "Row", "Snapshot", "Snapshots"]
