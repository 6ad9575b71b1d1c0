"""What is equal in theory: 16 rows at once, 2 micro-batches of 8, 2 processes with 8 each, whose weights are whole or sharded.

Two processes are nightly here; tests/end_to_end/test_processes.py has a whole run of two in every test run.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from coevolve import UserError
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions

SCRIPT = Path(__file__).parent / "equal_in_theory.py"


@pytest.fixture(scope="module")
def train() -> Any:
    spec = importlib.util.spec_from_file_location("equal_in_theory", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.train


OPTIONS = [
    {"beta": 0.2, "num_iterations": 2},
    {"beta": 0.1, "exact_group_normaliser": True, "gradient_checkpointing": True},
    {"beta": 0.2, "lora_rank": 2},
]
LAUNCHES = {
    "torchrun": [],
    "FSDP2": ["--use_fsdp", "--fsdp_version", "2"],
    "ZeRO-2": ["--use_deepspeed", "--zero_stage", "2"],
    "ZeRO-3": ["--use_deepspeed", "--zero_stage", "3"],
}


def in_two_processes(launch: str, folder: Path, options: list[dict[str, Any]]) -> list[Any]:
    """The metrics for each of the options; the policies are in `folder`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    if how := LAUNCHES[launch]:
        launcher = ["accelerate.commands.launch", *how, "--num_processes", "2", "--num_machines", "1", "--main_process_port", port]
        launcher += ["--mixed_precision", "no", "--dynamo_backend", "no"]
    else:
        launcher = ["torch.distributed.run", "--nproc-per-node", "2", "--master-port", port]
    process = subprocess.run(
        [sys.executable, "-m", *launcher, str(SCRIPT), str(folder), json.dumps(options)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    made: list[Any] = json.loads((folder / "metrics.json").read_text())
    return made


def assert_same(saved: Path, other: Path) -> None:
    weights, others = (load_file(folder / "model.safetensors") for folder in (saved, other))
    assert weights.keys() == others.keys()
    for name, weight in weights.items():
        torch.testing.assert_close(others[name], weight, atol=2e-5, rtol=1e-4)


def moved(saved: Path, start: Path) -> float:
    """The largest change of a weight."""
    weights, before = (load_file(folder / "model.safetensors") for folder in (saved, start))
    return max((weights[name] - before[name]).abs().max().item() for name in before)


def fast(options: dict[str, Any]) -> dict[str, Any]:
    return {"learning_rate": 3e-3, **options}


def assert_equal_metrics(metrics: dict[str, float], others: dict[str, float]) -> None:
    """Within the rounding of float32: the largest gap of a log-probability is itself a rounding error of some 1e-5."""
    assert metrics == pytest.approx(others, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("options", OPTIONS, ids=["two updates a batch", "exact normaliser", "LoRA"])
def test_accumulated_micro_batches_give_the_weights_of_all_rows_at_once(
    options: dict[str, Any], train: Any, tiny: Any, tmp_path: Path
) -> None:
    tiny.save(tmp_path / "model")
    once, _ = train(tmp_path, fast(options))
    once.save_policy(tmp_path / "once")
    assert moved(tmp_path / "once", tmp_path / "model") > 1e-3, "training moves the weights"
    halves, _ = train(tmp_path, fast(options) | {"micro_batch": 8})
    halves.save_policy(tmp_path / "halves")
    assert_same(tmp_path / "once", tmp_path / "halves")


@pytest.mark.nightly
@pytest.mark.parametrize("launch", LAUNCHES)
def test_rows_shared_out_over_two_processes_give_the_weights_of_one(launch: str, train: Any, tiny: Any, tmp_path: Path) -> None:
    if launch.startswith("ZeRO") and importlib.util.find_spec("deepspeed") is None:
        pytest.skip("DeepSpeed, which is not a dependency, is not installed")
    tiny.save(tmp_path / "model")
    every = [fast(options) for options in OPTIONS]
    for number, (options, made) in enumerate(zip(every, in_two_processes(launch, tmp_path, every), strict=True)):
        once, loop = train(tmp_path, options)
        once.save_policy(tmp_path / "once")
        assert moved(tmp_path / "once", tmp_path / "model") > 1e-3, "training moves the weights"
        assert_same(tmp_path / "once", tmp_path / f"policy-{number}")
        for iteration, metrics in loop.metrics.items():
            assert_equal_metrics(made[str(iteration)], metrics)


def test_rows_that_cannot_be_shared_out_evenly_are_refused(tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    policy = TransformersPolicy(TransformersOptions(model=str(tiny.save(tmp_path / "model"))))
    for rollouts, micro, words in ((3, 0, "3 rows of an iteration .* over 2 processes"), (4, 4, "2 rows .* in each of 2 processes")):
        run: Any = SimpleNamespace(seed=0, steps=1, batch=1, rollouts=rollouts, temperature=1.0, folder=tmp_path / "run", planned=False)
        with pytest.raises(UserError, match=words):
            Grpo(GrpoOptions(micro_batch=micro)).setup(policy, run)
