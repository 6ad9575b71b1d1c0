"""The saved policy, read back and compared with the trained one: its weights, its tokens, and what it makes of the last rollouts."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import attrs
import torch

from coevolve import CoevolveError, UserError

from ...policies.vllm_engine import weights_of

ROWS, TOKENS = 4, 512
"""Rollouts that are compared, and tokens of each."""
ROUNDING = {torch.float32: 1e-5, torch.bfloat16: 2.0**-7}
"""By the dtype of the saved policy: difference of two weights, relative to the larger of 1 and the largest weight of their tensor."""
FOUR_BITS = 1.0
"""Largest mean difference of log-probabilities where training had the frozen weights in four bits and the saved policy has them whole."""


def check_saved(policy: Any, live: Any, folder: Path, rows: Mapping[str, Sequence[Any]], largest_gap: float, quantized: bool) -> None:
    """CoevolveError where `folder` does not hold the policy that `live`, a model with adapters or without, is with the tokens of `policy`.

    `rows` has "prompt_ids" and "completion_ids" of rollouts; without any, a short conversation is compared.
    """
    options: Any = getattr(policy, "options", None)
    if not attrs.has(type(options)):
        return
    saved = type(policy)(attrs.evolve(options, model=str(folder), chat_template=""))
    try:
        why = _other_tokens(policy, saved)
        model = None if why else _loaded(saved)
    except UserError as error:
        raise _not_the_same(folder, str(error)) from error
    if model is not None:
        why = "" if quantized else _other_weight(live, model)
        ids = _ids(policy, rows)
        gap = _gap(live, model, ids, policy.placement[1])
        if not why and not gap <= (FOUR_BITS if quantized else largest_gap):
            why = f"its log-probabilities on {len(ids)} rollouts differ by {gap:.2g} a token"
    if why:
        raise _not_the_same(folder, why)


def _loaded(saved: Any) -> Any:
    try:
        return saved.load()
    except UserError:  # a device may have no room for a second model
        return saved.load(device="cpu")


def _other_tokens(policy: Any, saved: Any) -> str:
    mine, other = policy.tokenizer, saved.tokenizer
    if mine.get_vocab() != other.get_vocab() or mine.all_special_ids != other.all_special_ids:
        return "its tokenizer has other tokens"
    return "" if mine.chat_template == other.chat_template else "it has another chat template"


def _other_weight(live: Any, model: Any) -> str:
    """The first weight that is not the trained one, in words; empty where there is none."""
    saved = dict(model.named_parameters())
    for name, weight in weights_of(live):
        if name not in saved:
            return f"it lacks the weight {name}"
        other = saved[name].detach()
        mine = weight.detach().to(other.device, other.dtype)
        if mine.shape != other.shape:
            return f"its weight {name} has the shape {tuple(other.shape)}, the trained one {tuple(mine.shape)}"
        bound = ROUNDING.get(other.dtype, 2.0**-7) * max(1.0, mine.abs().max().item())
        if not (difference := (mine - other).abs().max().item()) <= bound:
            return f"its weight {name} differs by up to {difference:.2g}"
    return ""


def _ids(policy: Any, rows: Mapping[str, Sequence[Any]]) -> list[list[int]]:
    found = zip(rows.get("prompt_ids", ()), rows.get("completion_ids", ()), strict=True)
    whole = [[*prompt, *completion][:TOKENS] for prompt, completion in found if len(prompt) + len(completion) > 1]
    return whole[:ROWS] or [policy.tokenizer.apply_chat_template([{"role": "user", "content": "Hello"}], return_dict=False)[:TOKENS]]


def _gap(live: Any, model: Any, rows: Sequence[Sequence[int]], dtype: torch.dtype) -> float:
    """The mean absolute difference of the two models' log-probabilities over the tokens of `rows`."""
    total, count = 0.0, 0
    with torch.no_grad(), _evaluating(live):
        for row in rows:
            mine, other = (_logps(one, row, dtype) for one in (live, model))
            total += (mine - other).abs().sum().item()
            count += len(mine)
    return total / max(1, count)


def _logps(model: Any, row: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    weight = next(model.parameters())
    ids = torch.tensor([row], device=weight.device)
    autocast = torch.autocast(weight.device.type, dtype) if weight.dtype == torch.float32 != dtype else nullcontext()
    with autocast:
        logits = model(input_ids=ids).logits[0, :-1].float()
    found: torch.Tensor = logits.log_softmax(dim=-1).gather(1, ids[0, 1:, None]).squeeze(1).double().cpu()
    return found


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _not_the_same(folder: Path, why: str) -> CoevolveError:
    checkpoints = folder.parent / "checkpoints"
    kept = sorted(checkpoints.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    where = f"; the trained weights are in {kept[-1]}" if kept else ""
    return CoevolveError(f"the policy saved in {folder} is not the one that was trained: {why}{where}")
