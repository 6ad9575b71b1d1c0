"""Held-out success of any policy in any environment and split."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from statistics import fmean
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from .clock import Clock
from .config import Config
from .contracts import Environment, HasAggregates, HasProvenance, NeedsEnvironment, Policy
from .episodes import Limits, Roller
from .errors import InfrastructureFault, UserError
from .guard import check_split, tasks_of
from .model import Outcome, RolloutGroup, Sampling, Task, Trajectory
from .randomness import derive, generator
from .registry import Registry
from .remote import limits_for, placed

if TYPE_CHECKING:
    from rich.console import Console

ROWS = 256
"""Episodes that are rolled out at once."""


@frozen
class EvaluationReport:
    """Success in [0, 1] over the rollouts that have a score; `faults` had none. `first` holds a few transcripts to read."""

    environment: str
    split: str
    mode: str
    tasks: int
    samples: int
    success: float
    faults: int
    policy_faults: int
    first: tuple[Trajectory, ...]
    metrics: Mapping[str, float] = field(factory=dict)
    """Means of what the environment tells beside the scores."""
    provenance: Mapping[str, Any] = field(factory=dict)
    """What the environment's results must be shown with."""

    def suspicious(self) -> str | None:
        """Words of doubt when all scores are 0 or all are 1: mostly a wrong set-up, not a wonder. With the first transcripts."""
        if self.tasks * self.samples < 20 or 0.0 < self.success < 1.0:
            return None
        seen = "\n\n".join(transcript(t) for t in self.first[:2])
        hint = (
            "are its calls understood, is the chat template right?"
            if self.success == 0
            else "does the scorer look at all? (Played solutions should be.)"
        )
        return f"suspicious: all {self.mode} scores on {self.split} are {self.success:.0f}: {hint} The first transcripts:\n{seen}"

    def to_json(self) -> str:
        names = ("environment", "split", "mode", "tasks", "samples", "success", "faults", "policy_faults", "metrics", "provenance")
        return json.dumps({name: getattr(self, name) for name in names} | {"suspicious": self.suspicious() is not None})

    def render(self, console: "Console") -> None:
        """Print the figures and, where they are suspicious, the transcripts."""
        scored = self.tasks * self.samples - self.faults
        console.print(
            f"{self.environment} {self.split}, {self.mode}: success {self.success:.3f} ({round(self.success * scored)} of {scored}), "
            f"{self.policy_faults} policy faults, {self.faults} infrastructure faults",
            highlight=False,
        )
        figures = {name: f"{value:.3f}" for name, value in self.metrics.items()}
        for title, values in (("beside the score", figures), ("with", self.provenance)):
            if values:
                shown = ", ".join(f"{name} {value}" for name, value in values.items())
                console.print(f"{title}: {shown}", markup=False, highlight=False)
        if text := self.suspicious():
            console.print(text, style="yellow", markup=False, highlight=False)


def provenance(environment: Environment) -> dict[str, Any]:
    """What an environment's results must be shown with; empty for one that names nothing."""
    return dict(environment.provenance()) if isinstance(environment, HasProvenance) else {}


def transcript(trajectory: Trajectory) -> str:
    """A trajectory as text to read."""
    end = f"[{trajectory.outcome}, score {trajectory.score}{', ' + trajectory.fault if trajectory.fault else ''}]"
    return "\n".join([f"{m['role']}: {m.get('content', '')}" for m in trajectory.messages] + [end])


def evaluate(
    roller: Roller, policy: Policy, tasks: Sequence[Task], mode: str, config: Config, *, count: int = 0, samples: int = 1
) -> EvaluationReport:
    """Roll out `count` of the tasks (0: all; the same ones for every run, so that runs compare), `samples` times each.

    `mode` is "greedy" (temperature 0) or "sampled" (the training temperature). Raises InfrastructureFault when no rollout has a score.
    """
    chosen = list(tasks)
    if 0 < count < len(chosen):
        chosen = generator(0, "evaluation", config.evaluation.split).sample(chosen, count)
    if not chosen:
        raise UserError(f"there are no tasks to evaluate in split {config.evaluation.split!r}")
    temperature = 0.0 if mode == "greedy" else config.temperature
    groups: list[RolloutGroup] = []
    width = max(1, ROWS // samples)
    for n in range(0, len(chosen), width):
        sampling = Sampling(temperature, config.max_new_tokens, derive(config.seed, "evaluation", mode, n))
        groups += roller.roll(policy, chosen[n : n + width], samples, sampling, 0)
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
        faults=len(found) - len(scored),
        policy_faults=sum(t.outcome is Outcome.POLICY_FAULT for t in found),
        first=tuple(found[:4]),
        metrics=_means(scored) | _aggregates(roller.environment, groups),
        provenance=provenance(roller.environment),
    )


def _aggregates(environment: Environment, groups: Sequence[RolloutGroup]) -> dict[str, float]:
    return dict(environment.aggregates(groups)) if isinstance(environment, HasAggregates) else {}


def _means(scored: Sequence[Trajectory]) -> dict[str, float]:
    names = sorted({name for t in scored for name in t.metrics})
    return {name: fmean(t.metrics[name] for t in scored if name in t.metrics) for name in names}


def run_eval(config: Config, registry: Registry, *, tasks: int = 0, mode: str = "greedy", samples: int = 1) -> EvaluationReport:
    """`coevolve eval`: build the environment and the policy of `config` and evaluate on `config.evaluation.split`."""
    with placed(config, registry) as environment:
        check_split(environment, config.evaluation.split)
        policy: Any = registry.component("policy", config.policy.name)(config.policy.options)
        if isinstance(policy, NeedsEnvironment):
            policy.bind(environment)
        limits = limits_for(environment, Limits(config.max_completions, config.step_timeout, config.workers))
        with closing(Roller(environment, limits, Clock())) as roller:
            return evaluate(roller, policy, tasks_of(environment, config.evaluation.split), mode, config, count=tasks, samples=samples)
