"""Weights that the launcher shards over the ranks, by FSDP2 or DeepSpeed's ZeRO-3.

    accelerate launch --use_fsdp --fsdp_version 2 --num_processes 8 -m coevolve run ...
    accelerate launch --use_deepspeed --zero_stage 3 --num_processes 8 -m coevolve run ...

Weights, gradients and moments are sharded while a policy is trained. Each rank rolls out its share at its own pace, which sharded weights
do not allow. So each rank has a whole copy in the policy's dtype for its rollouts (`WholeCopy`). The copy takes the weights after every
update, one tensor after the other, and releases its memory for the next update.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from accelerate import PartialState  # type: ignore[import-untyped]
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin  # type: ignore[import-untyped]
from torch import Tensor
from torch.distributed.fsdp import MixedPrecisionPolicy
from torch.distributed.tensor import DTensor


def set_up(trainer: Any) -> None:
    """Let accelerate shard what `trainer` trains, on CPUs too (by itself it does so on GPUs only), with gradients summed in float32."""
    state = trainer.accelerator.state
    if state.distributed_type == DistributedType.MULTI_CPU:
        state.distributed_type = PartialState._shared_state["distributed_type"] = DistributedType.FSDP
        state.fsdp_plugin = FullyShardedDataParallelPlugin()
        trainer.is_fsdp_enabled = True
    half = state.mixed_precision == "bf16"
    state.fsdp_plugin.mixed_precision_policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if half else None


def split_reference(model: Any, accelerator: Any) -> Any:
    """Shard the reference model layer by layer, like the trained one. (TRL would shard it as one layer.)"""
    from accelerate.utils.fsdp_utils import fsdp2_prepare_model  # type: ignore[import-untyped]

    return fsdp2_prepare_model(accelerator, model.requires_grad_(False)).eval()


def first_pass(model: Any) -> None:
    """Run one forward pass of the trained weights.

    FSDP2 chooses the dtype in which gradients are summed at its first pass. With adapters TRL's first pass is the reference's, which trains
    no weights.
    """
    with torch.no_grad():
        model(input_ids=torch.zeros(1, 1, dtype=torch.long, device=next(model.parameters()).device))


@contextmanager
def read_whole() -> Iterator[None]:
    """Inside it, models are loaded whole; transformers would shard them at once when it trains with ZeRO-3."""
    from transformers.integrations import deepspeed as integration

    deepspeed: Any = integration
    config = deepspeed._hf_deepspeed_config_weak_ref
    deepspeed.unset_hf_deepspeed_config()
    try:
        yield
    finally:
        deepspeed._hf_deepspeed_config_weak_ref = config


def meet() -> None:
    """Connect DeepSpeed's ranks, which accelerate does not do on CPUs."""
    import deepspeed

    deepspeed.init_distributed(auto_mpi_discovery=False)


def whole(value: Any, dtype: torch.dtype) -> Any:
    """Gather a sharded weight. A collective call: every rank must make it."""
    if isinstance(value, DTensor):
        part: Any = value.detach().to(dtype)
        return part.full_tensor()
    if hasattr(value, "ds_id"):  # ZeRO-3's mark
        from deepspeed.runtime.zero import GatheredParameters

        with GatheredParameters([value]):
            return value.detach().to(dtype, copy=True)
    return value.detach().to(dtype)


def own(value: Any) -> Any:
    """This rank's shard."""
    return value.to_local() if isinstance(value, DTensor) else value


class WholeCopy:
    """A whole copy of the trained weights on this rank. `model` has the same parameters, by name, as the trained one."""

    def __init__(self, model: Any, adapter: Any) -> None:
        if adapter:
            from peft import get_peft_model

            model = get_peft_model(model, adapter, autocast_adapter_dtype=False)
        self.model = model.requires_grad_(False).eval()
        self._shapes = {name: parameter.shape for name, parameter in model.named_parameters()}

    def take(self, trained: Any) -> None:
        """Copy the current weights of `trained`. A collective call: every rank must make it."""
        source = dict(trained.named_parameters())
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                if parameter.shape != self._shapes[name]:
                    parameter.data = torch.empty(self._shapes[name], dtype=parameter.dtype, device=parameter.device)
                parameter.copy_(whole(source[name], parameter.dtype))

    def drop(self) -> None:
        """Release the memory of the weights; nothing can be sampled before the next `take`."""
        for parameter in self.model.parameters():
            parameter.data = torch.empty(0, dtype=parameter.dtype, device=parameter.device)


def whole_state(model: Any, is_first: bool) -> Mapping[str, Tensor]:
    """Gather the trained weights and buffers of `model` in main memory on rank 0. A collective call: every rank must make it."""
    kept = set(model.state_dict())
    state = {}
    for name, value in chain(model.named_parameters(), model.named_buffers()):
        if name in kept and (value.requires_grad or not isinstance(value, torch.nn.Parameter)):
            found = whole(value, value.dtype)
            if is_first:
                state[name] = found.cpu()
    return state
