"""TRL's GRPOTrainer with the few changes that this project needs.

TRL computes the objective (objective.py); these are the additions around it:
- The language model's head is applied only to positions with loss, and in tiles, so the whole logits are never stored. (On a CPU TRL would
  also compute logits of the prompt and of the environment's tokens.)
- Rows are packed: padding on the left is cut off, and rows of similar length share a micro-batch and a forward pass. So position ids are
  those of sampling, and a row costs in proportion to its length. (TRL pads all rows to the longest row of the batch.)
- Rows with the same tokens are computed once: the rollouts of a task that is mastered are mostly equal. (Not where several processes
  train: all must make the same number of passes.)
- The gap between the sampled log-probabilities and the trainer's own is measured over every iteration's batch.
- Optionally each group has a normaliser of its own, as in the paper's formula for one task.
- A loss or gradient that is not finite stops the run before it can spoil the weights.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import trl.trainer.grpo_trainer as trl_grpo
import trl.trainer.utils as trl_utils
from attrs import astuple, frozen
from torch import Tensor
from trl.trainer.grpo_trainer import GRPOTrainer

from .gpu_memory import PASS_ROWS, TILE_COLUMNS_CPU
from .objective import group_scale
from .sharded_weights import set_up, split_reference

TOOL_MASKS = 2
"""Place of the masks in what TRL's `_generate` gives."""


@frozen
class Gap:
    """The difference between the trainer's log-probabilities of the policy's tokens and those that the engine sampled with."""

    tokens: int = 0
    total: float = 0.0
    """Sum of the absolute differences."""
    max: float = 0.0
    ratios: float = 0.0
    """Sum of the probability ratios, trainer's by engine's: near 1 each when both are the same policy."""

    def with_tokens(self, differences: Tensor) -> "Gap":
        """With `differences` (tokens,) of log-probabilities, trainer's minus engine's; one that is not finite makes the gap infinite."""
        if not differences.numel():
            return self
        size = differences.double().abs().nan_to_num(nan=math.inf, posinf=math.inf)
        return Gap(
            self.tokens + differences.numel(),
            self.total + size.sum().item(),
            max(self.max, size.max().item()),
            self.ratios + differences.double().exp().sum().item(),
        )

    @property
    def mean(self) -> float:
        return self.total / self.tokens if self.tokens else 0.0

    @property
    def ratio(self) -> float:
        return self.ratios / self.tokens if self.tokens else 1.0


