"""What the loss holds in memory, and what QLoRA needs."""

import gc
import importlib
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from coevolve import UserError
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions


@pytest.mark.nightly
def test_the_loss_never_holds_the_logits() -> None:
    """They would be 1,024 x 150,000 x 4 bytes = 614 MB, and their softmax and gradient as much again."""
    script = Path(__file__).parent / "head_memory.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    assert 0 < int(done.stdout) < 400


def test_only_tokens_that_carry_loss_meet_the_head(grpo: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    utils: Any = importlib.import_module("trl.trainer.utils")

    met: list[int] = []
    apply = utils._ChunkedLogProbFunction.apply

    def spy(hidden: torch.Tensor, *rest: Any) -> Any:
        met.append(len(hidden))
        return apply(hidden, *rest)

    monkeypatch.setattr(utils, "_ChunkedLogProbFunction", SimpleNamespace(apply=spy))
    trainer, loop = grpo(batch=2, rollouts=4, beta=0.1)
    trainer.train(loop, None)
    own = [sum(t.tokens.mask) for group in loop.groups[1] for t in group.trajectories]
    whole = [len(t.tokens.prompt_ids) + len(t.tokens.completion_ids) for group in loop.groups[1] for t in group.trajectories]
    assert sum(met) == 2 * sum(own) < 2 * sum(whole), "once for the policy, once for the reference"


def test_what_qlora_lacks_is_named_in_the_error(tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tiny.save(tmp_path / "model"))
    run: Any = SimpleNamespace(seed=0, steps=1, batch=1, rollouts=2, temperature=1.0, folder=tmp_path / "run", planned=False)

    def refusal(**options: Any) -> str:
        with pytest.raises(UserError) as caught:
            Grpo(GrpoOptions(**options)).setup(policy, run)
        return str(caught.value)

    policy = TransformersPolicy(TransformersOptions(model=path, device="cpu"))
    assert 'choose "4bit"' in refusal(quantize="8bits")
    assert "set trainer.lora_rank" in refusal(quantize="4bit")
    assert "needs a GPU" in refusal(quantize="4bit", lora_rank=4)
    policy.__dict__["placement"] = ("cuda", torch.bfloat16)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install bitsandbytes" in refusal(quantize="4bit", lora_rank=4)


def test_the_model_of_an_evaluation_before_training_is_freed(grpo: Callable[..., Any]) -> None:
    trainer, loop = grpo()
    before = weakref.ref(trainer.policy().model)
    trainer.train(loop, None)
    gc.collect()
    assert before() is None and trainer.policy().model is not None
