"""What training holds in memory, from a model's shape and the settings: the estimate behind `coevolve plan`.

    kept     = weights + optimiser + reference + engine
    sampling = kept + copy + cache + max(prefill, drawing)
    update   = kept + max(max(gradients, activations) + max(head, backward) + gathered, gradients + step)

With micro-batches the gradients of earlier ones exist beside the activations of a later one, so the two add up. Every conversation is
assumed to fill the context. A layer's activations that the backward pass needs are, in numbers a token, for a model of Llama's kind
(h hidden size, a heads * head size, i size of the feed-forward, r rank of the adapters; with frozen weights a norm keeps its input alone):

    full  6 h + 4 a + 4 i + context        LoRA  4 h + 4 a + 4 i + 7 r + context

the context because each layer keeps the mask of its rows as numbers. The backward pass works on one pass of rows at a time.

Weights that are split over p processes (FSDP2, ZeRO-3) divide weights, gradients, optimiser, reference and step by p. While sampling each
process then has a whole copy of the weights, and in the update two layers and the head of them, one layer's gradients among these.

An engine of its own (vLLM) has a copy of the weights and a cache of a fixed size, which it keeps during the update; then nothing else is
needed to sample.

With gradient checkpointing a layer keeps h, and one layer at a time all of it. Mixtures of experts count the experts that a token visits.
"""

from attrs import frozen

from .model_shapes import Shape

FLOAT32, BFLOAT16 = 4, 2
"""Bytes of a number."""
FOUR_BITS = 0.56
"""Bytes of a weight in four bits, its share of the scales included."""
TILE_ROWS, TILE_COLUMNS, TILE_COLUMNS_CPU = 4096, 32_768, 4096
"""Of a tile of logits, rows and columns of the vocabulary: TRL's own on a GPU, narrower ones on a CPU."""
TILE_COPIES, TILE_COPIES_CPU = 2, 8
"""Temporaries of a tile's size that TRL's head has at once."""
DRAW = 20
"""Bytes for each row and token of the vocabulary while tokens are drawn: logits, log-probabilities, probabilities, cumulated in float64."""
PASS_ROWS = 32
"""Rows of like length that share a forward pass: enough to keep a CPU busy, few enough to be of like length."""
STEPS_COPIES = 1
"""Copies of the trained weights that AdamW's step holds on a GPU, where it takes all tensors at once."""


@frozen
class Workload:
    """The settings that memory depends on. `compute`: bytes of a number in activations and cache."""

    rows: int
    """Rollouts of an iteration in one process."""
    at_once: int
    """Rollouts that are sampled together."""
    prompts: int
    """Different prompts among them."""
    context: int
    micro_batch: int = 0
    lora_rank: int = 0
    quantized: bool = False
    reference: bool = True
    checkpointing: bool = False
    compute: int = FLOAT32
    cpu: bool = True
    split: int = 1
    """Processes over which the weights are sharded; 1: whole in each."""
    engine_cache: int = 0
    """Bytes of an engine's own cache of keys and values; 0: the trained model itself is sampled from."""

    @property
    def micro_rows(self) -> int:
        return self.micro_batch or self.rows


@frozen
class Memory:
    """Bytes by part; `needed` is the larger of what sampling and what the update hold at once."""

    weights: int
    gradients: int
    optimiser: int
    reference: int
    cache: int
    prefill: int
    drawing: int
    activations: int
    backward: int
    head: int
    rows: int
    context: int
    accumulates: bool = False
    """Whether gradients and activations exist at the same time."""
    step: int = 0
    """What the optimiser holds during its step."""
    copy: int = 0
    """The whole weights, to sample with, where the trained ones are sharded."""
    gathered: int = 0
    """Whole weights of the layers that a pass is in, and their gradients, where the weights are sharded."""
    engine: int = 0
    """Weights and cache of an engine of its own, at all times."""

    @property
    def kept(self) -> int:
        return self.weights + self.optimiser + self.reference + self.engine

    @property
    def sampling(self) -> int:
        return self.kept + self.copy + self.cache + max(self.prefill, self.drawing)

    @property
    def update(self) -> int:
        both = self.gradients + self.activations if self.accumulates else max(self.gradients, self.activations)
        return self.kept + max(both + max(self.head, self.backward) + self.gathered, self.gradients + self.step)

    @property
    def needed(self) -> int:
        return max(self.sampling, self.update)


def estimate(shape: Shape, work: Workload) -> Memory:
    """The memory of one process that trains a model of `shape`."""
    n, size = shape.parameters, work.compute
    trained = shape.adapters(work.lora_rank) if work.lora_rank else n
    frozen_weights = int(n * (FOUR_BITS if work.quantized else size)) if work.lora_rank else 0
    tokens = work.micro_rows * work.context
    passed = min(PASS_ROWS, work.micro_rows) * work.context
    kept = shape.kept(work.lora_rank, work.context)
    if work.checkpointing:
        activations = (tokens * shape.layers * shape.hidden + passed * kept) * size
    else:
        activations = tokens * shape.layers * kept * size
    tile = min(TILE_ROWS, tokens) * min(TILE_COLUMNS_CPU if work.cpu else TILE_COLUMNS, shape.vocabulary) * FLOAT32
    head = tile * (TILE_COPIES_CPU if work.cpu else TILE_COPIES)
    if not work.lora_rank:
        head += shape.vocabulary * shape.hidden * FLOAT32  # the head's gradient is summed up in float32 beside the one that there is
    vocabulary = shape.vocabulary * shape.hidden * (1 if shape.tied else 2)
    layer = max(0, n - vocabulary) // shape.layers
    splits = work.split > 1
    return Memory(
        weights=(frozen_weights + trained * FLOAT32) // work.split,
        gradients=trained * FLOAT32 // work.split,
        optimiser=2 * trained * FLOAT32 // work.split,
        reference=n * (size if splits else FLOAT32) // work.split if work.reference and not work.lora_rank else 0,
        cache=0 if work.engine_cache else shape.cache(work.at_once, work.context, size),
        prefill=0 if work.engine_cache else work.prompts * work.context * (2 * shape.hidden + 3 * shape.intermediate) * size,
        drawing=work.at_once * shape.vocabulary * DRAW,
        activations=activations,
        backward=passed * (4 * shape.hidden + 3 * shape.intermediate) * size,
        head=head,
        rows=work.at_once,
        context=work.context,
        accumulates=work.micro_rows < work.rows,
        step=0 if work.cpu else STEPS_COPIES * trained * FLOAT32 // work.split,
        copy=n * size if splits else 0,
        engine=n * size + work.engine_cache if work.engine_cache else 0,
        gathered=(2 * layer + vocabulary) * size + min(layer, trained) * FLOAT32 if splits else 0,
    )
