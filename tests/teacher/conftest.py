"""Fixtures of the teacher's tests: a journal of a run."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import define

from coevolve.core.record.store import Store
from coevolve.core.record.teacher_calls import StoreJournal


@pytest.fixture(autouse=True)
def _on_this_machine(no_proxy: None) -> None:
    """All these tests send requests to this machine, so no proxy may be set."""


@define
class Opened:
    """A journal, its store, and the lines that it printed."""

    journal: StoreJournal
    store: Store
    told: list[str]


@pytest.fixture
def open_journal(tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens the journal of the run folder `name` (again: as a resume does), which replays the run folder `replay` if one is given."""
    stores = []

    def opened(name: str = "run", replay: str | None = None) -> Opened:
        (tmp_path / name).mkdir(exist_ok=True)
        store = Store(tmp_path / name / "run.sqlite", create=True)
        stores.append(store)
        told: list[str] = []
        return Opened(StoreJournal(store, told.append, tmp_path / replay if replay else None), store, told)

    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def journal(open_journal: Callable[..., Opened]) -> StoreJournal:
    """A journal of a new run."""
    return open_journal().journal
