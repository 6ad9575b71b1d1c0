"""Fixtures of the teacher's tests: a server that misbehaves on request, a real one, a journal, a clock that nobody waits for."""

import asyncio
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from attrs import define, field

from coevolve.core.journal import StoreJournal
from coevolve.core.store import Store
from coevolve.plugins.policies import smollm2


def _load(name: str) -> ModuleType:
    """A module beside this file: tests are no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


rude_server, local = _load("rude_server"), _load("local_server")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything here stays on this machine, without keys that happen to be set."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_LOG", "DASHSCOPE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def rude() -> Iterator[Any]:
    """A rude_server.RudeServer."""
    with rude_server.serving() as server:
        yield server


@pytest.fixture(scope="session")
def local_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base_url of a real server with a real model; its model is called "smollm2"."""
    if reason := local.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("local_server")
    with local.running(smollm2._gguf(folder), folder / "server.log") as base_url:
        yield base_url


@define
class FakeTime:
    """A clock that moves only when somebody sleeps."""

    time: float = 1000.0
    slept: list[float] = field(factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)

    def now(self) -> float:
        return self.time


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """Nothing of the teacher waits for real; `slept` says how long it would have."""
    fake = FakeTime()
    monkeypatch.setattr("coevolve.endpoint.waiting.sleep", fake.sleep)
    monkeypatch.setattr("coevolve.endpoint.waiting.now", fake.now)
    return fake


@define
class Opened:
    """A journal, its store, and what it told the user."""

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
    """A journal of a run of its own."""
    return open_journal().journal
