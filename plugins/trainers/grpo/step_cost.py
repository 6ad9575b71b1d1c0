"""What an iteration costs in tokens, operations and rough time, and which GPUs hold a run.

Operations (multiplications and additions, so two for each weight that a token meets): a token costs 2 n to sample, 2 n in the reference,
6 n in the update, 2 n more with gradient checkpointing, and once 2 n for the distinct prompts; attention adds 4 * layers * a * context / 2
to each 2 n. Every conversation is assumed to fill the context, a quarter of it written by the policy.

Time: training and prefill at UTILISATION of the GPU's peak; sampling at one pass over weights and cache for each token of the longest
conversation, and at least LAYER_SECONDS for each layer, what launching its kernels takes. These are assumptions, not measurements.
"""

from collections.abc import Iterator
from typing import NamedTuple

from attrs import frozen

from .gpu_memory import BFLOAT16, Memory, Workload
from .model_shapes import Shape

UTILISATION = 0.35
WRITTEN = 0.25
"""Share of the tokens that the policy writes."""
LAYER_SECONDS = 0.0004
RESERVE = 0.08
"""Share of a GPU's memory that fragments, buffers and the driver take."""


class Gpu(NamedTuple):
    """`memory` in GB, `tera` operations a second in bfloat16 without sparsity, `bandwidth` in TB/s; by the makers' data sheets."""

    name: str
    memory: int
    tera: float
    bandwidth: float


GPUS = (
    Gpu("RTX 4090", 24, 165, 1.01),
    Gpu("A100 40GB", 40, 312, 1.56),
    Gpu("L40S", 48, 362, 0.86),
    Gpu("H100", 80, 989, 3.35),
    Gpu("H200", 141, 989, 4.80),
)
NAMED = GPUS[3]


@frozen
class Step:
    """One iteration of one process: tokens of all conversations, of those the trained ones, operations."""

    tokens: int
    written: int
    sampling: float
    training: float

    @property
    def per_trained_token(self) -> float:
        return (self.sampling + self.training) / self.written


def step(shape: Shape, work: Workload) -> Step:
    """The cost of an iteration whose conversations fill the context."""
    tokens = work.rows * work.context
    written = max(1, int(tokens * WRITTEN))
    once = 2 * shape.acting() + 2 * shape.layers * shape.heads * shape.head_dim * work.context
    prompts = work.prompts * work.context * (1 - WRITTEN) / 2
    passes = (4 if work.checkpointing else 3) + (1 if work.reference else 0)
    return Step(tokens, written, once * (tokens * (1 + WRITTEN) / 2 + prompts), passes * once * tokens)


def seconds(shape: Shape, work: Workload, found: Step, memory: Memory, gpu: Gpu) -> float:
    """Roughly, for one iteration on `gpu`."""
    peak = gpu.tera * 1e12 * UTILISATION
    read = (BFLOAT16 * shape.acting() + memory.cache / 2) / (gpu.bandwidth * 1e12)
    sampling = WRITTEN * work.context * max(read, shape.layers * LAYER_SECONDS) + found.sampling / peak
    return sampling + found.training / peak


def gpus_that_hold(memory: Memory) -> str:
    """Names of the GPUs in the table whose memory is enough."""
    able = [f"{gpu.name} ({gpu.memory} GB)" for gpu in GPUS if memory.needed <= gpu.memory * 10**9 * (1 - RESERVE)]
    return ", ".join(able) or f"none of {', '.join(f'{gpu.memory}' for gpu in GPUS)} GB"


def cost_lines(shape: Shape, work: Workload, memory: Memory) -> Iterator[str]:
    """Lines for people on the cost of an iteration in one process."""
    found = step(shape, work)
    yield (
        f"an iteration at most: {found.tokens:,} tokens, {found.written:,} of them the policy's if it writes {WRITTEN:.0%}; "
        f"{(found.sampling + found.training) / 1e12:,.3g} TFLOP, {found.per_trained_token / 1e9:,.3g} GFLOP a trained token"
    )
    time = seconds(shape, work, found, memory, NAMED)
    yield (
        f"on one {NAMED.name}: roughly {time:,.0f} s an iteration, assuming {UTILISATION:.0%} of {NAMED.tera:.0f} TFLOP/s, "
        f"{NAMED.bandwidth:g} TB/s and {LAYER_SECONDS * 1e3:g} ms a layer and sampled token; environment and evaluation not counted"
    )
