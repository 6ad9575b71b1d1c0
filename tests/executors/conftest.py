"""Runs over a stockroom whose workers die or hang at a set step, in a module that a worker can import."""

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from coevolve import hookimpl
from coevolve.testing import SmallRuns

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
SETS = (
    "environment.name=mortal", "synthesizer.name=programmatic", "steps=4", "batch=4", "initial_tasks=16", "tasks_per_evolution=2",
    "evaluation.every=0", "evaluation.final_tasks=8",
)  # fmt: skip


class MortalPlugin:
    """A plugin with the environment."""

    def __init__(self, environment: type[Any]) -> None:
        self.environment = environment

    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return [self.environment]


@pytest.fixture
def mortals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallRuns]:
    place = tmp_path / "modules"
    place.mkdir()
    (place / "coevolve_test_mortal.py").write_text(MORTAL)
    monkeypatch.syspath_prepend(place)
    import coevolve_test_mortal  # type: ignore[import-not-found]  # made above

    yield SmallRuns(MortalPlugin(coevolve_test_mortal.Mortal), sets=SETS)
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
    """The data that a run wrote, except times and worker faults."""
    with sqlite3.connect(folder / "run.sqlite") as db:
        found: dict[str, Any] = {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES}
        found["metrics"] = db.execute("SELECT * FROM metrics WHERE name != 'worker_faults' ORDER BY 1, 2").fetchall()
    db.close()
    return found | {"policy": (folder / "policy" / "table.json").read_text()}


@pytest.fixture
def written() -> Callable[[Path], dict[str, Any]]:
    return read


def workers() -> set[int]:
    """Process ids of this process's workers, found by their command lines."""
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
