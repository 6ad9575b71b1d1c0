"""What was saved is read back and compared before a run is called done."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from coevolve import CoevolveError, UserError


def spoilt(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    weights = load_file(file)
    change(weights)
    save_file(weights, file, metadata={"format": "pt"})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lora_rank": 4},
        {"lora_rank": 2, "lora_targets": ("q_proj",)},
        {"lora_rank": 2, "lora_targets": ("gate_proj", "down_proj")},
        {"dtype": "bfloat16"},
        {"dtype": "bfloat16", "lora_rank": 4},
    ],
)
def test_the_trained_policy_is_what_is_saved(grpo: Callable[..., Any], tmp_path: Path, options: dict[str, Any]) -> None:
    trainer, loop = grpo(steps=2, learning_rate=0.05, **options)
    trainer.train(loop, None)
    trainer.save_policy(tmp_path / "run" / "policy")
    assert trainer._session.rows["completion_ids"]


@pytest.mark.parametrize("options", [{}, {"lora_rank": 4, "learning_rate": 1e-3}])
@pytest.mark.parametrize("name", ["model.embed_tokens.weight", "model.layers.1.self_attn.v_proj.weight", "model.norm.weight"])
def test_a_weight_that_differs_is_an_error_that_says_where_the_weights_are(
    grpo: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], name: str
) -> None:
    trainer, loop = grpo(steps=1, **options)
    trainer.train(loop, None)
    check = trainer._check_saved

    def damaged(model: Any, folder: Path) -> None:
        spoilt(folder, lambda weights: weights.update({name: weights[name] * 1.01}))
        check(model, folder)

    monkeypatch.setattr(trainer, "_check_saved", damaged)
    with pytest.raises(CoevolveError, match=rf"is not the one that was trained: its weight {name} differs .*checkpoint-1$") as caught:
        trainer.save_policy(tmp_path / "run" / "policy")
    assert "\n" not in str(caught.value)


def test_adapters_that_are_lost_are_seen(grpo: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, loop = grpo(steps=2, lora_rank=4, learning_rate=1e-3)
    trainer.train(loop, None)
    monkeypatch.setattr(trainer, "_merged", lambda model: trainer._policy.load())
    with pytest.raises(CoevolveError, match=r"its weight model\.layers\.0\..* differs"):
        trainer.save_policy(tmp_path / "run" / "policy")


def test_other_tokens_and_unreadable_files_are_seen(
    grpo: Callable[..., Any], tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, loop = grpo(steps=1)
    trainer.train(loop, None)
    check, folder = trainer._check_saved, tmp_path / "run" / "policy"
    changes: dict[str, Callable[[], Any]] = {
        "it has another chat template": lambda: (folder / "chat_template.jinja").write_text("{{ messages }}"),
        "cannot be read": lambda: (folder / "model.safetensors").write_bytes(b"\xff" * 99),
        "has no tokenizer file": lambda: (folder / "tokenizer.json").unlink(),
    }
    for what, change in changes.items():
        monkeypatch.setattr(trainer, "_check_saved", lambda model, where, change=change: (change(), check(model, where)))
        with pytest.raises(CoevolveError, match=f"{what}.*the trained weights are in .*checkpoint-1"):
            trainer.save_policy(folder)


def test_an_adapter_on_an_embedding_that_is_the_head_is_refused(grpo: Callable[..., Any]) -> None:
    with pytest.raises(UserError, match="'embed_tokens', the model's head, which takes no adapter"):
        grpo(lora_rank=2, lora_targets=("embed_tokens",))
