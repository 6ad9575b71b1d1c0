"""The token loop: samples the next completion of many conversations at once, and keeps their key-value cache between turns.

Written for small models on CPUs, where a general `generate` spends most of its time outside the model. Each conversation is prefilled once,
equal prompts (the K rollouts of a task) share one prefill, texts of similar length share a forward pass, and a finished row leaves the
batch.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor

from coevolve import Sampling, UserError

from .draw import draw, spoilt, uniforms
from .ragged_cache import RaggedCache

KEPT_ATTENTION = ("sdpa", "eager")
PADS = 512
"""Upper bound on the padding tokens of one pass; shorter rows go to a pass of their own. On a CPU, an extra pass costs less than this."""


class Row(Protocol):
    """The part of a conversation that the loop uses. `ids` are all its token ids; the last ones may not be in the cache yet."""

    ids: list[int]
    row: int

    def wrote(self, token: int, logp: float) -> None:
        """Append a sampled token to `ids`, and store its log-probability `logp`."""


class Lockstep:
    """Samples from `model`, a causal language model of transformers, which peft may wrap. Not thread-safe.

    Raises UserError for a model whose attention does not work with a cache of rows of different lengths.
    """

    def __init__(self, model: Any, eos: frozenset[int], pad: int, max_context: int, autocast: torch.dtype | None = None) -> None:
        self.model, self.eos, self.pad, self.max_context, self._autocast = model, eos, pad, max_context, autocast
        self._config = model.config.get_text_config()
        inner = model.get_base_model() if hasattr(model, "peft_config") else model
        # The argument has two names in the supported versions of transformers, and the old name causes a warning.
        self._cache_argument = "cache" if "cache" in inspect.signature(type(inner).forward).parameters else "past_key_values"
        self._cache: RaggedCache | None = None
        self._rows: list[Row] = []
        self._weights = -1
        self._check()

    def complete(self, rows: Sequence[Row], sampling: Sampling, ended: Callable[[Row], None]) -> None:
        """Sample each row up to its end token, `sampling.max_new_tokens` or the context's end; call `ended(row)` when a row is complete.

        A row without room for a token stays as it is, and `ended` is not called for it.
        """
        live = [row for row in rows if len(row.ids) < self.max_context]
        if live:
            try:
                with self._inference():
                    self._sample(live, sampling, ended)
            except BaseException:  # the cache may hold tokens that the rows do not
                self.release()
                raise

    def release(self) -> None:
        """Free the cache; a conversation that goes on is prefilled again."""
        self._cache, self._rows = None, []

    @contextmanager
    def _inference(self) -> Iterator[None]:
        """Disable gradients and dropout; afterwards every module is in its earlier mode again."""
        training = [module for module in self.model.modules() if module.training]
        device = self.model.device.type
        try:
            self.model.eval()
            with torch.inference_mode(), torch.autocast(device, dtype=self._autocast, enabled=self._autocast is not None):
                yield
        finally:
            for module in training:
                module.training = True

    def _sample(self, live: Sequence[Row], sampling: Sampling, ended: Callable[[Row], None]) -> None:
        logits = self._start(live, sampling.max_new_tokens)
        active = self._rows[: len(live)]
        limit = [min(sampling.max_new_tokens, self.max_context - len(row.ids)) for row in active]
        uniform = uniforms(sampling.seed, [row.row for row in active], [len(row.ids) for row in active], max(limit)).to(logits.device)
        for step in range(max(limit)):
            tokens, logps = draw(logits, uniform[:, step], sampling.temperature)
            for row, token, logp in zip(active, tokens.tolist(), logps.tolist(), strict=True):
                if logp != logp:
                    raise spoilt()
                row.wrote(token, logp)
            going = [row.ids[-1] not in self.eos and step + 1 < most for row, most in zip(active, limit, strict=True)]
            for row, goes_on in zip(active, going, strict=True):
                if not goes_on:
                    ended(row)
            order = self._keep(going)
            if not order:
                break
            if len(order) < len(active) or order != list(range(len(order))):
                active, limit, uniform = self._rows[: len(order)], [limit[n] for n in order], uniform[order]
            logits = self._forward([row.ids[-1:] for row in active])

    def _start(self, live: Sequence[Row], new_tokens: int) -> Tensor:
        """Bring the cache up to each row's last token; return the logits after it, in the order of `self._rows`."""
        weights = sum(p._version for p in self.model.parameters())
        known = {id(row): n for n, row in enumerate(self._rows)}
        if self._cache is None or weights != self._weights or not all(id(row) in known for row in live):
            self._weights = weights
            return self._prefill(live, new_tokens)
        wanted = {id(row) for row in live}
        self._keep([id(row) in wanted for row in self._rows])
        new = [row.ids[held:] for row, held in zip(self._rows[: len(live)], self._cache.lengths, strict=False)]
        passes = in_passes([len(ids) for ids in new])
        if len(passes) > 1:
            order = [n for rows in passes for n in rows] + list(range(len(live), len(self._rows)))
            self._cache.select(order)
            self._rows = [self._rows[n] for n in order]
        return self._feed([[new[n] for n in rows] for rows in passes])

    def _prefill(self, live: Sequence[Row], new_tokens: int) -> Tensor:
        prompts = list(dict.fromkeys(tuple(row.ids) for row in live))
        passes = [[prompts[n] for n in rows] for rows in in_passes([len(ids) for ids in prompts])]
        place = {ids: n for n, ids in enumerate(ids for rows in passes for ids in rows)}
        self._rows = list(live)
        self._cache = RaggedCache(self._config.num_hidden_layers, len(prompts), self.model.device)
        self._cache.reserve(min(max(len(ids) for ids in prompts) + new_tokens, self.max_context))
        logits = self._feed(passes)
        source = [place[tuple(row.ids)] for row in live]
        if source == list(range(len(prompts))):
            return logits
        self._cache.select(source)
        return logits[source]

    def _feed(self, passes: Sequence[Sequence[Sequence[int]]]) -> Tensor:
        """Feed the first rows their next tokens, pass by pass in the rows' order; return the logits after the last token of each."""
        logits, first = [], 0
        for tokens in passes:
            logits.append(self._forward(tokens, first))
            first += len(tokens)
        return torch.cat(logits)

    def _keep(self, going: Sequence[bool]) -> list[int]:
        """Move the rows that go on before those that do not; return the old indices of the rows that go on."""
        assert self._cache is not None
        count = sum(going)
        order = list(range(len(going)))
        behind = [n for n in range(count) if not going[n]]
        ahead = [n for n in range(count, len(going)) if going[n]]
        self._cache.swap(behind, ahead)
        for a, b in zip(behind, ahead, strict=True):
            self._rows[a], self._rows[b] = self._rows[b], self._rows[a]
            order[a], order[b] = order[b], order[a]
        return order[:count]

    def _forward(self, tokens: Sequence[Sequence[int]], first: int = 0) -> Tensor:
        """Feed the rows from `first` on their next tokens; return the logits after the last token of each, shape (rows, vocabulary)."""
        assert self._cache is not None
        ids, positions = self._cache.place(tokens, self.pad, first)
        hidden = torch.arange(self._cache.places.width, device=ids.device) > positions[:, None, :, None]
        dtype = self._autocast or self.model.dtype
        # An additive mask, because attention would convert a boolean one in every layer.
        mask = torch.zeros(hidden.shape, dtype=dtype, device=ids.device).masked_fill_(hidden, torch.finfo(dtype).min)
        out = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_argument: self._cache},
        )
        logits: Tensor = out.logits[:, -1]
        return logits

    def _check(self) -> None:
        """Compare cached logits with those of a plain forward pass; raise UserError for a model that treats masks or caches differently."""
        name, attention = type(self.model).__name__, self._config._attn_implementation
        if attention not in KEPT_ATTENTION:
            raise UserError(f"{name} uses {attention} attention; load it with attn_implementation='sdpa' or 'eager'")
        window = getattr(self._config, "sliding_window", None) if getattr(self._config, "use_sliding_window", True) else None
        if window and window < self.max_context:
            raise UserError(f"{name} attends to the last {window} tokens only: set policy.max_context to {window} or less")
        vocabulary = self._config.vocab_size
        rows = [[(7 * n + 3 * r) % vocabulary for n in range(length)] for r, length in enumerate((9, 6))]
        try:
            with self._inference():
                self._cache = RaggedCache(self._config.num_hidden_layers, 2, self.model.device)
                self._forward([row[:-2] for row in rows])
                logits = self._forward([rows[0][-2:], rows[1][-2:-1]])
                logits[1] = self._forward([rows[0][-1:], rows[1][-1:]])[1]
                plain = torch.stack([self.model(input_ids=torch.tensor([row], device=self.model.device)).logits[0, -1] for row in rows])
        except (RuntimeError, ValueError, TypeError, AttributeError, IndexError) as error:
            raise UserError(f"{name} cannot be sampled by policy 'transformers': {type(error).__name__}: {error}") from error
        finally:
            self._cache = None
        if not torch.isfinite(plain).all():
            where = f" in {folder}" if (folder := self._config.name_or_path or self.model.config.name_or_path) else ""
            fix = "fetch or save the model again, or train it again with a smaller trainer.learning_rate"
            raise UserError(f"the weights of {name}{where} are not finite, or too large to compute with: {fix}")
        gap = (logits.float() - plain.float()).abs().max().item()
        if not gap < (1e-3 if logits.dtype == torch.float32 else 0.1) * (1 + plain.float().abs().max().item()):
            raise UserError(f"{name} cannot be sampled by policy 'transformers': its cached logits differ by {gap:.2g} from a plain pass")


def in_passes(lengths: Sequence[int]) -> list[list[int]]:
    """Row indices by pass, for rows of these lengths: one pass in the given order where it needs at most `PADS` padding tokens.

    Otherwise the rows are sorted, longest first, and each joins the last pass as long as that pass needs at most `PADS` padding tokens.
    """
    if max(lengths) * len(lengths) - sum(lengths) <= PADS:
        return [list(range(len(lengths)))]
    passes: list[list[int]] = []
    pads = 0
    for n in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        pads += lengths[passes[-1][0]] - lengths[n] if passes else 0
        if not passes or pads > PADS:
            passes.append([])
            pads = 0
        passes[-1].append(n)
    return passes
