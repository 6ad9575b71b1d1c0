"""The REINFORCE trainer of the examples: core's `iterate` drives it, and a resumed run ends as one that was never stopped."""

import importlib.util
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from coevolve import hookimpl
from coevolve.core.cli.main import main
from coevolve.testing import registered

EXAMPLE = Path(__file__).parents[2] / "examples" / "coevolve_reinforce.py"
SMALL = (
    "steps=4", "batch=2", "rollouts=4",
    "initial_tasks=8", "evolve_every=2", "tasks_per_evolution=1", "checkpoint_every=2", "evaluation.final_tasks=4",
)  # fmt: skip


@pytest.fixture
def example() -> Any:
    spec = importlib.util.spec_from_file_location("coevolve_reinforce", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["coevolve_reinforce"] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules["coevolve_reinforce"]


def rows(folder: Path, table: str) -> list[Any]:
    with sqlite3.connect(folder / "run.sqlite") as db:
        found = db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
    db.close()
    return found


class StopAtThree:
    """Interrupts the run in its third iteration, as Ctrl-C does."""

    @hookimpl
    def coevolve_iteration_finished(self, iteration: int) -> None:
        if iteration == 3:
            raise KeyboardInterrupt


def test_it_trains_through_the_loop_and_a_stopped_run_resumes_to_the_same_end(example: Any, tmp_path: Path) -> None:
    config = tmp_path / "reinforce.toml"
    config.write_text('[trainer]\nname = "reinforce"\nlearning_rate = 0.1\n')
    command = ["run", "--config", str(config), *(word for setting in SMALL for word in ("--set", setting))]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    with registered(example):
        assert main([*command, "--out", str(whole)]) == 0
        with registered(StopAtThree()):
            assert main([*command, "--out", str(stopped)]) == 130
        assert main(["resume", str(stopped)]) == 0
    for table in ("tasks", "groups", "trajectories", "signals", "verdicts", "metrics", "evaluations"):
        assert rows(stopped, table) == rows(whole, table), table
    trained = (whole / "policy" / "model.safetensors").read_bytes()
    assert trained == (stopped / "policy" / "model.safetensors").read_bytes()
    assert trained != (whole / "checkpoints" / "2" / "model.safetensors").read_bytes(), "it trains"
