"""Installs small third-party distributions for one test."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Install = Callable[..., str]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """`install("thing", source, version=...)` makes the distribution coevolve-thing with the plugin `thing`; returns the plugin's name."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)

    def install(name: str, source: str, version: str = "1.2.3", plugin: str | None = None) -> str:
        module = f"coevolve_test_{name}"
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"coevolve_{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: coevolve-{name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[coevolve]\n{plugin or name} = {module}\n")
        importlib.invalidate_caches()
        return plugin or name

    yield install
    for module in set(sys.modules) - before:
        if module.startswith("coevolve_test_"):
            del sys.modules[module]
