"""What a run would take, before anything is loaded: `coevolve plan RECIPE`, `coevolve run --dry-run`.

Counts follow from the configuration, memory from memory.py, the cost of an iteration from cost.py. The options `model`, `max_context`,
`dtype`, `device` of the policy and `beta`, `lora_rank`, `micro_batch`, `gradient_checkpointing`, `quantize` of the trainer are read where a
component has them.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from os.path import isdir
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from ..cost import fits, told
from ..environment_defaults import check_compose
from ..errors import UserError
from ..isolation.checked_environment import checked
from ..isolation.guard import check_splits, splits_of, tasks_of
from ..memory import BFLOAT16, FLOAT32, Memory, Shape, Workload, estimate
from ..optional import NOTE, FitsPolicy, HasEstimate, Installable, NeedsEnvironment, NeedsServices
from ..record.teacher_calls import replayed
from ..registry import Registry
from ..rollouts.run_services import CheckedServices
from ..run.build import RunSettings
from ..settings.config import Chosen, Config

GB = 10**9

KNOWN = {
    "Qwen/Qwen2.5-7B-Instruct": Shape(7_615_616_512, 28, 4, 128, 32_768, 3584, 28, 18_944, 152_064, tied=False),
    "Qwen/Qwen3-4B-Instruct-2507": Shape(4_022_468_096, 36, 8, 128, 262_144, 2560, 32, 9728, 151_936),
    "Qwen/Qwen3-30B-A3B-Instruct-2507": Shape(
        30_532_122_624, 48, 4, 128, 262_144, 2048, 32, 8 * 768, 151_936, tied=False, active=3_345_000_000
    ),
    "smollm2-135m-instruct": Shape(134_515_008, 30, 3, 64, 8_192, 576, 9, 1536, 49_152),
}
"""Models whose shape is known without their files: those of the recipes."""

HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


@frozen
class Machine:
    """Memory in bytes of the device that would be used: the first GPU, or the main memory."""

    name: str
    memory: int


@frozen
class Plan:
    """Lines of text for people, and the estimate behind them (None: the model is not known)."""

    lines: tuple[str, ...]
    memory: Memory | None
    rollouts: int
    machine: Machine
    others: tuple[str, ...] = ()
    """What holds the run on GPUs, with these settings of the trainer and with others."""


def plan(config: Config, registry: Registry, processes: int = 8, *, here: bool = False) -> Plan:
    """Check everything that can be checked without loading a model, and count. UserError for what does not fit.

    `processes`: for how many GPUs, beside one, it is told what holds the run. A model that is not on this machine is left out of the
    checks, for it may be on the one that the plan is for; `here` says that the run is to be on this one.
    """
    replayed(config)
    environment = _make(registry, "environment", config.environment)
    if config.synthesizer:
        check_compose(type(environment))
    for kind, chosen in _parts(config):
        part = _make(registry, kind, chosen)
        if isinstance(part, NeedsServices):
            part.bind_services(CheckedServices(config, registry))
    unseen = _check_training(config, registry, environment, here)
    missing = _missing(environment, config.tasks_timeout)
    device = machine(getattr(config.policy.options, "device", "auto"))
    model = _model(config)
    found_shape = shape(model) if model else None
    memory = estimate(found_shape, _workload(config, found_shape, device)) if found_shape else None
    rollouts = config.steps * config.batch * config.rollouts
    lines = [
        f"environment {config.environment.name}: {'; '.join(missing) or 'ready'}",
        *_counts(config, registry, checked(environment, (config.train_split, config.evaluation.split)), not missing),
        *unseen,
    ]
    others = tuple(_others(config, found_shape, processes)) if found_shape else ()
    return Plan((*lines, *_told(config, found_shape, memory, device)), memory, rollouts, device, others)


def _model(config: Config) -> str:
    model = getattr(config.policy.options, "model", "")
    return model if isinstance(model, str) else ""


def _check_training(config: Config, registry: Registry, environment: Any, here: bool) -> list[str]:
    """Let the trainer look at the policy: as a run would if that is to be `here`, else leaving out what a machine must have for it. A line
    for a model whose files are elsewhere."""
    policy, trainer = _make(registry, "policy", config.policy), _make(registry, "trainer", config.trainer)
    if isinstance(policy, NeedsEnvironment):
        policy.bind(environment)
    run: Any = RunSettings(config.seed, config.steps, config.batch, config.rollouts, config.temperature, Path("runs"))
    model = _model(config)
    elsewhere = HUB_NAME.fullmatch(model) and not isdir(model) and _config_file(model) is None
    if isinstance(trainer, FitsPolicy) and not here:
        trainer.fits(policy, run, not elsewhere)
    elif here or not elsewhere:
        trainer.setup(policy, run)
    return [] if here or not elsewhere else [f"model {model}: not on this machine, so its files were not looked at"]


def _make(registry: Registry, kind: str, chosen: Chosen) -> Any:
    return registry.make(kind, chosen)


def _missing(environment: Any, timeout: float) -> list[str]:
    """What the environment lacks: by its doctor, or for the options that it was made with."""
    found = type(environment).doctor(thorough=False) if isinstance(environment, Installable) else []
    if missing := [line for line in found if not line.startswith(NOTE)]:
        return missing
    try:
        splits_of(environment, timeout)
    except UserError as error:
        return [str(error)] if isinstance(environment, Installable) else []
    return []


def _parts(config: Config) -> Iterator[tuple[str, Chosen]]:
    yield from (("policy", config.policy), ("trainer", config.trainer), ("sampler", config.sampler))
    if config.executor:
        yield "executor", config.executor
    if config.synthesizer:
        yield "synthesizer", config.synthesizer
    yield from (("signal", chosen) for chosen in config.signals)
    yield from (("validator", chosen) for chosen in config.validators)


def _counts(config: Config, registry: Registry, environment: Any, ready: bool) -> Iterator[str]:
    splits = (config.train_split, config.evaluation.split)
    _check_splits(environment, splits, ready, config.tasks_timeout)
    rows = config.batch * config.rollouts
    yield f"rollouts: {config.steps * rows:,} ({config.steps} iterations x {config.batch} tasks x K {config.rollouts})"
    sizes = {split: len(tasks_of(environment, split, config.tasks_timeout)) for split in splits} if ready else {}
    initial = _some(config.initial_tasks, sizes.get(config.train_split))
    yield f"initial tasks: {initial if initial is not None else f'all of {config.train_split}'}"
    evaluated = _evaluated(config, sizes.get(config.evaluation.split))
    episodes = "all tasks of the split each time" if evaluated is None else f"{evaluated:,}"
    total = "" if evaluated is None else f": {config.steps * rows + evaluated:,}"
    yield f"environment episodes of rollouts and evaluations{total} (evaluations: {episodes})"
    yield f"completions: at most {config.max_completions} an episode, of at most {config.max_new_tokens} tokens"
    yield from _evolution(config, registry)


def _check_splits(environment: Any, splits: Sequence[str], ready: bool, timeout: float) -> None:
    """UserError for a split that there is not, as far as can be told: where data is missing, its splits may be too."""
    try:
        splits_of(environment, timeout)
    except UserError:
        if ready:
            raise
        return
    check_splits(environment, splits, timeout)


def _some(asked: int, there: int | None) -> int | None:
    """How many tasks `asked` (0: all) comes to, None when that is not known."""
    return asked or there if there is None or not asked else min(asked, there)


def _evaluated(config: Config, there: int | None) -> int | None:
    settings, total = config.evaluation, 0
    between = len([i for i in range(1, config.steps) if settings.every and i % settings.every == 0])
    for times, asked in ((between, settings.tasks), (2 if config.steps else 1, settings.final_tasks)):
        count = _some(asked, there)
        if times and count is None:
            return None
        total += times * (count or 0) * len(settings.modes)
    return total


def _evolution(config: Config, registry: Registry) -> Iterator[str]:
    times = max(0, config.steps - 1) // config.evolve_every if config.synthesizer else 0
    if config.synthesizer is None or not times:
        yield "evolutions: none, the pool stays as it is"
    else:
        tried = times * config.tasks_per_evolution * config.candidates_per_task
        calls = getattr(config.synthesizer.options, "max_calls", None)
        bound = f"; exploration by {config.synthesizer.name}: at most {times * calls:,} environment calls" if calls else ""
        yield f"evolutions: {times}, at most {times * config.tasks_per_evolution:,} new tasks of {tried:,} candidates{bound}"
        if attempts := sum(getattr(chosen.options, "attempts", 0) for chosen in config.validators):
            yield f"attempts by a policy at candidates: at most {tried * attempts:,}"
    part = _make(registry, "synthesizer", config.synthesizer) if config.synthesizer else None
    asked = part.estimate(times, config.tasks_per_evolution) if isinstance(part, HasEstimate) else "none (no part asks a teacher)"
    yield f"teacher calls: {asked}"


def shape(model: str) -> Shape | None:
    """The shape of a model by its table entry or its config.json on this machine; nothing is fetched. None: not known."""
    if model in KNOWN:
        return KNOWN[model]
    file = _config_file(model)
    if file is None:
        return None
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        found = AutoConfig.from_pretrained(file.parent, trust_remote_code=False)
        with torch.device("meta"):
            built: Any = AutoModelForCausalLM.from_config(found, trust_remote_code=False)  # type: ignore[no-untyped-call]  # theirs
        parameters = sum(p.numel() for p in built.parameters())
    except Exception as error:  # a reader of foreign files may raise anything
        raise UserError(f"{file} cannot be read as a model's config ({type(error).__name__}); name another policy.model") from error
    return _shape_of(found.get_text_config(), parameters)


def _shape_of(text: Any, parameters: int) -> Shape:
    heads = text.num_attention_heads
    visited = getattr(text, "num_experts_per_tok", None)
    forward = visited * text.moe_intermediate_size if visited and getattr(text, "moe_intermediate_size", None) else None
    return Shape(
        parameters,
        text.num_hidden_layers,
        getattr(text, "num_key_value_heads", None) or heads,
        getattr(text, "head_dim", None) or text.hidden_size // heads,
        text.max_position_embeddings,
        text.hidden_size,
        heads,
        forward or getattr(text, "intermediate_size", None) or 4 * text.hidden_size,
        text.vocab_size,
        bool(text.tie_word_embeddings),
    )


def _config_file(model: str) -> Path | None:
    if model.startswith("pkg:"):
        package, _, inside = model.removeprefix("pkg:").partition("/")
        try:
            file = Path(str(files(package).joinpath(inside, "config.json")))
        except (ImportError, TypeError, ValueError):
            return None
    elif model and (Path(model).expanduser() / "config.json").is_file():
        file = Path(model).expanduser() / "config.json"
    else:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError

        try:
            cached = try_to_load_from_cache(model, "config.json")
        except HFValidationError:
            return None
        file = Path(cached) if isinstance(cached, str) else Path()
    return file if file.is_file() and _is_object(file) else None


def _is_object(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_text("utf-8")), dict)
    except (OSError, ValueError):
        return False


def machine(device: str = "auto") -> Machine:
    """The memory of `device` on this machine."""
    import torch

    if device != "cpu" and torch.cuda.is_available():
        return Machine(torch.cuda.get_device_name(0), torch.cuda.get_device_properties(0).total_memory)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        memory = min(memory, int(text))
    return Machine("no GPU, main memory", memory)


def _workload(config: Config, found: Shape, here: Machine, processes: int = 1) -> Workload:
    policy, trainer = config.policy.options, config.trainer.options
    dtype, cpu = getattr(policy, "dtype", "auto"), here.name.startswith("no GPU")
    rows = -(-config.batch * config.rollouts // processes)
    at_once = min(config.wave or rows, rows)
    return Workload(
        rows=rows,
        at_once=at_once,
        prompts=-(-at_once // config.rollouts),
        context=min(getattr(policy, "max_context", 0) or found.context, found.context),
        micro_batch=getattr(trainer, "micro_batch", 0),
        lora_rank=getattr(trainer, "lora_rank", 0),
        quantized=bool(getattr(trainer, "quantize", "")),
        reference=bool(getattr(trainer, "beta", 0)),
        checkpointing=getattr(trainer, "gradient_checkpointing", False),
        compute=FLOAT32 if dtype == "float32" or (dtype == "auto" and cpu) else BFLOAT16,
        cpu=cpu,
    )


def _gb(size: int) -> str:
    """Bytes in GB, small ones with more digits."""
    return f"{size / GB:.1f}" if size >= GB else f"{size / GB:.2g}"


def _told(config: Config, found: Shape | None, memory: Memory | None, here: Machine) -> Iterator[str]:
    has = f"this machine: {here.name}, {_gb(here.memory)} GB"
    if memory is None or found is None:
        yield f"memory: not estimated, the model of policy {config.policy.name!r} is not known here"
        yield has
        return
    parts = ("weights", "gradients", "optimiser", "reference", "activations", "head")
    named = ", ".join(f"{name} {_gb(size)}" for name in parts if (size := getattr(memory, name)))
    yield f"memory, an estimate in GB: {named}, key-value cache {_gb(memory.cache)} ({memory.rows} rows x {memory.context:,} tokens)"
    yield (
        f"needed at once: about {_gb(memory.needed)} GB (sampling {_gb(memory.sampling)}, update {_gb(memory.update)}), "
        "when every conversation fills the context"
    )
    enough = "not enough: it is less than that" if here.memory < memory.needed else "it may do, the libraries' own memory left out"
    yield f"{has}: {enough}"
    yield from told(found, _workload(config, found, here), memory)


def _others(config: Config, found: Shape, processes: int) -> Iterator[str]:
    """What holds the run as it is, with other settings of the trainer, and shared by more processes, whole or split."""
    gpu = Machine("a GPU", 0)
    for count in sorted({1, processes}):
        work = _workload(config, found, gpu, count)
        small = attrs.evolve(work, micro_batch=1, checkpointing=True, at_once=min(work.at_once, 16), prompts=min(work.prompts, 2))
        lora = attrs.evolve(small, lora_rank=work.lora_rank or 16)
        ways = {
            "as set": work,
            "with micro_batch=1, gradient_checkpointing=true, wave=16": small,
            f"with these and lora_rank={lora.lora_rank}": lora,
            'with these and quantize="4bit"': attrs.evolve(lora, quantized=True),
        }
        if count > 1:
            split = attrs.evolve(small, split=count, at_once=min(work.at_once, 4), prompts=1)
            ways |= {
                "weights split, with micro_batch=1, gradient_checkpointing=true, wave=4": split,
                "weights split, with these and beta=0": attrs.evolve(split, reference=False),
                f"weights split, with these and lora_rank={lora.lora_rank}": attrs.evolve(split, lora_rank=lora.lora_rank),
            }
        for name, way in ways.items():
            memory = estimate(found, way)
            on = f"each of {count} GPUs" if count > 1 else "one GPU"
            yield f"{on}, {name}: sampling {_gb(memory.sampling)} GB, update {_gb(memory.update)} GB: {fits(memory)}"
