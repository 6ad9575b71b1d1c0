"""What TRL logs, and when, changes neither the training nor the metrics that the loop records."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from coevolve.plugins.trainers.grpo.trainer import Grpo


@pytest.mark.parametrize("settings", [{"logging_strategy": "steps", "logging_steps": 1}, {"logging_strategy": "steps", "logging_steps": 3}])
def test_a_run_is_the_same_however_trl_logs(grpo: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]) -> None:
    runs = []
    arguments = Grpo._arguments

    def logging(self: Grpo, bf16: bool) -> Any:
        found = arguments(self, bf16)
        for name, value in settings.items():
            setattr(found, name, value)
        return found

    for logs in (False, True):
        if logs:
            monkeypatch.setattr(Grpo, "_arguments", logging)
        trainer, loop = grpo(steps=3, num_iterations=2, micro_batch=4, learning_rate=0.01)
        trainer.train(loop, None)
        logged = [entry for entry in trainer._trainer.state.log_history if "loss" in entry]
        assert bool(logged) == logs, "the run that shall log does log"
        weights = {name: weight.clone() for name, weight in trainer.policy().model.state_dict().items()}
        runs.append((loop.groups, loop.metrics, weights))
    (groups, metrics, weights), (other_groups, other_metrics, other_weights) = runs
    assert (groups, metrics) == (other_groups, other_metrics)
    assert set(metrics[1]) >= {"loss", "reward", "kl", "entropy", "clip_ratio", "grad_norm", "learning_rate", "zero_advantage_groups"}
    assert all(torch.equal(weight, other_weights[name]) for name, weight in weights.items())
