"""Options of trainer "grpo"."""

from math import inf

from attrs import field, frozen
from attrs.validators import ge, gt, lt, optional

from coevolve import Trajectory

SCHEDULES = ("constant", "linear", "cosine")
FINITE = [ge(0.0), lt(inf)]


@frozen
class GrpoOptions:
    """Defaults suit models of billions of weights; the desk's recipe sets what suits its small policy."""

    learning_rate: float = field(default=1e-6, validator=FINITE)
    """Of AdamW (paper: 1e-6)."""
    schedule: str = "constant"
    """Of the learning rate over the run: "constant", "linear" or "cosine"."""
    warmup: int = field(default=0, validator=ge(0))
    """Optimiser steps of linear warm-up."""
    beta: float = field(default=0.001, validator=FINITE)
    """Weight of the KL term; 0 needs no reference model (the paper gives no value; this is veRL's default)."""
    epsilon: float = field(default=0.2, validator=[gt(0.0), lt(inf)])
    """Clipping range of the importance ratio; acts only with `num_iterations` above 1."""
    progress_weight: float = field(default=0.0, validator=[ge(0.0), lt(1.0)])
    """w: the reward is (1 - w) * score + w * progress for rollouts that know their progress, and the score for others. 0: the score."""
    num_iterations: int = field(default=1, validator=ge(1))
    """Optimiser steps on each batch of rollouts (mu in the GRPO paper)."""
    micro_batch: int = field(default=0, validator=ge(0))
    """Rows a forward and backward pass; 0 is the whole batch. Gradients are accumulated, so it changes memory, not the update."""
    max_grad_norm: float = field(default=1.0, validator=FINITE)
    """Largest norm of the gradient; a longer one is scaled down to it. 0: no clipping."""
    weight_decay: float = field(default=0.0, validator=FINITE)
    """AdamW's weight decay: a step multiplies weights by 1 - learning_rate * weight_decay, those of norms and biases excepted."""
    max_gap: float | None = field(default=None, validator=optional([gt(0.0), lt(inf)]))
    """Largest mean |difference| between the engine's log-probabilities of the sampled tokens and the trainer's; above it the run stops
    before the update. None is 0.001 where the policy computes in float32 and 0.1 in bfloat16."""
    exact_group_normaliser: bool = False
    """One normaliser a task instead of one for the batch."""
    gradient_checkpointing: bool = False
    """Whether activations are computed again in the backward pass: less memory, about a third more time for an update."""
    lora_rank: int = field(default=0, validator=ge(0))
    """Rank of LoRA adapters; 0 trains all weights."""
    lora_alpha: int = field(default=32, validator=ge(1))
    """Scale of the adapters: their output is multiplied by lora_alpha / lora_rank."""
    quantize: str = ""
    """"4bit" keeps the frozen weights beneath the adapters in four bits (QLoRA); needs a GPU and the package bitsandbytes."""
    lora_targets: tuple[str, ...] = ()
    """Names of the modules that get an adapter; () is every linear layer but the head."""


def reward(trajectory: Trajectory, options: GrpoOptions) -> float | None:
    """What the update maximises: the score, mixed with the progress where `progress_weight` says so; None without a score."""
    score, progress, weight = trajectory.score, trajectory.progress, options.progress_weight
    if score is None or progress is None or weight == 0.0:
        return score
    return (1 - weight) * score + weight * progress
