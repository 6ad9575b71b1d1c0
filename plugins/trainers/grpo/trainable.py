"""Whether a model can be trained here, judged by its modules without weights. Each reason to refuse is one that `max_gap` would hide."""

from typing import Any

from coevolve import UserError


def check_trainable(model: Any, name: str) -> None:
    """UserError for an encoder, for dropout that stays on in training, and for a model whose head cannot be told from the rest."""
    from transformers.models.auto import modeling_auto

    config = model.config
    kind = f"model {name!r} ({type(model).__name__})"
    masked: Any = modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if config.model_type in masked and not getattr(config, "is_decoder", False):
        raise UserError(
            f"{kind} is an encoder: its tokens see the ones after them, so what it samples has no fixed probability; choose a decoder"
        )
    for module in model.modules():
        for option, value in vars(module).items():
            if "drop" in option and isinstance(value, float) and value > 0:
                raise UserError(
                    f"{kind} drops out values at random in training ({option} {value:g} in {type(module).__name__}), so the policy that is "
                    "trained would not be the one that samples: set the dropout rates and layerdrop in its config.json to 0"
                )
    if model.base_model is model:
        raise UserError(
            f"{kind} cannot be trained: transformers gives no access to it without its head, which the trainer applies to single tokens; "
            "choose another model"
        )
