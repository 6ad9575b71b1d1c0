"""`coevolve run --recipe desk-teacher` with real parts: llama.cpp serves SmolLM2 as the teacher, the shipped policy takes GRPO steps."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SMALL = (
    "steps=3", "evolve_every=2", "batch=4", "rollouts=4", "initial_tasks=12", "checkpoint_every=3", "evaluation.every=0",
    "evaluation.final_tasks=20", "synthesizer.explorations=1", "synthesizer.steps=2", "synthesizer.candidates=2", "synthesizer.max_tools=4",
    "synthesizer.max_tokens=120", "synthesizer.context_chars=6000", "synthesizer.timeout=200", "synthesizer.model=smollm2",
)  # fmt: skip
TABLES = ("tasks", "pools", "groups", "trajectories", "signals", "candidates", "verdicts", "metrics", "evaluations")


def run(folder: Path, base_url: str, *more: str) -> str:
    command = [sys.executable, "-m", "coevolve", "run", "--recipe", "desk-teacher", "--out", str(folder), *more]
    for setting in (*SMALL, f"synthesizer.base_url={json.dumps(base_url)}"):
        command += ["--set", setting]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)  # a minute on an idle machine
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(folder / "run.sqlite") as db:
        found = db.execute(sql).fetchall()
    db.close()
    return found


def written(folder: Path) -> dict[str, Any]:
    """A run's pool, trajectories and other results, the teacher's replies, and the digest of the trained weights."""
    found: dict[str, Any] = {table: rows(folder, f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES}
    found["calls"] = rows(
        folder, "SELECT key, digest, reply, fault, prompt_tokens, completion_tokens FROM teacher_calls ORDER BY key, number"
    )
    return found | {"weights": hashlib.sha256((folder / "policy" / "model.safetensors").read_bytes()).hexdigest()}


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(2000)
def test_an_evolution_by_a_real_model_and_its_replay_without_one(real_server: str, tmp_path: Path) -> None:
    out = run(tmp_path / "run", real_server)
    assert "evolution after iteration 2" in out and "held-out success, greedy" in out
    calls = rows(tmp_path / "run", "SELECT purpose, reply, prompt_tokens, completion_tokens FROM teacher_calls WHERE fault IS NULL")
    # The model's text depends on the processor; abstraction is requested only where one of its steps succeeded.
    purposes, candidates = {call[0] for call in calls}, rows(tmp_path / "run", "SELECT candidate FROM candidates")
    assert {"reflect", "explore"} <= purposes <= {"reflect", "explore", "abstract"}
    assert "abstract" in purposes or not candidates
    assert all(reply.strip().startswith("{") and prompt > 100 and completion > 0 for _, reply, prompt, completion in calls)
    assert all(len(json.loads(candidate)["exploration"]) <= 2 for (candidate,) in candidates)

    run(tmp_path / "again", "http://127.0.0.1:9/v1", "--replay", str(tmp_path / "run"))
    assert written(tmp_path / "again") == written(tmp_path / "run")
