"""A run in two processes on one machine: equal to one process, ended by the loss of either, resumed.

What trains in two processes is nightly; tests/core/test_processes.py has the parts that need no second process.
"""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from progress import reached

SETTINGS = (
    "steps=4", "batch=4", "rollouts=4", "initial_tasks=12", "evolve_every=2", "tasks_per_evolution=3", "checkpoint_every=2",
    "evaluation.every=0", "evaluation.final_tasks=6", "evaluation.modes=[\"greedy\"]",
    "validators.names=[\"execution\",\"frontier\"]", "validators.frontier.low=0", "validators.frontier.high=3",
)  # fmt: skip
CONFIG = Path(__file__).parents[2] / "docs" / "accelerate-fsdp2.yaml"
EXACT = ("tasks", "pools", "groups", "signals", "candidates", "verdicts", "evaluations")


def run(folder: Path) -> list[str]:
    return ["-m", "coevolve", "run", "--out", str(folder), *(word for setting in SETTINGS for word in ("--set", setting))]


def began(command: list[str], **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200", **variables}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def two(command: list[str]) -> list[subprocess.Popen[str]]:
    """The processes as a launcher would start them, without one that would end the second when the first one ends."""
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    return [began([sys.executable, *command], RANK=rank, LOCAL_RANK=rank, **shared) for rank in ("0", "1")]


def accelerate(*how: str) -> list[str]:
    number = ("--num_processes", "2", "--num_machines", "1", "--main_process_port", free_port())
    return [sys.executable, "-m", "accelerate.commands.launch", *how, *number, "--mixed_precision", "no", "--dynamo_backend", "no"]


def read(folder: Path) -> dict[str, list[Any]]:
    with sqlite3.connect(folder / "run.sqlite") as db:
        found = {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in EXACT}
        for table in ("trajectories", "attempts"):
            found[f"{table}: messages"] = db.execute(f"SELECT trajectory ->> '$.messages', score FROM {table} ORDER BY number").fetchall()
    db.close()
    return found


def assert_same(folder: Path, other: Path) -> None:
    import torch
    from safetensors.torch import load_file

    assert read(folder) == read(other)
    weights, others = (load_file(path / "policy" / "model.safetensors") for path in (folder, other))
    for name, weight in weights.items():
        torch.testing.assert_close(others[name], weight, atol=1e-5, rtol=1e-4)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run in one process."""
    folder = tmp_path_factory.mktemp("processes") / "one"
    process = began([sys.executable, *run(folder)])
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err[-2000:]
    return folder


@pytest.mark.nightly
@pytest.mark.parametrize("launcher", ["torchrun", "accelerate"])
def test_two_processes_do_what_one_does(launcher: str, alone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", free_port()]
    process = began([*(torchrun if launcher == "torchrun" else accelerate("--multi_gpu")), *run(folder)])
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err[-2000:]
    assert out.count("iteration 4/4") == 1 or out.count("iteration 4 of 4") == 1, "one process reports"
    assert len(read(folder)["tasks"]) == 12 + 3 and read(folder)["attempts: messages"]
    assert_same(folder, alone)


@pytest.mark.nightly
def test_a_process_that_dies_ends_the_run_and_two_new_ones_go_on(alone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    first, second = two(run(folder))
    reached(folder, 3)
    second.send_signal(signal.SIGKILL)
    second.communicate(timeout=60)
    _, err = first.communicate(timeout=60)
    assert first.returncode == 3, err[-2000:]
    assert "another of the run's 2 processes ended (this is process 0); go on with: coevolve resume" in err.strip().splitlines()[-1]
    for process in two(["-m", "coevolve", "resume", str(folder)]):
        _, err = process.communicate(timeout=240)
        assert process.returncode == 0, err[-2000:]
    assert_same(folder, alone)


@pytest.mark.nightly
def test_weights_that_fsdp2_shards_are_those_of_one_process_and_are_resumed(alone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "split"
    split = accelerate("--config_file", str(CONFIG))
    process = began([*split, *run(folder)])
    reached(folder, 3)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode, err[-2000:]
    assert list((folder / "checkpoints" / "checkpoint-2" / "optimizer_0").glob("__1_*")), "each process has a part of the moments"
    process = began([*split, "-m", "coevolve", "resume", str(folder)])
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err[-2000:]
    assert_same(folder, alone)


def test_a_process_whose_partner_does_not_start_stops_with_one_line(tmp_path: Path) -> None:
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    first = began([sys.executable, *run(tmp_path / "lone"), "--set", "process_timeout=3"], RANK="0", LOCAL_RANK="0", **shared)
    _, err = first.communicate(timeout=120)
    assert first.returncode == 2, err[-2000:]
    assert "process 0 of 2 did not meet the others" in err.strip().splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.nightly
def test_ctrl_c_ends_both(tmp_path: Path) -> None:
    folder = tmp_path / "stopped"
    both = two(run(folder))
    reached(folder, 1)
    for process in both:
        process.send_signal(signal.SIGINT)
    (_, err), (_, other) = (process.communicate(timeout=60) for process in both)
    assert both[0].returncode in (3, 130) and both[1].returncode in (3, 130), err[-2000:] + other[-2000:]
    assert f"go on with: coevolve resume {folder}" in err.strip().splitlines()[-1]
    assert "Traceback" not in err + other


def test_what_the_first_process_refuses_ends_the_other_quietly(tmp_path: Path) -> None:
    first, second = two([*run(tmp_path / "run"), "--set", "policy.model=/nope"])
    _, err = first.communicate(timeout=120)
    _, other = second.communicate(timeout=120)
    assert (first.returncode, second.returncode) == (2, 2)
    assert err.startswith("coevolve: there is no model folder '/nope'") and err.count("\n") == 1
    assert other == ""
