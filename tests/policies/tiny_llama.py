"""A random Llama of a few thousand weights and a tokenizer of whole words, made by the tests and saved like a real model."""

from pathlib import Path
from typing import Any

TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|> {{ message['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)
WORDS = [f"w{n}" for n in range(40)] + ["<think>", "why", "</think>", "question-7041", "answer-7041"]


def tokenizer(template: str = TEMPLATE, more: int = 0) -> Any:
    """The tokenizer; `more` words that nobody uses make it as large as a large model's."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<unk>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"]
    core = Tokenizer(
        models.WordLevel({word: n for n, word in enumerate([*special, *WORDS, *(f"unused-{n}" for n in range(more))])}, unk_token="<unk>")
    )
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=core,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token="<|end|>",
        additional_special_tokens=special[3:],
        padding_side="left",
    )
    made.chat_template = template
    return made


def model(seed: int = 0, context: int = 256, **changes: Any) -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    settings: dict[str, Any] = {
        "vocab_size": 7 + len(WORDS),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": context,
        "initializer_range": 0.6,
        "pad_token_id": 0,
        "bos_token_id": None,
        "eos_token_id": 2,
        "tie_word_embeddings": True,
    }
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made: Any = LlamaForCausalLM(LlamaConfig(**settings | changes))
        return made.eval()


def save(folder: Path, seed: int = 0, template: str = TEMPLATE, more: int = 0, **changes: Any) -> Path:
    model(seed, **changes).save_pretrained(folder)
    tokenizer(template, more).save_pretrained(folder)
    return folder
