"""A trainer without a driver of its own: REINFORCE with the batch's mean score as baseline."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

from attrs import field, frozen, validators

from coevolve import HasWeights, LoopState, Policy, RolloutGroup, RunInfo, UserError, hookimpl, iterate


@frozen
class ReinforceOptions:
    """Options of the REINFORCE trainer."""

    learning_rate: float = field(default=1e-4, validator=validators.gt(0.0))
    """Step size of plain gradient descent."""


class Reinforce:
    """Trains all weights of a policy: grad J = mean over the policy's tokens of (score - baseline) grad log pi."""

    name: ClassVar[str] = "reinforce"
    Options: ClassVar[type] = ReinforceOptions

    def __init__(self, options: ReinforceOptions) -> None:
        self.options = options

    def setup(self, policy: Policy, run: RunInfo) -> None:
        if not isinstance(policy, HasWeights):
            raise UserError(f'policy {policy.name!r} has no weights to train; choose policy.name = "transformers"')
        self._source, self._folder = policy, run.folder / "checkpoints"
        self._model: Any = None

    def train(self, loop: LoopState, resume_from: Path | None) -> None:
        from safetensors.torch import load_model

        self._model = self._source.load()
        if resume_from is not None:
            load_model(self._model, resume_from / "model.safetensors")
        iterate(loop, self.policy(), self._update, self._save)

    def policy(self) -> Policy:
        return self._source if self._model is None else self._source.over(self._model)

    def _update(self, groups: Sequence[RolloutGroup]) -> dict[str, float]:
        import torch

        rows = [(t.tokens, t.score) for g in groups for t in g.trajectories if t.tokens is not None and t.score is not None]
        baseline = fmean(score for _, score in rows)
        written = sum(sum(tokens.mask) for tokens, _ in rows)
        self._model.zero_grad()
        for tokens, score in rows:
            ids = torch.tensor([[*tokens.prompt_ids, *tokens.completion_ids]])
            logits = self._model(ids).logits[0, len(tokens.prompt_ids) - 1 : -1]
            logps = logits.log_softmax(-1).gather(1, ids[0, len(tokens.prompt_ids) :, None])[:, 0]
            (-(score - baseline) * (logps * torch.tensor(tokens.mask)).sum() / written).backward()
        with torch.no_grad():
            for weight in self._model.parameters():
                if weight.grad is not None:
                    weight -= self.options.learning_rate * weight.grad
        return {"reward": baseline, "trained_tokens": float(written)}

    def _save(self, iteration: int) -> Path:
        folder = self._folder / str(iteration)
        self.save_policy(folder)
        return folder

    def save_policy(self, folder: Path) -> None:
        self._model.save_pretrained(folder)
        self._source.tokenizer.save_pretrained(folder)


@hookimpl
def coevolve_trainers() -> list[type[Reinforce]]:
    return [Reinforce]
