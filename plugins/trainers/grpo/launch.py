"""How a launcher started the run's ranks, read from the variables that accelerate sets; imports nothing heavy."""

import os
from enum import StrEnum
from pathlib import Path

from coevolve import UserError

REFUSED = ("FSDP_OFFLOAD_PARAMS", "FSDP_ACTIVATION_CHECKPOINTING")


class Launch(StrEnum):
    """How the trained weights are kept and checkpoints are written."""

    WHOLE = "one process or DDP"
    FSDP2 = "FSDP2"
    ZERO = "DeepSpeed"
    """ZeRO-1 or ZeRO-2."""
    ZERO3 = "DeepSpeed with ZeRO-3"

    @property
    def shards(self) -> bool:
        """Whether the weights are sharded: no rank has all of them."""
        return self in (Launch.FSDP2, Launch.ZERO3)


def launch(quantize: str, processes: int) -> Launch:
    """How this process was launched; UserError for launches that trainer "grpo" cannot train with."""
    if _is("ACCELERATE_USE_DEEPSPEED"):
        found = Launch.ZERO3 if os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE") == "3" else Launch.ZERO
    elif _is("ACCELERATE_USE_FSDP"):
        found = Launch.FSDP2
    else:
        return Launch.WHOLE
    if quantize and found.shards:
        raise UserError(f'trainer.quantize "{quantize}" needs whole weights: launch without {found}, or set trainer.quantize=""')
    if found is Launch.FSDP2:
        _check_fsdp(processes)
    return found


def _check_fsdp(processes: int) -> None:
    if os.environ.get("FSDP_VERSION") != "2":
        raise UserError('trainer "grpo" trains sharded weights with FSDP2: add --fsdp_version 2 to accelerate launch')
    if processes == 1:
        raise UserError("FSDP2 shards weights over processes, and this is the only one: start more, such as --num_processes 2")
    for variable in REFUSED:
        if _is(variable):
            raise UserError(f"accelerate launch --{variable.lower()} true cannot be used here: set it to false")
    os.environ["FSDP_STATE_DICT_TYPE"] = "SHARDED_STATE_DICT"
    os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"] = "false"  # every rank reads the model
    os.environ.setdefault("FSDP_AUTO_WRAP_POLICY", "TRANSFORMER_BASED_WRAP")


def check_checkpoint(folder: Path, now: Launch) -> None:
    """UserError for a checkpoint in `folder` that ranks launched as `now` cannot read."""
    was = Launch.FSDP2 if (folder / "pytorch_model_fsdp_0").is_dir() else Launch.ZERO if any(folder.glob("global_step*")) else Launch.WHOLE
    if was != (Launch.ZERO if now is Launch.ZERO3 else now):
        raise UserError(f"{folder} was written by {was}, and this is {now}: resume with the launch line that the run began with")


def _is(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("true", "1")
