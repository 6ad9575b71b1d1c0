"""Which token ids end a completion, where the model's files disagree about it."""

from typing import Any

from coevolve import UserError

from .model_files import reading


def end_ids(tokenizer: Any, declared: Any, end_of_turn: int | None) -> frozenset[int]:
    """The tokenizer's end token, those of `declared` (an id, ids or None), and the chat template's own end of an answer.

    Ids of ordinary text are left out of the declared ones: they are defaults of the library, see `check_end_ids`.
    """
    special = _special(tokenizer)
    found = [tokenizer.eos_token_id, *(token for token in _listed(declared) if token in special)]
    return frozenset(found if end_of_turn is None else [*found, end_of_turn])


def check_end_ids(path: str, tokenizer: Any) -> None:
    """UserError where a file of the model declares an end token that is ordinary text, or no token at all."""
    special, known = _special(tokenizer), set(tokenizer.get_vocab().values())
    for file, declared in _declared(path).items():
        for token in _listed(declared):
            if token not in special:
                what = f"ordinary text ({tokenizer.decode([token])!r})" if token in known else "no token of the tokenizer"
                end = tokenizer.eos_token_id
                raise UserError(
                    f"{file} of model {path!r} declares the end token {token}, which is {what}: set its eos_token_id to {end} "
                    f"({tokenizer.eos_token!r}), or to the special token with which its chat template ends an answer"
                )


def declared_eos(path: str) -> list[int]:
    """Token ids that end a completion according to the model's files."""
    found = list(_declared(path).values())
    return [token for declared in found for token in _listed(declared)]


def _declared(path: str) -> dict[str, Any]:
    """What each of the model's files says itself, without the library's defaults."""
    from transformers import GenerationConfig, PretrainedConfig

    found = {}
    with reading(path):
        config, _ = PretrainedConfig.get_config_dict(path)
        text = config.get("text_config")
        found["config.json"] = config.get("eos_token_id", text.get("eos_token_id") if isinstance(text, dict) else None)
        try:
            generation: Any = GenerationConfig.from_pretrained(path)
        except OSError:  # it is optional
            return found
    found["generation_config.json"] = generation.eos_token_id
    return found


def _listed(declared: Any) -> list[int]:
    return [] if declared is None else [declared] if isinstance(declared, int) else list(declared)


def _special(tokenizer: Any) -> set[int]:
    """Ids that no ordinary text is encoded to."""
    return {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
