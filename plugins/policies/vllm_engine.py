"""vLLM in this process: samples token ids for many conversations, and copies a live model's weights.

vLLM leaves two steps to its caller. After `reload_weights` the CPU build still computes with a packed copy of the old head where head and
embedding are one tensor, so the head is packed again. The prefix cache survives a change of the weights, so it is reset.
"""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coevolve import CoevolveError, Sampling, UserError

from .draw import spoilt, uniforms
from .lockstep import Row

SETTINGS = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # weights are passed as tensors, not through a socket
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # the trainer's threads run in this process too
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}

PREFILLED = 8192
"""Upper bound on the tokens of one vLLM step on a CPU."""


class VllmEngine:
    """The interface of `Lockstep` for vLLM. `placement` is the device and dtype to compute in; `options` are a VllmOptions."""

    def __init__(self, path: str, eos: frozenset[int], max_context: int, placement: tuple[str, Any], options: Any) -> None:
        self.path, self.eos, self.max_context, self.placement, self._options = path, eos, max_context, placement, options
        self.stale = False
        """Whether the live model's weights must be copied before the next sample."""
        self._followed: Any = None
        self._vllm: Any = None

    def follow(self, model: Any) -> None:
        """Sample with the weights of the live model `model` from now on."""
        self._followed, self.stale = model, True

    def complete(self, rows: Sequence[Row], sampling: Sampling, ended: Callable[[Row], None]) -> None:
        """Sample each row up to its end token, `sampling.max_new_tokens` or the context's end; call `ended(row)` when a row is complete.

        A row without room for a token stays as it is, and `ended` is not called for it. Raises UserError for a model that vLLM cannot run.
        """
        live = [row for row in rows if len(row.ids) < self.max_context]
        if live:
            if self._vllm is None:
                self._vllm = self._start()
            if self.stale:
                self._copy_weights()
            self._sample(live, sampling, ended)

    def release(self) -> None:
        """Do nothing: vLLM keeps its cache until the process ends."""

    def _sample(self, live: Sequence[Row], sampling: Sampling, ended: Callable[[Row], None]) -> None:
        from vllm import SamplingParams, TokensPrompt
        from vllm.sampling_params import RequestOutputKind

        params = [
            SamplingParams(
                temperature=sampling.temperature,
                seed=seed,
                max_tokens=min(sampling.max_new_tokens, self.max_context - len(row.ids)),
                stop_token_ids=sorted(self.eos),
                logprobs=0,  # of the sampled token only
                detokenize=False,
                output_kind=RequestOutputKind.FINAL_ONLY,
            )
            for row, seed in zip(live, seeds(sampling.seed, live), strict=True)
        ]
        engine = self._vllm.llm_engine
        try:
            for n, (row, parameters) in enumerate(zip(live, params, strict=True)):
                engine.add_request(str(n), TokensPrompt(prompt_token_ids=list(row.ids)), parameters)
            while engine.has_unfinished_requests():
                for answer in engine.step():
                    self._wrote(live[int(answer.request_id)], answer.outputs[0])
                    ended(live[int(answer.request_id)])
        except BaseException:  # otherwise the next call would receive the answers to these requests
            engine.abort_request(list(engine.output_processor.request_states), internal=True)
            raise

    @staticmethod
    def _wrote(row: Row, written: Any) -> None:
        for token, listed in zip(written.token_ids, written.logprobs, strict=True):
            logp = listed[token].logprob
            if logp != logp:
                raise spoilt()
            row.wrote(token, logp)

    def _start(self) -> Any:
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        device, dtype = self.placement
        with same_random_state():
            from vllm import LLM

            try:
                return LLM(
                    model=self.path,
                    skip_tokenizer_init=True,
                    generation_config="vllm",  # ignore the sampling settings in the model's files
                    dtype=str(dtype).removeprefix("torch."),
                    max_model_len=self.max_context,
                    kv_cache_memory_bytes=int(self._options.cache_gb * 10**9),
                    enforce_eager=self._options.eager or device == "cpu",
                    enable_prefix_caching=True,
                    # Chunked prefill restores seeded generators, which the CPU build cannot do.
                    enable_chunked_prefill=device != "cpu",
                    max_num_batched_tokens=max(self.max_context, PREFILLED) if device == "cpu" else None,
                    logprobs_mode="processed_logprobs",  # of the sampled distribution
                    use_tqdm_on_load=False,
                    disable_log_stats=True,
                )
            # vLLM raises these for a model, a dtype or an amount of memory that it refuses; some of its checks are bare assertions.
            except (ValueError, RuntimeError, NotImplementedError, OSError, AssertionError) as error:
                why = " ".join(str(error).split())[:300]
                raise UserError(
                    f"vLLM cannot run model {self.path!r} ({type(error).__name__}: {why}); try policy.name = transformers"
                ) from error

    @torch.no_grad()
    def _copy_weights(self) -> None:
        with same_random_state():
            self._vllm.collective_rpc("reload_weights", kwargs={"weights_iterator": weights_of(self._followed)})
            self._vllm.apply_model(pack_head)
        if not self._vllm.reset_prefix_cache():
            raise CoevolveError("vLLM did not reset its prefix cache after an update of the weights")
        self.stale = False


def seeds(seed: int, rows: Sequence[Row]) -> list[int]:
    """A 32-bit seed for each row's next completion: a function of (seed, row, number of tokens so far)."""
    drawn = uniforms(seed, [row.row for row in rows], [len(row.ids) for row in rows], 1)
    return [int(u * 2**32) for u in drawn[:, 0].tolist()]


def weights_of(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Pairs of name and weight, named as in the model's files. Adapters are merged into copies; the model does not change.

    It is a generator, so that only one merged copy is in memory at a time.
    """
    if not hasattr(model, "peft_config"):
        yield from model.named_parameters()
        return
    adapted = {}
    base = model.get_base_model()
    for name, module in base.named_modules():
        if hasattr(module, "get_delta_weight"):
            adapted[f"{name}.base_layer.weight"] = module
    for name, weight in base.named_parameters():
        if ".lora_" in name:
            continue
        if name in adapted:
            module = adapted[name]
            for adapter in module.active_adapters:
                weight = weight + module.get_delta_weight(adapter).to(weight.dtype)
        yield name.replace(".base_layer.", "."), weight


def pack_head(model: Any) -> None:
    """Pack the head's weights for the CPU again, as vLLM does after loading. Without effect on GPUs."""
    from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

    for module in model.modules():
        if isinstance(module, ParallelLMHead):
            module.quant_method.process_weights_after_loading(module)


@contextmanager
def same_random_state() -> Iterator[None]:
    """Restore the state of the global random generators after the block: vLLM seeds them, and the trainer uses them."""
    own, theirs = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(own)
        np.random.set_state(theirs)
