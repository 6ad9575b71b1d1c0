"""What accelerate's launcher was asked for, read from the variables that it sets; nothing heavy is imported."""

import os

from coevolve import UserError

REFUSED = {
    "FSDP_OFFLOAD_PARAMS": "fsdp_offload_params",
    "FSDP_ACTIVATION_CHECKPOINTING": "fsdp_activation_checkpointing",
}


def splits(quantize: str, processes: int) -> bool:
    """Whether the weights are split over the processes (FSDP2); UserError for launches that this project cannot train with."""
    if _is("ACCELERATE_USE_DEEPSPEED") and os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE") == "3":
        raise UserError(
            'trainer "grpo" does not train with weights that ZeRO-3 splits: launch with FSDP2 (accelerate launch --use_fsdp '
            "--fsdp_version 2) or DeepSpeed's ZeRO-2"
        )
    if not _is("ACCELERATE_USE_FSDP"):
        return False
    if os.environ.get("FSDP_VERSION") != "2":
        raise UserError('trainer "grpo" trains split weights with FSDP2: add --fsdp_version 2 to accelerate launch')
    if processes == 1:
        raise UserError("FSDP2 splits weights over processes, and this is the only one: start more, such as --num_processes 2")
    if quantize:
        raise UserError(f'trainer.quantize "{quantize}" keeps whole weights: launch without FSDP2, or set trainer.quantize=""')
    for variable, flag in REFUSED.items():
        if _is(variable):
            raise UserError(f"accelerate launch --{flag} true is not supported here: set it to false")
    os.environ["FSDP_STATE_DICT_TYPE"] = "SHARDED_STATE_DICT"
    os.environ.setdefault("FSDP_AUTO_WRAP_POLICY", "TRANSFORMER_BASED_WRAP")
    os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"] = "false"  # every process reads the model
    return True


def _is(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("true", "1")
