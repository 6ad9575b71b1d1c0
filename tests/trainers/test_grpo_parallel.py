"""What is equal in theory: 16 rows at once, 2 micro-batches of 8, 2 processes with 8 each."""

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


def in_two_processes(folder: Path, options: list[dict[str, Any]]) -> Any:
    """What came out for each of the options."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    shared = os.environ | {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(SCRIPT), str(folder), json.dumps(options)]
    both = [
        subprocess.Popen(command, env=shared | {"RANK": rank, "LOCAL_RANK": rank}, stderr=subprocess.PIPE, text=True) for rank in ("0", "1")
    ]
    for process in both:
        _, err = process.communicate(timeout=240)
        assert process.returncode == 0, err[-3000:]
    return torch.load(folder / "made.pt", weights_only=False)


def same(weights: dict[str, torch.Tensor], others: dict[str, torch.Tensor]) -> None:
    assert weights.keys() == others.keys()
    for name, weight in weights.items():
        torch.testing.assert_close(others[name], weight, atol=2e-5, rtol=1e-4)


OPTIONS = [
    {"beta": 0.2, "num_iterations": 2},
    {"beta": 0.1, "exact_group_normaliser": True, "gradient_checkpointing": True},
    {"beta": 0.2, "lora_rank": 2},
]


@pytest.mark.slow
def test_rows_at_once_accumulated_or_over_processes_give_the_same_weights(train: Any, tiny: Any, tmp_path: Path) -> None:
    tiny.save(tmp_path / "model")
    start = tiny.model().state_dict()
    every = [{"learning_rate": 3e-3, **options} for options in OPTIONS]
    for options, made in zip(every, in_two_processes(tmp_path, every), strict=True):
        once, loop = train(tmp_path, options)
        weights = once._trainer.model.state_dict()
        if "lora_rank" not in options:
            assert any((weights[name] - start[name]).abs().max() > 1e-3 for name in start), "training moves the weights"
        halves, _ = train(tmp_path, options | {"micro_batch": 8})
        same(weights, halves._trainer.model.state_dict())
        same(weights, made["weights"])
        for iteration, metrics in loop.metrics.items():
            assert made["metrics"][iteration] == pytest.approx(metrics, rel=1e-3, abs=1e-5)


def test_rows_that_cannot_be_shared_out_are_told(tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    policy = TransformersPolicy(TransformersOptions(model=str(tiny.save(tmp_path / "model"))))
    for rollouts, micro, told in ((3, 0, "3 rows of an iteration .* over 2 processes"), (4, 4, "2 rows .* in each of 2 processes")):
        run: Any = SimpleNamespace(seed=0, steps=1, batch=1, rollouts=rollouts, temperature=1.0, folder=tmp_path / "run")
        with pytest.raises(UserError, match=told):
            Grpo(GrpoOptions(micro_batch=micro)).setup(policy, run)


def test_weights_that_are_split_over_processes_are_refused(tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = TransformersPolicy(TransformersOptions(model=str(tiny.save(tmp_path / "model"))))
    run: Any = SimpleNamespace(seed=0, steps=1, batch=1, rollouts=2, temperature=1.0, folder=tmp_path / "run")
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2")
    Grpo(GrpoOptions()).setup(policy, run)
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "3")
    with pytest.raises(UserError, match="ZeRO-3 splits"):
        Grpo(GrpoOptions()).setup(policy, run)
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(UserError, match="FSDP splits"):
        Grpo(GrpoOptions()).setup(policy, run)