class PackedGrpoTrainer(GRPOTrainer):
    """GRPOTrainer with packed rows and the checks above. `exact_group_normaliser` gives each group a normaliser of its own."""

    def __init__(self, *args: Any, exact_group_normaliser: bool = False, fsdp: bool = False, **kwargs: Any) -> None:
        self._exact, self._fsdp = exact_group_normaliser, fsdp
        self.gap = Gap()
        """Of this iteration's batch so far, own log-probabilities being those before the update."""
        self._own: Tensor | None = None
        self.live_policy: Any = None
        """The policy over the model that is trained."""
        self.copy: Any = None
        """Where the weights are sharded: a whole copy of them, which `live_policy` samples with."""
        self.on_bad_loss: Callable[[float], None] = lambda loss: None
        """Called with a loss that is not finite, before the backward pass."""
        self._scored: Tensor | None = None
        """Which of the columns behind the prompt carry loss, (rows, columns)."""
        self._positions: tuple[Tensor, Tensor] | None = None
        self._grad_norm: Any = None
        super().__init__(*args, **kwargs)
        self._step_loss = torch.tensor(0.0, device=self.accelerator.device)
        """Of the optimiser step that is under way: the sum over its micro-batches."""
        for model in (self.model, self.ref_model):
            if model is not None:
                whole: Any = model.get_base_model() if hasattr(model, "peft_config") else model  # type: ignore[operator]  # peft's own
                whole.base_model.register_forward_hook(self._pick)
        if self.accelerator.device.type == "cpu":
            small_tiles()

    def create_accelerator_and_postprocess(self) -> None:
        super().create_accelerator_and_postprocess()
        if self._fsdp:
            set_up(self)
            module: Any = trl_grpo
            module.prepare_fsdp = split_reference

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Tensor:
        loss: Tensor = super().training_step(model, inputs, num_items_in_batch)  # type: ignore[no-untyped-call]  # TRL does not type it
        self._step_loss += loss
        return loss

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        self._grad_norm = super()._get_grad_norm(model, grad_norm=grad_norm)  # type: ignore[no-untyped-call]  # nor this
        return self._grad_norm

    def take_metrics(self) -> dict[str, list[float]]:
        """What TRL measured since this was called last, by its names, with the step's loss and gradient norm; empties TRL's own buffer.

        So what the loop records does not depend on when, or whether, TRL logs.
        """
        found = {name: list(values) for name, values in self._metrics["train"].items()}
        self._metrics["train"].clear()
        found["loss"] = [self.accelerator.gather(self._step_loss).mean().item()]
        self._step_loss = torch.zeros_like(self._step_loss)
        if self._grad_norm is not None:
            found["grad_norm"] = [float(self._grad_norm)]
        return found

    def _send_telemetry(self) -> None:
        """Nothing is sent anywhere."""

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """A checkpoint is not published, so it needs no card."""

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self._exact:
            tokens = self.accelerator.gather((output["completion_mask"] * output["tool_mask"]).sum(dim=1))
            first = self.accelerator.process_index * len(inputs)
            output["advantages"] = output["advantages"] * group_scale(tokens, self.num_generations or 1)[first : first + len(inputs)]
        return output

    def _prepare_inputs(self, generation_batch: Any) -> dict[str, Any]:
        before = self._buffered_inputs
        inputs: dict[str, Any] = super()._prepare_inputs(generation_batch)
        if self._buffered_inputs is not before:
            self._buffered_inputs = by_length(self._buffered_inputs)
            inputs = self._buffered_inputs[self._step % len(self._buffered_inputs)]
        return inputs

    def _generate(self, prompts: list[Any]) -> Any:
        made = super()._generate(prompts)
        masks = made[TOOL_MASKS]
        self._scored = torch.zeros(len(masks), max(map(len, masks)), dtype=torch.bool, device=self.accelerator.device)
        for row, mask in zip(self._scored, masks, strict=True):
            row[: len(mask)] = torch.tensor(mask, dtype=torch.bool)
        return made

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: Tensor,
        attention_mask: Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        compute_aux_loss: bool = False,
        **images: Any,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Log-probabilities and entropies (rows, logits_to_keep) of the last columns' tokens that carry loss; 0 in all other places."""
        assert self._scored is not None
        scored, row_of = self._scored, None
        if self.accelerator.num_processes == 1 and not compute_aux_loss:
            firsts, row_of = distinct_rows(input_ids, attention_mask, scored)
            input_ids, attention_mask, scored = input_ids[firsts], attention_mask[firsts], scored[firsts]
        rows, width = input_ids.shape
        starts, lengths = attention_mask.argmax(dim=1), attention_mask.sum(dim=1)
        prompts = width - logits_to_keep - starts
        found: tuple[list[Tensor], ...] = ([], [], [])
        places: list[Tensor] = []
        asked = {"output_router_logits": True} if compute_aux_loss else {}
        for part in torch.split(lengths.argsort(stable=True), min(PASS_ROWS, batch_size or rows)):
            longest = int(lengths[part].max())
            columns = starts[part, None] + torch.arange(longest, device=part.device)
            real = (columns - starts[part, None] < lengths[part, None]).long()
            ids = input_ids[part].gather(1, columns.clamp(max=width - 1)) * real
            row, column = scored[part].nonzero(as_tuple=True)
            at = prompts[part][row] + column
            with self.accelerator.autocast(), self._kept(row, at - 1):
                out = model(input_ids=ids, attention_mask=real, shift_labels=ids[row, at][None], fused_lm_head=True, **asked)
            for values, value in zip(found, (out.log_probs, out.entropy, out.aux_loss), strict=True):
                values.append(value)
            places.append(part[row] * logits_to_keep + column)
        index = torch.cat(places)

        def placed(values: list[Tensor]) -> Tensor:
            flat = torch.cat([value[0] for value in values])
            whole = flat.new_zeros(rows * logits_to_keep).index_put((index,), flat).view(rows, logits_to_keep)
            return whole if row_of is None else whole[row_of]

        logps = placed(found[0])
        if torch.is_grad_enabled():
            self._own = logps.detach()
        return logps, placed(found[1]) if compute_entropy else None, torch.stack(found[2]).mean() if compute_aux_loss else None

    @contextmanager
    def _kept(self, rows: Tensor, columns: Tensor) -> Iterator[None]:
        """Inside it, the backbones return the hidden states at these positions only, as one row, so the head computes no others."""
        self._positions = (rows, columns)
        try:
            yield
        finally:
            self._positions = None

    def _pick(self, module: Any, arguments: Any, output: Any) -> Any:
        if self._positions is not None:
            output.last_hidden_state = output.last_hidden_state[self._positions][None]
        return output

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        """TRL's loss (objective.py), checked; measures the gap."""
        self._scored = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
        loss: Tensor = super()._compute_loss(model, inputs)  # type: ignore[no-untyped-call]
        if not math.isfinite(loss.item()):
            self.on_bad_loss(loss.item())
        steps: int = self.args.steps_per_generation  # type: ignore[attr-defined]  # typed as the base class's arguments
        if self._step % (steps * self.num_iterations) < steps:
            own = inputs.get("old_per_token_logps", self._own)
            mask = inputs["completion_mask"] * inputs["tool_mask"]
            self.gap = self.gap.with_tokens((own - inputs["sampling_per_token_logps"])[mask.bool()])
        return loss

    def anywhere(self, found: bool) -> bool:
        """Whether any rank `found` something. A collective call: every rank must make it."""
        return bool(self.accelerator.gather(torch.tensor([found], device=self.accelerator.device)).any())

    def whole_gap(self) -> Gap:
        """The gap over all ranks. A collective call: every rank must make it."""
        if self.accelerator.num_processes == 1:
            return self.gap
        own = torch.tensor([[*astuple(self.gap)]], dtype=torch.float64, device=self.accelerator.device)
        parts = self.accelerator.gather(own)
        tokens, total, _, ratios = parts.sum(dim=0).tolist()
        return Gap(int(tokens), total, parts[:, 2].max().item(), ratios)


