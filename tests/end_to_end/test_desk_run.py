"""`coevolve run` on the desk with the shipped policy and real GRPO steps, as processes: killed, stopped, resumed to the same end."""

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from progress import reached

SMALL = (
    "steps=4", "batch=4", "rollouts=4", "initial_tasks=12", "evolve_every=2", "tasks_per_evolution=3", "checkpoint_every=2",
    "evaluation.every=0", "evaluation.final_tasks=12",
)  # fmt: skip
TABLES = ("tasks", "pools", "groups", "trajectories", "signals", "candidates", "verdicts", "metrics", "evaluations")


def begin(folder: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "coevolve", "run", "--out", str(folder)]
    for setting in (*SMALL, *more):
        command += ["--set", setting]
    return process(command)


def process(command: list[str]) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def go_on(folder: Path) -> subprocess.Popen[str]:
    return process([sys.executable, "-m", "coevolve", "resume", str(folder)])


def ended(run: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    out, err = run.communicate(timeout=240)
    assert run.returncode == code, err[-2000:]
    return out, err


def written(folder: Path) -> dict[str, Any]:
    """Everything that a run wrote but times, and the digest of its weights."""
    with sqlite3.connect(folder / "run.sqlite") as db:
        found: dict[str, Any] = {t: db.execute(f"SELECT * FROM {t} ORDER BY 1, 2").fetchall() for t in TABLES}
    db.close()
    weights = (folder / "policy" / "model.safetensors").read_bytes()
    return found | {"weights": hashlib.sha256(weights).hexdigest()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing disturbs."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    out, _ = ended(begin(folder))
    assert "held-out success, greedy" in out and "feedback stage" in out
    return folder


def test_a_run_evolves_its_pool_and_updates_the_policy(whole: Path) -> None:
    found = written(whole)
    assert len(found["tasks"]) == 12 + 3, "one evolution admits three tasks"
    assert len(found["trajectories"]) == 4 * 4 * 4
    shipped = Path(__file__).parents[2] / "environments" / "desk" / "policy" / "model.safetensors"
    assert found["weights"] != hashlib.sha256(shipped.read_bytes()).hexdigest()
    gaps = [value for iteration, name, value in found["metrics"] if name == "logprob_gap"]
    assert len(gaps) == 4 and max(gaps) < 1e-4, "sampled log-probabilities are the trainer's own"


@pytest.mark.slow
@pytest.mark.parametrize("stopped_first", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["killed", "stopped, then killed"])
def test_a_run_that_is_killed_resumes_to_the_same_weights(whole: Path, tmp_path: Path, stopped_first: bool) -> None:
    """The real weights alone are at stake; tests/core/test_loop.py stops runs at every place, and tests/cli has their last lines."""
    folder = tmp_path / "killed"
    run = begin(folder)
    if stopped_first:
        reached(folder, 1)
        run.send_signal(signal.SIGINT)
        _, err = ended(run, 130)
        assert err.strip().splitlines()[-1] == f"coevolve: stopped; go on with: coevolve resume {folder}"
        run = go_on(folder)
    reached(folder, 3)
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=60)
    out, _ = ended(go_on(folder))
    assert "iteration 2 of 4" in out, "it goes on from the checkpoint"
    assert written(folder) == written(whole)
