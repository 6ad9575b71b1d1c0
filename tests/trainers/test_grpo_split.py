"""The whole copy of sharded weights that a process rolls out with; test_grpo_parallel.py has it between processes."""

from pathlib import Path
from typing import Any

import pytest
import torch

from coevolve import Sampling, Task
from coevolve.plugins.library_logging import quiet
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.trainers.grpo.sharded_weights import WholeCopy, whole_state


@pytest.fixture
def policy(tiny: Any, tmp_path: Path) -> TransformersPolicy:
    return TransformersPolicy(TransformersOptions(model=str(tiny.save(tmp_path / "model"))))


def drawn(policy: TransformersPolicy, tiny: Any) -> Any:
    talk = [policy.begin(Task("t", "none", "q"), [{"role": "user", "content": tiny.WORDS[row]}], None, row) for row in range(3)]
    policy.complete(talk, Sampling(1.0, 12, 7))
    policy.release()
    return [conversation.tokens for conversation in talk]


def same(tokens: Any, others: Any) -> None:
    for one, other in zip(tokens, others, strict=True):
        assert one.completion_ids == other.completion_ids
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def changed(model: Any, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model


def test_sampling_with_the_copy_follows_the_trained_weights(policy: TransformersPolicy, tiny: Any) -> None:
    trained = changed(policy.load())
    before = drawn(policy, tiny)
    copy = WholeCopy(policy.model, None)
    live = policy.over(copy.model)
    copy.take(trained)
    first = drawn(live, tiny)
    same(first, drawn(policy.over(trained), tiny))
    assert first != before
    copy.drop()
    assert sum(parameter.untyped_storage().nbytes() for parameter in copy.model.parameters()) == 0
    copy.take(changed(trained, seed=1))
    second = drawn(live, tiny)
    same(second, drawn(policy.over(trained), tiny))
    assert second != first
    assert copy.model.lm_head.weight is copy.model.model.embed_tokens.weight, "tied weights stay so"


def test_adapters_are_in_the_copy_too_and_in_the_policys_dtype(tiny: Any, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    adapter = LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM")
    policy = TransformersPolicy(TransformersOptions(model=str(tiny.save(tmp_path / "model")), dtype="bfloat16"))
    with quiet():
        trained = changed(get_peft_model(policy.load(), adapter))
        copy = WholeCopy(policy.model, adapter)
    copy.take(trained)
    theirs = dict(trained.named_parameters())
    for name, parameter in copy.model.named_parameters():
        assert parameter.dtype == torch.bfloat16 and not parameter.requires_grad
        assert torch.equal(parameter, theirs[name].bfloat16())
    state = whole_state(trained, is_first=True)
    assert state and all("lora_" in name and torch.equal(value, theirs[name]) for name, value in state.items())
    assert not whole_state(trained, is_first=False)
