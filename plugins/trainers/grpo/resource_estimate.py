"""What a run of trainer "grpo" takes: memory by part, the cost of an iteration, which GPUs hold it. Loads no weights."""

import os
from collections.abc import Iterator
from pathlib import Path

import attrs
from attrs import frozen

from coevolve import PlannedRun

from .gpu_memory import BFLOAT16, FLOAT32, Workload, estimate
from .model_shapes import Shape, shape_of
from .options import GrpoOptions
from .step_cost import cost_lines, gpus_that_hold

GB = 10**9


@frozen
class Machine:
    """Memory in bytes of the device that would be used: the first GPU, or the main memory."""

    name: str
    memory: int


def machine(device: str = "auto") -> Machine:
    """The memory of `device` on this machine."""
    import torch

    if device != "cpu" and torch.cuda.is_available():
        return Machine(torch.cuda.get_device_name(0), torch.cuda.get_device_properties(0).total_memory)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text("ascii").strip()).isdigit():
        memory = min(memory, int(text))
    return Machine("no GPU, main memory", memory)


def estimate_lines(options: GrpoOptions, plan: PlannedRun) -> Iterator[str]:
    """Lines for people about a run that `setup` has accepted; a plan for other machines has a line for each way to hold it on GPUs."""
    file, model = plan.policy.config_file(), plan.policy.model_settings
    if file is None and not plan.here:
        yield f"model {model.model}: not on this machine, so its files were not looked at"
    shape = shape_of(model.model, file)
    yield from _memory_lines(options, plan, shape, machine(model.device))
    if shape is not None and not plan.here:
        yield from _gpu_lines(options, plan, shape)


def workload(options: GrpoOptions, plan: PlannedRun, shape: Shape, here: Machine, processes: int = 1) -> Workload:
    """What one of `processes` processes does on a machine like `here`."""
    model, cpu = plan.policy.model_settings, here.name.startswith("no GPU")
    rows = -(-plan.batch * plan.rollouts // processes)
    at_once = min(plan.max_concurrent_rollouts or rows, rows)
    return Workload(
        rows=rows,
        at_once=at_once,
        prompts=-(-at_once // plan.rollouts),
        context=min(model.max_context or shape.context, shape.context),
        micro_batch=options.micro_batch,
        lora_rank=options.lora_rank,
        quantized=bool(options.quantize),
        reference=bool(options.beta),
        checkpointing=options.gradient_checkpointing,
        compute=FLOAT32 if model.dtype == "float32" or (model.dtype == "auto" and cpu) else BFLOAT16,
        cpu=cpu,
        engine_cache=int(model.cache_gb * GB),
    )


def _memory_lines(options: GrpoOptions, plan: PlannedRun, shape: Shape | None, here: Machine) -> Iterator[str]:
    has = f"this machine: {here.name}, {_gb(here.memory)} GB"
    if shape is None:
        yield f"memory: not estimated, the model of policy {plan.policy.name!r} is not known here"
        yield has
        return
    work = workload(options, plan, shape, here)
    memory = estimate(shape, work)
    parts = ("weights", "gradients", "optimiser", "reference", "activations", "head", "engine")
    named = ", ".join(f"{name} {_gb(size)}" for name in parts if (size := getattr(memory, name)))
    cache = f", key-value cache {_gb(memory.cache)} ({memory.rows} rows x {memory.context:,} tokens)" if memory.cache else ""
    yield f"memory, an estimate in GB: {named}{cache}"
    yield (
        f"needed at once: about {_gb(memory.needed)} GB (sampling {_gb(memory.sampling)}, update {_gb(memory.update)}), "
        "when every conversation fills the context"
    )
    enough = "not enough: it is less than that" if here.memory < memory.needed else "it may be enough, without the libraries' own memory"
    yield f"{has}: {enough}"
    yield from cost_lines(shape, work, memory)


def _gpu_lines(options: GrpoOptions, plan: PlannedRun, shape: Shape) -> Iterator[str]:
    """What holds the run as it is, with other settings of the trainer, and shared by more processes, whole or split."""
    gpu = Machine("a GPU", 0)
    own = bool(plan.policy.model_settings.cache_gb)
    if own and plan.processes > 1:
        yield f"several GPUs: policy {plan.policy.name!r} samples in one process; choose policy.name=transformers for more"
    for count in (1,) if own else sorted({1, plan.processes}):
        work = workload(options, plan, shape, gpu, count)
        small = attrs.evolve(work, micro_batch=1, checkpointing=True, at_once=min(work.at_once, 16), prompts=min(work.prompts, 2))
        lora = attrs.evolve(small, lora_rank=work.lora_rank or 16)
        ways = {
            "as set": work,
            "with micro_batch=1, gradient_checkpointing=true, max_concurrent_rollouts=16": small,
            f"with these and lora_rank={lora.lora_rank}": lora,
            'with these and quantize="4bit"': attrs.evolve(lora, quantized=True),
        }
        if count > 1:
            split = attrs.evolve(small, split=count, at_once=min(work.at_once, 4), prompts=1)
            ways |= {
                "weights sharded, as set": attrs.evolve(work, split=count),
                "weights sharded, with micro_batch=1, gradient_checkpointing=true, max_concurrent_rollouts=4": split,
                "weights sharded, with these and beta=0": attrs.evolve(split, reference=False),
                f"weights sharded, with these and lora_rank={lora.lora_rank}": attrs.evolve(split, lora_rank=lora.lora_rank),
            }
        for name, way in ways.items():
            memory = estimate(shape, way)
            on = f"each of {count} GPUs" if count > 1 else "one GPU"
            yield f"{on}, {name}: sampling {_gb(memory.sampling)} GB, update {_gb(memory.update)} GB: {gpus_that_hold(memory)}"


def _gb(size: int) -> str:
    """Bytes in GB, small ones with more digits."""
    return f"{size / GB:.1f}" if size >= GB else f"{size / GB:.2g}"
