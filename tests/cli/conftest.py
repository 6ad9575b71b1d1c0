"""A plugin whose run takes milliseconds (stockroom, tables instead of a model), installed for one test, and the command line on it."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coevolve.core.cli.main import main

PLUGIN = """
from coevolve import hookimpl
from coevolve.testing import Stockroom, TabularPolicy, TabularTrainer

@hookimpl
def coevolve_environments():
    return [Stockroom]

@hookimpl
def coevolve_policies():
    return [TabularPolicy]

@hookimpl
def coevolve_trainers():
    return [TabularTrainer]
"""

SETTINGS = """
steps = 4
evolve_every = 2
batch = 4
rollouts = 4
initial_tasks = 12
tasks_per_evolution = 2
checkpoint_every = 2
max_completions = 20

[evaluation]
every = 0
final_tasks = 20
modes = ["greedy"]

[environment]
name = "stockroom"
[policy]
name = "tabular"
[trainer]
name = "tabular"
[synthesizer]
name = "random"
"""

Call = Callable[..., int]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder, with the plugin installed beside it and its settings in fast.toml."""
    site, work = tmp_path / "site", tmp_path / "work"
    info = site / "coevolve_fast-0.1.0.dist-info"
    info.mkdir(parents=True)
    work.mkdir()
    (site / "coevolve_fast.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: coevolve-fast\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[coevolve]\nfast = coevolve_fast\n")
    (work / "fast.toml").write_text(SETTINGS)
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(work)
    importlib.invalidate_caches()
    yield work
    sys.modules.pop("coevolve_fast", None)


@pytest.fixture
def call(here: Path) -> Call:
    """`call("run", "--steps", "3")` is the exit code of that command."""
    return lambda *arguments: main(arguments)
