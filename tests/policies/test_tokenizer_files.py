"""A tokenizer that is not the model's own is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from coevolve import UserError
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        TransformersPolicy(TransformersOptions(model=str(folder))).check()
    assert "\n" not in str(caught.value) and str(folder) in str(caught.value)
    return str(caught.value)


def saved(tiny: Any, folder: Path, kind: str) -> Path:
    """A model folder whose tokenizer is of `kind`, as its tokenizer_config.json says."""
    tiny.save(folder)
    config = folder / "tokenizer_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"tokenizer_class": kind}))
    return folder


@pytest.mark.parametrize("kind", ["Qwen2Tokenizer", "LlamaTokenizer", "GPT2Tokenizer", "GemmaTokenizer", "TokenizersBackend"])
@pytest.mark.parametrize("also", [[], ["tokenizer_config.json"], ["chat_template.jinja"]])
def test_missing_tokenizer_files_are_what_is_said_to_be_missing(tiny: Any, tmp_path: Path, kind: str, also: list[str]) -> None:
    folder = saved(tiny, tmp_path / "model", kind)
    for name in ("tokenizer.json", *also):
        (folder / name).unlink()
    assert "has no tokenizer file (tokenizer.json" in refusal(folder)


def test_half_of_a_pair_of_files_is_missing(tiny: Any, tmp_path: Path) -> None:
    folder = saved(tiny, tmp_path / "model", "Qwen2Tokenizer")
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text(json.dumps({letter: n for n, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}))
    assert "without it merges.txt" in refusal(folder)


def test_a_small_vocabulary_in_a_large_model(tiny: Any, tmp_path: Path) -> None:
    assert "has 52 tokens, but the model has 200 embeddings" in refusal(tiny.save(tmp_path / "model", vocab_size=200))


def test_rows_to_spare_are_no_fault(tiny: Any, tmp_path: Path) -> None:
    TransformersPolicy(TransformersOptions(model=str(tiny.save(tmp_path / "model", vocab_size=64)))).check()


def change(folder: Path, **parts: Any) -> None:
    file = folder / "tokenizer.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | parts))


SPLIT = {"type": "Split", "pattern": {"String": "w"}, "behavior": "Removed", "invert": False}


@pytest.mark.parametrize("parts", [{"normalizer": {"type": "Prepend", "prepend": "x"}}, {"pre_tokenizer": SPLIT}])
def test_text_that_does_not_survive(tiny: Any, tmp_path: Path, parts: dict[str, Any]) -> None:
    folder = tiny.save(tmp_path / "model")
    change(folder, **parts)
    assert "does not give a text back" in refusal(folder)


def test_a_decoder_that_is_lost(tiny: Any, tmp_path: Path) -> None:
    """Byte-level tokens without their decoder: completions would hold marks in place of spaces."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core = Tokenizer(models.BPE({letter: n for n, letter in enumerate(["<pad>", "<|end|>", *alphabet])}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    folder = tiny.save(tmp_path / "model", vocab_size=258, eos_token_id=1)
    made: Any = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<|end|>")  # type: ignore[no-untyped-call]
    made.chat_template = tiny.TEMPLATE
    made.save_pretrained(folder)
    assert "\u0120" in refusal(folder)
    change(folder, decoder={"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True})
    TransformersPolicy(TransformersOptions(model=str(folder))).check()


def test_the_template_is_said_to_be_missing_where_it_is(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "model")
    (folder / "chat_template.jinja").unlink()
    assert "has no chat template" in refusal(folder)
