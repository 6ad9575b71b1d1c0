"""A server that misbehaves on request, a real one, and waits that take no time."""

import asyncio
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from coevolve.plugins.policies import smollm2


def _load(name: str) -> ModuleType:
    """A module of the teacher's tests: tests are no package."""
    path = Path(__file__).parents[1] / "teacher" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"endpoint_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


rude_server, local = _load("rude_server"), _load("local_server")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything here stays on this machine, without keys that happen to be set."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_LOG"):
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


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nothing waits for real; how long it would have."""
    times: list[float] = []
    clock = [1000.0]

    async def sleep(seconds: float) -> None:
        times.append(seconds)
        clock[0] += seconds
        await asyncio.sleep(0)

    monkeypatch.setattr("coevolve.endpoint.waiting.sleep", sleep)
    monkeypatch.setattr("coevolve.endpoint.waiting.now", lambda: clock[0])
    return times
