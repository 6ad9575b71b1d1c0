"""What a run would take, before anything is loaded: `coevolve plan RECIPE`, `coevolve run --dry-run`.

Counts follow from the configuration; the components estimate the rest themselves (optional.HasEstimate).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..contracts import Synthesizer
from ..environment_defaults import complete
from ..errors import UserError
from ..isolation.checked_environment import checked
from ..isolation.guard import check_splits, splits_of, tasks_of
from ..optional import NOTE, HasAttempts, HasEstimate, Installable, NeedsEnvironment, NeedsServices, PlannedRun, Repairs
from ..record.summary import overlap_text
from ..record.teacher_calls import replayed
from ..registry import Registry
from ..rollouts.rehearsal import rehearse
from ..rollouts.run_services import CheckedServices
from ..run.build import RunSettings, check_synthesis
from ..run.held_out import check_first_tasks, first_tasks, unsolved_text
from ..settings.config import Chosen, Config


def plan(config: Config, registry: Registry, processes: int = 8, *, here: bool = False) -> list[str]:
    """Check everything that can be checked without loading a model; lines of counts and estimates. UserError for what does not fit.

    `processes`: the number of GPUs, beside one, for which the trainer estimates what holds the run. `here`: the run is to be on this
    machine; otherwise the model's files may be elsewhere, and are then not checked.
    """
    replayed(config)
    environment = registry.make("environment", config.environment)
    check_synthesis(config, type(environment))
    policy, trainer, *parts = (registry.make(kind, chosen) for kind, chosen in _chosen(config))
    synthesizer = next((part for part in parts if isinstance(part, Synthesizer)), None)
    services = CheckedServices(config, registry, synthesizer)
    for part in parts:
        if isinstance(part, NeedsServices):
            part.bind_services(services)
    if isinstance(policy, NeedsEnvironment):
        policy.bind(environment)
    run = RunSettings(config.seed, config.steps, config.batch, config.rollouts, config.temperature, Path("runs"), planned=not here)
    trainer.setup(policy, run)
    missing = _missing(environment, config.tasks_timeout)
    if not missing and (here or not hasattr(type(policy), "config_file") or policy.config_file() is not None):
        rehearse(policy, complete(environment), first_tasks(config, complete(environment)), config.step_timeout)
    evolves = config.synthesizer is not None and config.tasks_per_evolution > 0
    evolutions = max(0, config.steps - 1) // config.evolve_every if evolves else 0
    wanted = evolutions * config.tasks_per_evolution + config.initial_synthetic
    planned = PlannedRun(
        steps=config.steps,
        batch=config.batch,
        rollouts=config.rollouts,
        max_concurrent_rollouts=config.max_concurrent_rollouts,
        evolutions=evolutions,
        wanted=config.tasks_per_evolution,
        candidates=wanted * config.candidates_per_task,
        policy=policy,
        processes=processes,
        initial=config.initial_synthetic,
        here=here,
        repairs=config.repairs if isinstance(synthesizer, Repairs) else 0,
    )
    tried = _attempts(parts, planned.judged)
    asking = [part for part in (*parts, trainer) if isinstance(part, HasEstimate)]
    return [
        f"environment {config.environment.name}: {'; '.join(missing) or 'ready'}",
        *_counts(config, registry, checked(environment, (config.train_split, config.evaluation.split)), not missing, sum(tried.values())),
        *_evolution(planned),
        *([_attempts_text(tried[""])] if tried.get("") else []),
        *(line for part in asking for line in part.estimate(planned)),
        *([] if any(map(_asks_a_teacher, parts)) else ["teacher calls: none (no part asks a teacher)"]),
    ]


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


def _chosen(config: Config) -> Iterator[tuple[str, Chosen]]:
    """Kind and choice of every component but the environment, the policy and the trainer first."""
    yield from (("policy", config.policy), ("trainer", config.trainer), ("sampler", config.sampler))
    if config.executor:
        yield "executor", config.executor
    if config.synthesizer:
        yield "synthesizer", config.synthesizer
    yield from (("signal", chosen) for chosen in config.signals)
    yield from (("validator", chosen) for chosen in config.validators)


def _asks_a_teacher(part: Any) -> bool:
    """Whether a part may; one that lets the policy in training attempt candidates does not."""
    return isinstance(part, NeedsServices) and not (isinstance(part, HasAttempts) and not part.attempts_at_most().policy)


def _attempts(parts: Sequence[Any], judged: int) -> dict[str, int]:
    """Attempts at candidates at most, by policy. Validators share those of the policy in training that have the same temperature."""
    counts: dict[tuple[str, Any], int] = {}
    for number, part in enumerate(parts):
        if isinstance(part, HasAttempts):
            asked = part.attempts_at_most()
            shared = asked.policy, number if asked.policy else asked.temperature
            counts[shared] = max(counts.get(shared, 0), asked.count)
    found: dict[str, int] = {}
    for (policy, _), count in counts.items():
        found[policy] = found.get(policy, 0) + judged * count
    return found


def _attempts_text(count: int) -> str:
    return f"attempts at the door by the policy in training: at most {count:,} (a candidate that is decided sooner makes fewer)"


def _counts(config: Config, registry: Registry, environment: Any, ready: bool, attempts: int) -> Iterator[str]:
    splits = (config.train_split, config.evaluation.split)
    _check_splits(environment, splits, ready, config.tasks_timeout)
    least = config.steps * config.batch * config.rollouts
    most = least * (1 + config.refill)
    refilled = f", and at most {config.refill} times as many to refill batches" if config.refill else ""
    yield f"rollouts: {_range(least, most)} ({config.steps} iterations x {config.batch} tasks x K {config.rollouts}{refilled})"
    sizes = {split: len(tasks_of(environment, split, config.tasks_timeout)) for split in splits} if ready else {}
    if ready:
        held_out = tasks_of(environment, splits[1], config.tasks_timeout)
        if count := check_first_tasks(config, registry, environment, held_out):
            yield overlap_text(count, splits[1])
        if config.synthesizer and (text := unsolved_text(held_out, splits[1])):
            yield text
    initial = _some(config.initial_tasks, sizes.get(config.train_split))
    seeds = initial if initial is not None else f"all of {config.train_split}"
    yield f"initial tasks: {f'{config.initial_synthetic}, made in the worlds of {seeds}' if config.initial_synthetic else seeds}"
    evaluated = _evaluated(config, sizes.get(config.evaluation.split))
    episodes = "all tasks of the split each time" if evaluated is None else f"{evaluated:,}"
    total = "" if evaluated is None else f": {_range(least + evaluated, most + evaluated + attempts)}"
    parts = "rollouts, evaluations and attempts at the door" if attempts else "rollouts and evaluations"
    yield f"environment episodes of {parts}{total} (evaluations: {episodes})"
    yield f"completions: at most {config.max_completions} an episode, of at most {config.max_new_tokens} tokens"


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _check_splits(environment: Any, splits: Sequence[str], ready: bool, timeout: float) -> None:
    """UserError for an unknown split. Not checked where data is missing: the splits may be missing too."""
    try:
        splits_of(environment, timeout)
    except UserError:
        if ready:
            raise
        return
    check_splits(environment, splits, timeout)


def _some(asked: int, there: int | None) -> int | None:
    """The number of tasks when `asked` (0: all) are wanted and `there` are available (None: unknown); None when it is unknown."""
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


def _evolution(planned: PlannedRun) -> Iterator[str]:
    if not planned.evolutions:
        yield "evolutions: none, the pool stays as it is"
    else:
        tasks = planned.evolutions * planned.wanted
        first = f", those of the initial {planned.initial} tasks included" if planned.initial else ""
        yield f"evolutions: {planned.evolutions}, at most {tasks:,} new tasks of {planned.candidates:,} candidates{first}"
