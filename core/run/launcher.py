"""What a launcher (torchrun, accelerate launch) told this process: how many ranks a run has, and which one this is."""

import os

from ..errors import UserError

TOLD = ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
"""Variables that a launcher sets beside WORLD_SIZE; torch cannot connect the ranks without them."""
START = "start several processes with torchrun or accelerate launch"


def world_size() -> int:
    """The number of ranks; UserError for a WORLD_SIZE that is not one."""
    return _number("WORLD_SIZE", 1, least=1)


def launched() -> bool:
    """Whether a launcher started several ranks; UserError when several were asked for and one was started."""
    if "WORLD_SIZE" not in os.environ and "MASTER_ADDR" in os.environ and os.environ.get("ACCELERATE_USE_CPU") == "True":
        raise UserError(
            "accelerate launch --cpu starts one process, whatever its --num_processes: for several give --multi_gpu in its place, which "
            "needs no GPU, or use torchrun --nproc-per-node"
        )
    return world_size() > 1


def follows() -> bool:
    """Whether this is one of several ranks, but not rank 0. False where the variables make no sense, which `check_launch` refuses."""
    try:
        return world_size() > 1 and _number("RANK", 0) > 0
    except UserError:
        return False


def another_runs() -> bool:
    """Whether a launcher started this process beside a rank 0, which does alone what is not a run.

    A rank in the environment alone (of a container, say) is not enough: then no other process does it.
    """
    return follows() and "LOCAL_RANK" in os.environ


def check_launch() -> None:
    """UserError for variables from which the ranks of a run could not find each other: they would wait, or end in a traceback."""
    size = world_size()
    if size == 1 and _number("LOCAL_RANK", -1, least=-1) < 0:
        return
    if missing := [name for name in TOLD if not os.environ.get(name)]:
        told = f"WORLD_SIZE is {size}" if "WORLD_SIZE" in os.environ else "LOCAL_RANK is set"
        raise UserError(
            f"{told}, but {', '.join(missing)} is not set, so no launcher started this process: {START}, or unset WORLD_SIZE, RANK and "
            "LOCAL_RANK"
        )
    for name, below in (("RANK", size), ("LOCAL_RANK", size), ("MASTER_PORT", 65536)):
        if _number(name, 0) >= below:
            raise UserError(f"{name} is {os.environ[name]}, but must be less than {below}: {START}, or unset it")


def _number(name: str, default: int, least: int = 0) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    number = int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 10 else least - 1
    if number < least:
        raise UserError(f"the variable {name} is {text!r}, not a number of {least} or more: unset it, or {START}")
    return number
