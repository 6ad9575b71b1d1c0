"""Evaluate a policy on a split of an environment: success, its errors, and what the figures must be shown with."""

import hashlib
import itertools
import json
import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from ..contracts import Environment, Policy
from ..errors import CoevolveError, InfrastructureFault, UserError, boundary
from ..model import Outcome, RolloutGroup, Sampling, Task, Trajectory, known_progress
from ..optional import HasAggregates, HasProvenance, HasUsage
from ..randomness import derive, generator
from ..settings.config import Config
from .evaluation_report import Estimate, EvaluationReport
from .runner import RolloutRunner

ROWS = 256
"""Episodes at once."""


def provenance(part: object) -> dict[str, Any]:
    """What the results of an environment or a policy must be shown with; empty for a component without `provenance`."""
    return dict(part.provenance()) if isinstance(part, HasProvenance) else {}


def evaluate(
    runner: RolloutRunner,
    policy: Policy,
    tasks: Sequence[Task],
    mode: str,
    config: Config,
    *,
    count: int = 0,
    samples: int = 1,
    seeds: int = 1,
) -> EvaluationReport:
    """Roll out `count` of the tasks (0: all; the same ones for every run, so that runs compare), `samples` times each with each of `seeds`
    seeds, the configuration's and those after it.

    `mode` is "greedy" (temperature 0) or "sampled" (the training temperature). Raises InfrastructureFault when no rollout has a score.
    """
    chosen = list(tasks)
    if 0 < count < len(chosen):
        chosen = generator(0, "evaluation", config.evaluation.split).sample(chosen, count)
    if not chosen:
        raise UserError(f"there are no tasks to evaluate in split {config.evaluation.split!r}")
    temperature = 0.0 if mode == "greedy" else config.temperature
    by_seed = [
        _rolled(runner, policy, chosen, samples, temperature, mode, seed, config) for seed in range(config.seed, config.seed + seeds)
    ]
    groups = [RolloutGroup(same[0].task, 0, tuple(t for group in same for t in group.trajectories)) for same in zip(*by_seed, strict=True)]
    found = [t for group in groups for t in group.trajectories]
    scored = [t for t in found if t.score is not None]
    if not scored:
        raise InfrastructureFault(
            f"none of the {len(found)} rollouts on {config.evaluation.split} has a score; the first: {found[0].fault}"
        )
    return EvaluationReport(
        environment=config.environment.name,
        split=config.evaluation.split,
        mode=mode,
        tasks=len(chosen),
        samples=samples,
        success=sum(t.success for t in scored) / len(scored),
        progress=known_progress(scored),
        faults=len(found) - len(scored),
        policy_faults=sum(t.outcome is Outcome.POLICY_FAULT for t in found),
        cut=sum(t.cut > 0 for t in found),
        first=tuple(found[:4]),
        metrics=_means(scored) | _aggregates(runner.environment, groups),
        provenance=provenance(runner.environment),
        policy=config.policy.name,
        model=config.policy.model or "",
        engine=provenance(policy),
        sampling={
            "temperature": temperature,
            "max_new_tokens": config.max_new_tokens,
            "seeds": list(range(config.seed, config.seed + seeds)),
        },
        average=_with_error([_share(group) for group in groups]),
        best=_with_error(_best(groups, seeds)),
        by_seed=tuple(fmean(values) if values else None for values in _successes(groups, seeds)),
        messages=(messages := _messages(runner.environment, groups)),
        prompts=_prompts(groups) or messages,
        usage=dict(policy.usage()) if isinstance(policy, HasUsage) else {},
    )


def _rolled(
    runner: RolloutRunner, policy: Policy, tasks: Sequence[Task], samples: int, temperature: float, mode: str, seed: int, config: Config
) -> list[RolloutGroup]:
    groups: list[RolloutGroup] = []
    width = max(1, ROWS // samples)
    for n in range(0, len(tasks), width):
        sampling = Sampling(temperature, config.max_new_tokens, derive(seed, "evaluation", mode, n))
        groups += runner.run(policy, tasks[n : n + width], samples, sampling, 0)
    return groups


def _share(group: RolloutGroup) -> float | None:
    """A task's share of successes among its rollouts that have a score."""
    scored = [t.success for t in group.trajectories if t.score is not None]
    return fmean(scored) if scored else None


def _successes(groups: Sequence[RolloutGroup], seeds: int) -> list[list[bool]]:
    """For each seed the rollouts' successes; a task's rollouts lie seed by seed."""
    found: list[list[bool]] = [[] for _ in range(seeds)]
    for group in groups:
        samples = len(group.trajectories) // seeds
        for n, trajectory in enumerate(group.trajectories):
            if trajectory.score is not None:
                found[n // samples].append(trajectory.success)
    return found


def _best(groups: Sequence[RolloutGroup], seeds: int) -> list[float | None]:
    """For each task the share of the seeds in which at least one of its rollouts succeeded."""
    found: list[float | None] = []
    for group in groups:
        samples = len(group.trajectories) // seeds
        tries = [group.trajectories[n : n + samples] for n in range(0, len(group.trajectories), samples)]
        whole = [any(t.success for t in one) for one in tries if any(t.score is not None for t in one)]
        found.append(fmean(whole) if whole else None)
    return found


def _with_error(values: Sequence[float | None]) -> Estimate:
    """The mean over tasks and its standard error, with the tasks as the sample."""
    known = [value for value in values if value is not None]
    return Estimate(fmean(known), stdev(known) / math.sqrt(len(known)) if len(known) > 1 else None)


def _messages(environment: Environment, groups: Sequence[RolloutGroup]) -> str:
    """A digest of the tools and each task's opening messages, which is the same for all models."""
    opened = {}
    for group in groups:
        for trajectory in group.trajectories[:1]:
            opening = itertools.takewhile(lambda message: message["role"] != "assistant", trajectory.messages)
            opened[group.task.id] = [dict(message) for message in opening]
    with boundary(InfrastructureFault, f"environment {environment.name!r} failed in describe", keep=(CoevolveError,)):
        described = environment.describe()
    return _digest([described.notes, [[tool.name, tool.description, tool.parameters] for tool in described.tools], opened])


def _prompts(groups: Sequence[RolloutGroup]) -> str:
    """A digest of the token ids that the model got before it wrote anything; empty for a policy that gives no token ids."""
    opened = {group.task.id: t.tokens.prompt_ids for group in groups for t in group.trajectories[:1] if t.tokens is not None}
    return _digest(opened) if opened else ""


def _digest(shown: Any) -> str:
    return hashlib.sha256(json.dumps(shown, sort_keys=True, default=str).encode()).hexdigest()[:12]


def _aggregates(environment: Environment, groups: Sequence[RolloutGroup]) -> dict[str, float]:
    return dict(environment.aggregates(groups)) if isinstance(environment, HasAggregates) else {}


def _means(scored: Sequence[Trajectory]) -> dict[str, float]:
    names = sorted({name for t in scored for name in t.metrics})
    return {name: fmean(t.metrics[name] for t in scored if name in t.metrics) for name in names}
