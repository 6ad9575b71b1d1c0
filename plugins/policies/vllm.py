"""Policy "vllm": samples with vLLM in this process. Models, chat format and token suffixes are those of policy "transformers".

    [policy]
    name = "vllm"
    model = "Qwen/Qwen3-4B-Instruct-2507"
    cache_gb = 8.0

vLLM receives and returns token ids, so sampled text is never tokenised again. vLLM has its own copy of the weights: after each update, and
before the next sample, the trained weights (adapters merged) are copied to it and its prefix cache is reset.
"""

import copy
import importlib.util
import os
from functools import cached_property
from typing import Any, ClassVar, Self

import attrs
from attrs import field, frozen
from attrs.validators import gt

from coevolve import ModelSettings, UserError, hookimpl

from .transformers import TransformersOptions, TransformersPolicy


@frozen
class VllmOptions(TransformersOptions):
    """The model, and how vLLM runs it beside the trainer."""

    cache_gb: float = field(default=4.0, validator=gt(0))
    """Memory in GB for keys and values, allocated at the start; when it is full, conversations wait."""
    eager: bool = False
    """Run without compilation and CUDA graphs: the start is faster and sampling is slower. Always true on a CPU."""


class VllmPolicy(TransformersPolicy):
    """Samples with vLLM, which starts at the first sample; the start takes about a minute. Not thread-safe."""

    name: ClassVar[str] = "vllm"
    Options: ClassVar[type[Any]] = VllmOptions

    options: VllmOptions

    @property
    def model_settings(self) -> ModelSettings:
        """As those of policy "transformers"; vLLM also keeps its own weights and `cache_gb`, during the update too."""
        return attrs.evolve(super().model_settings, cache_gb=self.options.cache_gb)

    def check(self) -> None:
        """Raise UserError where vLLM is missing, in a run of several processes, and for faults of the model's files."""
        if importlib.util.find_spec("vllm") is None:
            fix = "pip install 'coevolve[vllm]' on a machine with a GPU (for others see docs/engines.md)"
            raise UserError(f'policy "vllm" needs vLLM, which is not installed: {fix}, or choose policy.name = "transformers"')
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise UserError('policy "vllm" samples in one process; start it without torchrun, or choose policy.name = "transformers"')
        super().check()

    def over(self, model: Any) -> Self:
        """A copy of this policy that samples from the live model `model`. Both share one vLLM, which now takes `model`'s weights."""
        self.engine.follow(model)
        return copy.copy(self)

    def take_weights(self) -> None:
        """Mark the live model as updated: its weights are copied before the next completion."""
        self.engine.stale = True

    @cached_property
    def eos(self) -> frozenset[int]:
        """As that of policy "transformers", from the model's files."""
        from .end_tokens import declared_eos, end_ids

        return end_ids(self.tokenizer, declared_eos(self.path), self.chat.end_token)

    @cached_property
    def engine(self) -> Any:
        from .vllm_engine import VllmEngine

        return VllmEngine(self.path, self.eos, self.max_context, self.placement, self.options)

    def _config(self) -> Any:
        from transformers import AutoConfig

        from .model_files import reading

        with reading(self.path):
            return AutoConfig.from_pretrained(self.path, trust_remote_code=False)


@hookimpl
def coevolve_policies() -> list[type[VllmPolicy]]:
    return [VllmPolicy]