def distinct_rows(*columns: Tensor) -> tuple[Tensor, Tensor]:
    """For rows that are equal in all `columns` (rows, any): the index of the first of each kind, and for each row the place of its kind."""
    kinds: dict[bytes, int] = {}
    firsts: list[int] = []
    row_of: list[int] = []
    for number, row in enumerate(torch.cat([part.long() for part in columns], dim=1).cpu().numpy()):
        kind = kinds.setdefault(row.tobytes(), len(firsts))
        if kind == len(firsts):
            firsts.append(number)
        row_of.append(kind)
    device = columns[0].device
    return torch.tensor(firsts, device=device), torch.tensor(row_of, device=device)


def by_length(batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows in as many micro-batches of the same size, longest rows first: the gradient's sum is over the same terms."""
    if len(batches) == 1:
        return batches
    lengths = torch.cat([batch["prompt_mask"].sum(dim=1) + batch["completion_mask"].sum(dim=1) for batch in batches])
    order = lengths.argsort(descending=True, stable=True)
    whole = {
        name: torch.cat([batch[name] for batch in batches])[order] if isinstance(first, Tensor) and first.ndim else first
        for name, first in batches[0].items()
    }
    parts: list[dict[str, Any]] = trl_utils.split_tensor_dict(whole, len(batches))
    return parts


def small_tiles() -> None:
    """Use smaller tiles on a CPU, where TRL's head has about eight temporaries of a tile's size: 4 GB with TRL's own setting."""
    trl_utils._CHUNKED_LOGPROB_CHUNK_SIZE = min(TILE_COLUMNS_CPU, trl_utils._CHUNKED_LOGPROB_CHUNK_SIZE)


def rows_for_trl(tokens: Sequence[Any], scores: Sequence[float | None], pad: int) -> Mapping[str, list[Any]]:
    """The rows that `rollout_func` returns for trajectories' `tokens` (None: never sampled) and `scores` (None: infrastructure fault).

    Sampled ids, masks and log-probabilities go in as they are. A row without a score trains nothing: its mask is zero, its score is left
    out of the group's baseline. TRL cannot hold an empty completion, so such a row gets one masked pad.
    """
    rows: dict[str, list[Any]] = {"prompt_ids": [], "completion_ids": [], "env_mask": [], "logprobs": [], "score": list(scores)}
    for row, score in zip(tokens, scores, strict=True):
        empty = row is None or not row.completion_ids
        rows["prompt_ids"].append([pad] if row is None or not row.prompt_ids else list(row.prompt_ids))
        rows["completion_ids"].append([pad] if empty else list(row.completion_ids))
        rows["logprobs"].append([0.0] if empty else list(row.logprobs))
        rows["env_mask"].append([0] if empty else list(row.mask) if score is not None else [0] * len(row.mask))
    return rows
