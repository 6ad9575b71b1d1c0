"""The objective of trainer "grpo" (paper, section 3). TRL's `GRPOTrainer._compute_loss` computes it with the settings below.

    J(theta) = (1 / sum_k |tau_k|) sum_k sum_t CLIP(r_{k,t}(theta), A_k, eps)  -  beta * D_KL[pi_theta || pi_ref]
    CLIP(r, A, eps) = min(r A, clip(r, 1 - eps, 1 + eps) A)      r_{k,t} = pi_theta(token) / pi_old(token)
    A_k = (R_k - mean R) / (std R + 1e-4)                        over the K rollouts of a task

t runs over the tokens that the policy wrote; tokens of the environment carry no loss. The loss is -J.

Departures: by default the normaliser covers the whole batch of tasks (equal for one task; veRL, which the paper used, does the same).
`exact_group_normaliser` restores the formula, by `group_scale`. D_KL is estimated per token by exp(d) - d - 1 with
d = log pi_ref - log pi_theta. The standard deviation is the unbiased one. Infrastructure faults enter neither mean, deviation, loss nor KL.
"""

from typing import TYPE_CHECKING, Any

from coevolve import RunInfo

from .options import GrpoOptions

if TYPE_CHECKING:
    from torch import Tensor


def objective_settings(options: GrpoOptions, run: RunInfo) -> dict[str, Any]:
    """The settings of TRL's GRPOConfig that make the objective; some repeat TRL's defaults, because the objective depends on them."""
    return {
        "loss_type": "dapo",  # one normaliser: the trained tokens of the whole batch
        "scale_rewards": "group",  # A_k: deviation of the task's own rollouts
        "importance_sampling_level": "token",  # r of each token
        "epsilon": options.epsilon,
        "beta": options.beta,
        "use_bias_correction_kl": False,
        "num_iterations": options.num_iterations,
        "mask_truncated_completions": False,
        "temperature": run.temperature,  # the loss is of the distribution that was sampled from
        "disable_dropout": True,
    }


def group_scale(tokens: "Tensor", rollouts: int) -> "Tensor":
    """Factors (rows,) that turn the batch's normaliser into one for each group.

    `tokens` (rows,) counts each row's trained tokens; each `rollouts` neighbours are a group. A row's factor is N / (B n): N trained
    tokens in the batch, n in the row's group, B groups that have a trained token.
    """
    import torch

    groups = tokens.view(-1, rollouts).sum(dim=1).float()
    scale = torch.where(groups > 0, groups.sum() / ((groups > 0).sum() * groups.clamp(min=1)), 0.0)
    return scale.repeat_interleave(rollouts)
