"""What holds for all tests, and what several folders use: servers that answer over real sockets, a clock that nobody waits for."""

import asyncio
import os
import signal
from collections.abc import Iterator

import local_server
import pytest
from attrs import define, field
from rude_server import RudeServer, serving

from coevolve.plugins.policies import smollm2

ONE_WORKER = {"real_server": "real server", "environment": "appworld"}
"""Fixtures that are dear to set up: with `--dist loadgroup` all their tests go to one worker. A file goes to one worker in any case."""


def pytest_configure(config: pytest.Config) -> None:
    """Two workers on two cores: the threads of torch would only wait for each other. Set before torch is imported, for processes too."""
    if hasattr(config, "workerinput"):
        os.environ["OMP_NUM_THREADS"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.parent.name
        shared = [ONE_WORKER[name] for name in getattr(item, "fixturenames", ()) if name in ONE_WORKER]
        shared = [group for group in shared if group != "appworld" or folder == "appworld"]
        item.add_marker(pytest.mark.xdist_group(shared[0] if shared else f"{folder}/{item.path.stem}"))


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard() -> Iterator[None]:
    """A shell starts what it puts into the background with SIGINT ignored, and every process below inherits that; the tests that interrupt
    a run need one that hears it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything here stays on this machine, without keys that happen to be set."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_LOG", "DASHSCOPE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def rude() -> Iterator[RudeServer]:
    """A server that misbehaves on request."""
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base_url of a real server with a real model; its model is called "smollm2"."""
    if reason := local_server.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("real_server")
    with local_server.running(smollm2.gguf_file(folder), folder / "server.log") as base_url:
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
    """Nothing that asks an endpoint waits for real; `slept` says how long it would have."""
    fake = FakeTime()
    monkeypatch.setattr("coevolve.endpoint.waiting.sleep", fake.sleep)
    monkeypatch.setattr("coevolve.endpoint.waiting.now", fake.now)
    return fake
