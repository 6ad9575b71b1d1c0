"""Policy "vllm": samples with vLLM in this process; all else is as in policy "transformers": models, chat format, token suffixes.

    [policy]
    name = "vllm"
    model = "Qwen/Qwen3-4B-Instruct-2507"
    cache_gb = 8.0

Token ids go in and come out, so nothing is ever tokenised again. vLLM holds a copy of the weights: after each update the trained ones (with
adapters merged) are copied over before anything more is sampled, and what it had cached of prefixes is dropped.
"""

import copy
import importlib.util
import os
from functools import cached_property
from typing import Any, ClassVar, Self

from attrs import field, frozen
from attrs.validators import gt

from coevolve import UserError, hookimpl

from .transformers import TransformersOptions, TransformersPolicy


@frozen
class VllmOptions(TransformersOptions):
    """Which model, and how vLLM runs it beside what trains it."""

    cache_gb: float = field(default=4.0, validator=gt(0))
    """GB of memory for keys and values, taken at the start and held; vLLM lets rows wait when it is full."""
    eager: bool = False
    """No compiling and no CUDA graphs: a quicker start and slower sampling. On a CPU it is always so."""


class VllmPolicy(TransformersPolicy):
    """Starts vLLM when something is first sampled; that takes a minute or so."""

    name: ClassVar[str] = "vllm"
    Options: ClassVar[type[Any]] = VllmOptions

    options: VllmOptions

    def check(self) -> None:
        """Raise UserError for what can be told without loading anything large."""
        if importlib.util.find_spec("vllm") is None:
            fix = "pip install 'coevolve[vllm]' on a machine with a GPU (docs/engines.md says how without one)"
            raise UserError(f'policy "vllm" needs vLLM, which is not installed: {fix}, or choose policy.name = "transformers"')
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise UserError('policy "vllm" samples in one process; start it without torchrun, or choose policy.name = "transformers"')
        super().check()

    def over(self, model: Any) -> Self:
        """This policy sampling from a live model, with the same vLLM: from now on that one holds `model`'s weights."""
        self.engine.follow(model)
        return copy.copy(self)

    def take_weights(self) -> None:
        """The live model was updated: its weights are copied before the next completion."""
        self.engine.stale = True

    @cached_property
    def eos(self) -> frozenset[int]:
        """Ids that end a completion: the tokenizer's and those that the model declares."""
        from .models import declared_eos

        return frozenset([self.tokenizer.eos_token_id, *declared_eos(self.path)])

    @cached_property
    def engine(self) -> Any:
        from transformers import AutoConfig

        from .model_files import reading
        from .vllm_engine import VllmEngine

        with reading(self.path):
            config = AutoConfig.from_pretrained(self.path, trust_remote_code=False).get_text_config()
        limit = getattr(config, "max_position_embeddings", None) or 2048
        asked = self.options.max_context
        return VllmEngine(self.path, self.eos, min(asked, limit) if asked else limit, self.placement, self.options)


@hookimpl
def coevolve_policies() -> list[type[VllmPolicy]]:
    """Register."""
    return [VllmPolicy]
