"""The calls of a teacher that a run makes: all are stored, recalled by a resume, and replayed by another run.

A call is paid for once it is made, so it stays stored when a run goes back to a checkpoint: the resumed run recalls the answers and reaches
the same result, although a teacher never answers twice alike. `coevolve run --replay RUN` answers every request from RUN.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs

from ..errors import UserError
from ..model import TeacherCall
from ..services import Journal
from ..settings.config import Config
from ..text import command_line
from .store import Store, digest


def read_calls(folder: Path) -> dict[str, list[tuple[str, TeacherCall]]]:
    """The calls of the run in `folder` by key, each with its request's digest; UserError for a folder without any."""
    with closing(Store(folder / "run.sqlite")) as store:
        found = store.teacher_calls()
    if not found:
        raise UserError(f"{folder} has no teacher calls to replay: name a run that asked a teacher, or remove `replay`")
    calls: dict[str, list[tuple[str, TeacherCall]]] = {}
    for request, call in found:
        calls.setdefault(call.key, []).append((request, call))
    return calls


def replayed(config: Config) -> Path | None:
    """The folder of the run that answers this one's requests; UserError where it cannot, None where no run is replayed."""
    if not config.replay:
        return None
    read_calls(Path(config.replay))
    return Path(config.replay)


class StoreJournal:
    """services.Journal over the run's store. `notify` shows the user a line."""

    def __init__(self, store: Store, notify: Callable[[str], None], replay: Path | None = None) -> None:
        self._store, self._notify, self._replay = store, notify, replay
        self._shown_lines: set[str] = set()
        self._lock = threading.RLock()
        self._known: dict[str, list[tuple[str, TeacherCall]]] = {}
        self._mine: list[TeacherCall] = []
        for request, call in store.teacher_calls():
            self._known.setdefault(call.key, []).append((request, call))
            self._mine.append(call)
        self._replayed = read_calls(replay) if replay else {}

    def recall(self, key: str, request: Mapping[str, Any]) -> tuple[TeacherCall, ...]:
        with self._lock:
            wanted = digest(request)
            known = tuple(call for asked, call in self._known.get(key, []) if asked == wanted)
            if self._replay is None:
                return known if known and known[-1].reply is not None else ()
            if known:
                return known
            there = self._replayed.get(key, [])
            found = [call for asked, call in there if asked == wanted]
            if not found:
                what = "asked something else there" if there else "made no such request"
                raise UserError(
                    f"cannot replay {self._replay}: it {what} ({key}); replay with its own settings, seed and versions: "
                    + command_line("coevolve", "run", "--config", self._replay / "config.toml", "--replay", self._replay)
                )
            for call in found:
                self._keep(attrs.evolve(call, request=request))
            return tuple(found)

    def record(self, call: TeacherCall) -> None:
        with self._lock:
            self._keep(call)

    def _keep(self, call: TeacherCall) -> None:
        self._store.add_teacher_call(call)
        bare = attrs.evolve(call, request={})
        self._known.setdefault(call.key, []).append((digest(call.request), bare))
        self._mine.append(bare)

    def calls(self) -> tuple[TeacherCall, ...]:
        with self._lock:
            return tuple(self._mine)

    def notify(self, text: str) -> None:
        with self._lock:
            if text in self._shown_lines:
                return
            self._shown_lines.add(text)
        self._notify(text)


class LateJournal:
    """services.Journal that components get before the run's store exists; it passes everything on to the journal that `open` sets."""

    def __init__(self) -> None:
        self._opened: Journal | None = None
        self._waiting: list[str] = []

    def open(self, journal: Journal) -> None:
        """Use `journal` from now on; first pass on the lines that came before it was there."""
        self._opened = journal
        for text in self._waiting:
            journal.notify(text)

    def _journal(self) -> Journal:
        if self._opened is None:
            raise RuntimeError("the journal opens when the run begins; do not use it in bind_services")
        return self._opened

    def recall(self, key: str, request: Mapping[str, Any]) -> tuple[TeacherCall, ...]:
        return self._journal().recall(key, request)

    def record(self, call: TeacherCall) -> None:
        self._journal().record(call)

    def calls(self) -> tuple[TeacherCall, ...]:
        return self._journal().calls()

    def notify(self, text: str) -> None:
        if self._opened is None:
            self._waiting.append(text)
        else:
            self._opened.notify(text)
