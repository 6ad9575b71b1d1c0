"""Models that cannot be trained are refused before the run, for the true reason."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers

from coevolve import UserError
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions
from coevolve.plugins.trainers.grpo.trainable import check_trainable

SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 52}
ENCODER = "is an encoder: its tokens see the ones after them"
DROPOUT = "drops out values at random in training"


def skeleton(kind: str, **settings: Any) -> Any:
    with torch.device("meta"):
        found: Any = transformers.AutoModelForCausalLM
        return found.from_config(getattr(transformers, kind)(**SMALL | settings))


@pytest.mark.parametrize(
    ("kind", "settings", "why"),
    [
        ("BertConfig", {}, ENCODER),
        ("RobertaConfig", {}, ENCODER),
        ("ElectraConfig", {}, ENCODER),
        ("XLMConfig", {"emb_dim": 32, "n_layers": 1, "n_heads": 2}, ENCODER),
        ("OPTConfig", {"word_embed_proj_dim": 32, "ffn_dim": 32}, DROPOUT + " (dropout 0.1 in OPTDecoder)"),
        ("XGLMConfig", {"d_model": 32, "ffn_dim": 32}, DROPOUT),
        ("LlamaConfig", {"intermediate_size": 48, "attention_dropout": 0.2}, DROPOUT + " (attention_dropout 0.2 in LlamaAttention)"),
        ("Llama4TextConfig", {"num_local_experts": 2, "num_key_value_heads": 1}, "gives no access to it without its head"),
    ],
)
def test_the_true_reason_is_said(kind: str, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError) as caught:
        check_trainable(skeleton(kind, **settings), "tiny")
    assert why in str(caught.value) and "\n" not in str(caught.value)
    assert "max_gap" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("BertConfig", {"is_decoder": True}),
        ("OPTConfig", {"word_embed_proj_dim": 32, "ffn_dim": 32, "dropout": 0.0, "attention_dropout": 0.0}),
        ("GPT2Config", {"n_embd": 32, "n_layer": 1, "n_head": 2}),
        ("GPTNeoXConfig", {"intermediate_size": 48}),
        ("PhiConfig", {"intermediate_size": 48}),
        ("LlamaConfig", {"intermediate_size": 48}),
        ("Qwen3Config", {"intermediate_size": 48}),
        ("Gemma2Config", {"intermediate_size": 48}),
        ("FalconConfig", {}),
        ("BloomConfig", {}),
    ],
)
def test_decoders_whose_dropout_is_switched_off_are_trainable(kind: str, settings: dict[str, Any]) -> None:
    check_trainable(skeleton(kind, **settings), "tiny")


def setup(folder: Path) -> None:
    run = SimpleNamespace(seed=0, steps=1, batch=2, rollouts=2, temperature=1.0, folder=folder / "run", planned=False)
    Grpo(GrpoOptions()).setup(TransformersPolicy(TransformersOptions(model=str(folder))), run)


def test_the_refusal_comes_when_the_trainer_is_set_up(tiny: Any, tmp_path: Path) -> None:
    setup(tiny.save(tmp_path / "right"))
    folder = tiny.save(tmp_path / "dropping", attention_dropout=0.1)
    with pytest.raises(UserError, match=r"dropping' \(LlamaForCausalLM\) drops out values.*config\.json to 0"):
        setup(folder)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"model_type": "qwen3_next", "layer_types": ["linear_attention", "full_attention"]}, "layers of the kind 'linear_attention'"),
        ({"model_type": "lfm2", "layer_types": ["conv", "full_attention"]}, "layers of the kind 'conv'"),
        ({"model_type": "mamba"}, "layers of the kind 'linear_attention'"),
        ({"model_type": "rwkv"}, "no attention"),
    ],
)
def test_layers_that_keep_a_state_are_named(tiny: Any, tmp_path: Path, settings: dict[str, Any], why: str) -> None:
    folder = tiny.save(tmp_path / "model")
    (folder / "config.json").write_text(json.dumps({"vocab_size": 52, "num_hidden_layers": 2, "eos_token_id": 2} | settings))
    with pytest.raises(UserError, match=f"{why}, which policy 'transformers' cannot sample from") as caught:
        TransformersPolicy(TransformersOptions(model=str(folder))).check()
    assert "\n" not in str(caught.value)
