"""Peak memory, in MB over what is held before, of a loss over 8,192 tokens with a vocabulary of 150,000, forward and backward."""

import resource
from types import SimpleNamespace
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from trl.trainer.utils import add_fused_lm_head

from coevolve.plugins.trainers.grpo.trl_trainer import PackedGrpoTrainer, small_tiles

ROWS, WIDTH, VOCABULARY = 8, 1024, 150_000


def main() -> None:
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=WIDTH + 1,
        )
    )
    add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    trainer: Any = PackedGrpoTrainer.__new__(PackedGrpoTrainer)
    trainer.accelerator = SimpleNamespace(autocast=torch.enable_grad)
    trainer._positions = None
    model.base_model.register_forward_hook(trainer._pick)
    small_tiles()
    ids = torch.randint(0, VOCABULARY, (ROWS, WIDTH + 1))
    trainer._scored = torch.ones(ROWS, WIDTH, dtype=torch.bool)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    logps, _, _ = trainer._get_per_token_logps_and_entropies(model, ids, torch.ones_like(ids), WIDTH, compute_entropy=True)
    logps.sum().backward()
    assert model.lm_head.weight.grad is not None
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)


if __name__ == "__main__":
    main()
