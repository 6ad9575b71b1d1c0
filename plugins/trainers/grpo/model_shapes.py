"""The shape of a model: what its memory and its operations depend on, read from its config.json without its weights."""

import json
from pathlib import Path
from typing import Any

from attrs import frozen

from coevolve import UserError


@frozen
class Shape:
    """Of a model: its number of weights, and what its cache and activations depend on. `context` is its own limit in tokens.

    `intermediate` is the size of the feed-forward that a token passes: the visited experts' together. `active` is the number of weights
    that act on a token, 0 for all. `tied`: the head shares the embedding's weights.
    """

    parameters: int
    layers: int
    kv_heads: int
    head_dim: int
    context: int
    hidden: int = 0
    heads: int = 0
    intermediate: int = 0
    vocabulary: int = 0
    tied: bool = True
    active: int = 0

    def cache(self, rows: int, context: int, size: int) -> int:
        """Bytes of keys and values."""
        return 2 * self.layers * self.kv_heads * self.head_dim * size * rows * context

    def adapters(self, rank: int) -> int:
        """Weights of LoRA adapters on every linear layer but the head."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = 2 * (self.hidden + queries) + 2 * (self.hidden + keys)
        return self.layers * rank * (attention + 3 * (self.hidden + self.intermediate))

    def kept(self, lora_rank: int, context: int) -> int:
        """Numbers a token and layer that the backward pass needs."""
        attention, forward = 4 * self.heads * self.head_dim, 4 * self.intermediate
        return (4 * self.hidden + 7 * lora_rank if lora_rank else 6 * self.hidden) + attention + forward + context

    def acting(self) -> int:
        """Weights that a token meets: with a tied head all of them, else all but the embedding's."""
        return self.active or self.parameters - (0 if self.tied else self.vocabulary * self.hidden)


KNOWN = {
    "Qwen/Qwen2.5-7B-Instruct": Shape(7_615_616_512, 28, 4, 128, 32_768, 3584, 28, 18_944, 152_064, tied=False),
    "Qwen/Qwen3-4B-Instruct-2507": Shape(4_022_468_096, 36, 8, 128, 262_144, 2560, 32, 9728, 151_936),
    "Qwen/Qwen3-30B-A3B-Instruct-2507": Shape(
        30_532_122_624, 48, 4, 128, 262_144, 2048, 32, 8 * 768, 151_936, tied=False, active=3_345_000_000
    ),
    "smollm2-135m-instruct": Shape(134_515_008, 30, 3, 64, 8_192, 576, 9, 1536, 49_152),
}
"""Models whose shape is known without their files: those of the recipes."""


def shape_of(model: str, file: Path | None) -> Shape | None:
    """The shape of `model` by its entry in KNOWN, else by `file`, its config.json on this machine (None: it is elsewhere). Fetches nothing.

    None: not known. UserError for a file that is not a model's configuration.
    """
    if model in KNOWN:
        return KNOWN[model]
    if file is None or not _is_object(file):
        return None
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        found = AutoConfig.from_pretrained(file.parent, trust_remote_code=False)
        with torch.device("meta"):
            built: Any = AutoModelForCausalLM.from_config(found, trust_remote_code=False)  # type: ignore[no-untyped-call]  # theirs
        parameters = sum(p.numel() for p in built.parameters())
    except Exception as error:  # a reader of foreign files may raise anything
        raise UserError(f"{file} cannot be read as a model's config ({type(error).__name__}); name another policy.model") from error
    return _read(found.get_text_config(), parameters)


def _read(text: Any, parameters: int) -> Shape:
    heads = text.num_attention_heads
    visited = getattr(text, "num_experts_per_tok", None)
    forward = visited * text.moe_intermediate_size if visited and getattr(text, "moe_intermediate_size", None) else None
    return Shape(
        parameters,
        text.num_hidden_layers,
        getattr(text, "num_key_value_heads", None) or heads,
        getattr(text, "head_dim", None) or text.hidden_size // heads,
        text.max_position_embeddings,
        text.hidden_size,
        heads,
        forward or getattr(text, "intermediate_size", None) or 4 * text.hidden_size,
        text.vocab_size,
        bool(text.tie_word_embeddings),
    )


def _is_object(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_text("utf-8")), dict)
    except (OSError, ValueError):
        return False
