"""Whether a model's tokenizer is the one that belongs to it: transformers makes one up where files are missing, and says nothing."""

from pathlib import Path
from typing import Any

from coevolve import UserError

_WHOLE = ("tokenizer.json", "tekken.json")
"""Files that hold a tokenizer by themselves."""
_SENTENCE = "Plain text, as people write it: 3 apples cost 2.50 at the market."
_LEAST_SHARE = 0.5
"""Of the model's rows of embeddings, that the vocabulary must fill: some models have rows to spare, but a tenth or so."""
_FETCH = "fetch or save the whole model folder again"


def check_files(path: str, kind: Any) -> None:
    """UserError where the folder `path` lacks files of the tokenizer; `kind` is its class, None where it could not be made."""
    folder = Path(path)
    if not folder.is_dir() or any((folder / name).is_file() for name in _WHOLE):
        return
    if kind is None:
        found = {file.name for pattern in ("vocab.*", "*.model", "*.tiktoken") for file in folder.glob(pattern)}
        if not found:
            raise UserError(f"model {path!r} has no tokenizer file ({_WHOLE[0]}): {_FETCH}")
        if "vocab.json" in found and not (folder / "merges.txt").is_file():
            raise UserError(f"model {path!r} has no tokenizer file ({_WHOLE[0]}, and without it merges.txt): {_FETCH}")
        return
    needed = [name for key, name in kind.vocab_files_names.items() if key != "tokenizer_file" and "config" not in name]
    missing = [name for name in needed if not (folder / name).is_file()]
    if missing or ("tokenizer_file" in kind.vocab_files_names and not needed):
        instead = f", and without it {' and '.join(missing)}" if missing else ""
        raise UserError(f"model {path!r} has no tokenizer file ({_WHOLE[0]}{instead}): {_FETCH}")


def check_vocabulary(path: str, tokenizer: Any, rows: int) -> None:
    """UserError where the tokenizer does not fit a model with `rows` rows of embeddings, or plain text does not survive it."""
    ids = tokenizer.get_vocab().values()
    if not ids or (largest := max(ids)) < 0:
        raise UserError(f"the tokenizer of model {path!r} is empty: {_FETCH}")
    if largest >= rows:
        raise UserError(
            f"the tokenizer of model {path!r} has ids up to {largest}, but the model has only {rows} embeddings: save the right one with it"
        )
    if len(ids) < _LEAST_SHARE * rows:
        raise UserError(
            f"the tokenizer of model {path!r} has {len(ids)} tokens, but the model has {rows} embeddings: its tokenizer files are missing "
            f"or of another model; {_FETCH}"
        )
    text, back = _there_and_back(tokenizer)
    if "".join(text.split()) != "".join(back.split()):
        raise UserError(
            f"the tokenizer of model {path!r} does not give a text back: {text!r} becomes {back!r}; its files are damaged, incomplete or "
            f"of another model: {_FETCH}"
        )


def _there_and_back(tokenizer: Any) -> tuple[str, str]:
    """A text, and what is left of it: a plain sentence, or words of a vocabulary that is closed."""
    text = _SENTENCE
    ids = tokenizer.encode(text, add_special_tokens=False)
    if tokenizer.unk_token_id is not None and tokenizer.unk_token_id in ids:
        special = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
        words = [word for word, token in sorted(tokenizer.get_vocab().items()) if token not in special and word.isalnum()]
        text = " ".join(words[:8]) or text
        ids = tokenizer.encode(text, add_special_tokens=False)
    return text, str(tokenizer.decode(ids, skip_special_tokens=True))
