"""Runs over a stockroom whose workers die or hang at a set step, in a module that a worker can import."""

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from coevolve import hookimpl
from coevolve.core.registry import Registry, load_plugins
from coevolve.core.run.drive import start
from coevolve.core.settings.config import Config, load_config
from coevolve.core.workers.remote_environment import placed_environment
from coevolve.testing import Stockroom, TabularPolicy, TabularTrainer

MORTAL = '''
import os, signal, time
from pathlib import Path
from attrs import frozen
from coevolve import Observation, UserError
from coevolve.testing import Stockroom
from coevolve.testing.stockroom import StockroomEpisode

@frozen
class MortalOptions:
    train: int = 40
    test: int = 20
    markers: str = ""
    """Folder: each file in it is one death or one sleep that is still to come."""
    refuses: bool = False

class MortalEpisode(StockroomEpisode):
    def __init__(self, task, goal, markers):
        super().__init__(task, goal)
        self.markers = markers

    def step(self, text):
        if self._calls >= 1 and self.markers:
            for marker in sorted(Path(self.markers).iterdir()):
                try:
                    marker.unlink()
                except FileNotFoundError:
                    continue
                if marker.name.startswith("sleep"):
                    time.sleep(600)
                os.kill(os.getpid(), signal.SIGKILL)
        if text == "raise":
            raise LookupError("no such shelf")
        if text == "leave":
            raise SystemExit(3)
        return super().step(text)

    def metrics(self):
        return {"calls": float(self._calls)}

class Mortal(Stockroom):
    name = "mortal"
    Options = MortalOptions

    def __init__(self, options):
        super().__init__(options)
        if options.refuses:
            raise UserError("mortal needs its data: fetch it")

    def open(self, task):
        plain = super().open(task)
        return MortalEpisode(task, plain._goal, self.options.markers)

    def provenance(self):
        return {"pid": os.getpid()}
'''
TABLES = ("tasks", "pools", "groups", "trajectories", "signals", "candidates", "verdicts", "evaluations")
BASE = (
    "environment.name=mortal", "policy.name=tabular", "trainer.name=tabular", "sampler.name=uniform", 'signals.names=["boundary"]',
    "synthesizer.name=programmatic", 'validators.names=["execution"]', "steps=4", "evolve_every=2", "batch=4", "rollouts=4",
    "initial_tasks=16", "tasks_per_evolution=2", "checkpoint_every=2", "max_completions=20",
    "evaluation.every=0", "evaluation.final_tasks=8",
)  # fmt: skip


class Table:
    """The plugin that brings the environment, and the testing components."""

    def __init__(self, environment: type[Any]) -> None:
        self.environment = environment

    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return list({self.environment, Stockroom})

    @hookimpl
    def coevolve_policies(self) -> list[type]:
        return [TabularPolicy]

    @hookimpl
    def coevolve_trainers(self) -> list[type]:
        return [TabularTrainer]


class Mortals:
    """Makes registries, configurations and runs with the mortal stockroom."""

    def __init__(self, environment: type[Any]) -> None:
        self.environment = environment

    def registry(self, *plugins: object) -> Registry:
        return load_plugins(block=["coevolve.plugins.reporters.*"], extra=[Table(self.environment), *plugins])

    def config(self, registry: Registry, *sets: str) -> Config:
        return load_config(registry, recipe=None, sets=[*BASE, *sets])

    @contextmanager
    def placed(self, *sets: str) -> Iterator[Any]:
        """The environment where the executor of `sets` does its work."""
        registry = self.registry()
        with placed_environment(self.config(registry, *sets), registry) as environment:
            yield environment

    def run(self, folder: Path, *sets: str, plugins: tuple[object, ...] = ()) -> dict[str, Any]:
        registry = self.registry(*plugins)
        return start(self.config(registry, *sets), registry, folder)


@pytest.fixture
def mortals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mortals]:
    place = tmp_path / "modules"
    place.mkdir()
    (place / "coevolve_test_mortal.py").write_text(MORTAL)
    monkeypatch.syspath_prepend(place)
    import coevolve_test_mortal  # type: ignore[import-not-found]  # made above

    yield Mortals(coevolve_test_mortal.Mortal)
    del sys.modules["coevolve_test_mortal"]


@pytest.fixture
def markers(tmp_path: Path) -> Callable[..., str]:
    """`markers("kill", "sleep")` makes the folder of what is still to come; its path."""

    def make(*names: str) -> str:
        folder = tmp_path / "markers"
        folder.mkdir(exist_ok=True)
        for n, name in enumerate(names):
            (folder / f"{name}-{n}").touch()
        return str(folder)

    return make


def read(folder: Path) -> dict[str, Any]:
    """What a run wrote, but for times and worker faults."""
    with sqlite3.connect(folder / "run.sqlite") as db:
        found: dict[str, Any] = {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES}
        found["metrics"] = db.execute("SELECT * FROM metrics WHERE name != 'worker_faults' ORDER BY 1, 2").fetchall()
    db.close()
    return found | {"policy": (folder / "policy" / "table.json").read_text()}


@pytest.fixture
def written() -> Callable[[Path], dict[str, Any]]:
    return read


def workers() -> set[int]:
    """Process ids of this process's workers, by what their command line says."""
    found = set()
    for entry in Path("/proc").iterdir() if os.path.isdir("/proc/self") else ():
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(state[1]) == os.getpid() and b"executors.processes" in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
        except (OSError, IndexError, ValueError):
            continue
    return found


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No worker, and no descriptor of one, outlives its test."""
    assert workers() == set()
    before = len(os.listdir("/dev/fd"))
    yield
    assert workers() == set()
    assert len(os.listdir("/dev/fd")) <= before
