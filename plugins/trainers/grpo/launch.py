"""How a launcher started the run's ranks, read from the variables that accelerate sets; imports nothing heavy."""

import os
from enum import StrEnum
from pathlib import Path

from coevolve import UserError

FOREIGN = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
"""Counts of processes by other launchers (srun, mpirun), which accelerate takes for its own."""
UNUSED = (
    "ACCELERATE_USE_MEGATRON_LM", "ACCELERATE_USE_PARALLELISM_CONFIG", "ACCELERATE_USE_SAGEMAKER", "ACCELERATE_DOWNCAST_BF16",
)  # fmt: skip
"""Switches of accelerate that would train in another way than the settings say."""
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
    for variable in FOREIGN:
        if processes == 1 and os.environ.get(variable, "").strip() not in ("", "0", "1"):
            raise UserError(
                f"{variable} is {os.environ[variable]}, as srun and mpirun set it, and accelerate would wait for as many processes: unset "
                "it for a run of one process, or start several with torchrun"
            )
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


def check_variables(device: str, half: bool) -> None:
    """UserError for variables that would make accelerate compute otherwise than the settings say, which no record of the run would show.

    `half`: whether the settings mean bfloat16.
    """
    meant = "bf16" if half else "no"
    found = os.environ.get("ACCELERATE_MIXED_PRECISION", "").lower()
    if found not in ("", "no", meant):
        dtype = 'policy.dtype="bfloat16"' if found == "bf16" else "policy.dtype"
        raise UserError(
            f"ACCELERATE_MIXED_PRECISION is {found!r}, but the settings compute in {'bfloat16' if half else 'float32'}: set {dtype}, or "
            f"give accelerate launch --mixed_precision {meant} (without a launcher unset the variable)"
        )
    if (compiler := os.environ.get("ACCELERATE_DYNAMO_BACKEND", "").lower()) not in ("", "no"):
        raise UserError(
            f'trainer "grpo" does not compile the model, but ACCELERATE_DYNAMO_BACKEND is {compiler!r}: unset it, or set it to no'
        )
    if (other := os.environ.get("ACCELERATE_TORCH_DEVICE", device)).partition(":")[0] != device.partition(":")[0]:
        raise UserError(f"ACCELERATE_TORCH_DEVICE is {other!r}, but the policy is on {device}: unset it, or set policy.device")
    for variable in UNUSED:
        if _is(variable):
            raise UserError(f'trainer "grpo" cannot train with {variable}: unset it, or launch without it')


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
