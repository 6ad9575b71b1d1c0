"""The result of an evaluation, with what it must be shown with: model, engine, sampling, prompts, scorer."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from attrs import field, frozen

from ..model import Trajectory
from ..text import terminal_text

if TYPE_CHECKING:
    from rich.console import Console


@frozen
class Estimate:
    """A mean over tasks, and its standard error (None for a single task)."""

    mean: float
    error: float | None

    def __str__(self) -> str:
        return f"{self.mean:.3f}" + ("" if self.error is None else f" ± {self.error:.3f}")


@frozen
class EvaluationReport:
    """Success in [0, 1] over the rollouts that have a score; `faults` had none. `first` holds a few transcripts to read."""

    environment: str
    split: str
    mode: str
    tasks: int
    samples: int
    """Rollouts of a task with one seed: the k of avg@k and best@k."""
    success: float
    faults: int
    policy_faults: int
    first: tuple[Trajectory, ...]
    average: Estimate
    """avg@k: a task's share of successes."""
    best: Estimate
    """best@k (pass@k): whether at least one of a task's k rollouts with a seed succeeded."""
    metrics: Mapping[str, float] = field(factory=dict)
    """Means of the environment's metrics beside the score."""
    provenance: Mapping[str, Any] = field(factory=dict)
    """What the environment's results must be shown with."""
    policy: str = ""
    """The engine: the policy's name in the configuration."""
    model: str = ""
    engine: Mapping[str, Any] = field(factory=dict)
    """What the policy's answers must be shown with."""
    sampling: Mapping[str, Any] = field(factory=dict)
    by_seed: tuple[float | None, ...] = ()
    """Success with each seed."""
    messages: str = ""
    """Digest of the tools and the tasks' opening messages."""
    prompts: str = ""
    """Digest of the token ids that these became; that of the messages for a policy that gives no token ids."""
    scorer: str = ""
    usage: Mapping[str, float] = field(factory=dict)
    """The policy's calls, tokens and cost (HasUsage)."""
    cut: int = 0
    """Rollouts with an answer that ended at the limit of tokens, so that what it was to say is unknown."""
    assumed: str = ""
    """What no setting said, in words."""
    progress: float | None = None
    """Mean progress of the rollouts that have a score and know it; None where none does."""

    @property
    def rollouts(self) -> int:
        return self.tasks * self.samples * max(1, len(self.by_seed))

    def cut_short(self) -> str | None:
        """How many rollouts had an answer cut by its length; None when there are none."""
        if not self.cut:
            return None
        limit = self.sampling.get("max_new_tokens")
        return (
            f"{self.cut} of {self.rollouts} rollouts on {self.split} ({self.mode}) had an answer cut at {limit} tokens: see max_new_tokens"
        )

    def suspicious(self) -> str | None:
        """A warning with the first transcripts when all scores are 0 or all are 1, which mostly means a wrong set-up; else None."""
        if self.rollouts < 20 or 0.0 < self.success < 1.0:
            return None
        seen = "\n\n".join(transcript(t) for t in self.first[:2])
        hint = (
            "are its calls understood, is the chat template right?"
            if self.success == 0
            else "does the scorer look at all? (Played solutions should be.)"
        )
        return f"suspicious: all {self.mode} scores on {self.split} are {self.success:.0f}: {hint} The first transcripts:\n{seen}"

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values, without the transcripts."""
        shown = attrs.asdict(self, filter=lambda attribute, value: attribute.name != "first")
        return shown | {"suspicious": self.suspicious() is not None}

    def to_json(self) -> str:
        return json.dumps(self.as_dict())

    def render(self, console: "Console") -> None:
        """Print the figures and, where they are suspicious, the transcripts."""
        scored = self.rollouts - self.faults
        text = (
            f"{self.environment} {self.split}, {self.mode}: success {self.success:.3f} ({round(self.success * scored)} of {scored}), "
            + (f"progress {self.progress:.3f}, " if self.progress is not None else "")
            + f"{self.policy_faults} policy faults, {self.faults} infrastructure faults"
        )
        console.print(terminal_text(text))
        _say(console, "over tasks", self._estimates())
        if len(self.by_seed) > 1:
            _say(console, "by seed", dict(zip(self.sampling["seeds"], map(_rate, self.by_seed), strict=True)))
        _say(console, "beside the score", {name: f"{value:.3f}" for name, value in self.metrics.items()})
        _say(console, "spent", {name: _amount(value) for name, value in self.usage.items()})
        _say(console, "with", dict(self.provenance) | self.shown_with())
        if self.assumed:
            console.print(terminal_text(f"assumed: {self.assumed}"))
        for text in filter(None, (self.cut_short(), self.suspicious())):
            console.print(terminal_text(text, "yellow"))

    def _estimates(self) -> dict[str, str]:
        found = {f"avg@{self.samples}": str(self.average)}
        return found | {f"best@{self.samples}": str(self.best)} if self.samples > 1 else found

    def shown_with(self) -> dict[str, Any]:
        """Model, engine, sampling, digests and scorer, which the figures must be shown with."""
        sampling = {name: value for name, value in self.sampling.items() if name != "seeds"}
        seeds = self.sampling.get("seeds", [])
        named = {"model": self.model, "engine": self.policy, **self.engine, **sampling, "seeds": " ".join(map(str, seeds))}
        own = self.provenance.get("scorer")
        scorer = self.scorer + (f" ({own})" if own else "")
        digests = {"messages": self.messages if self.messages != self.prompts else "", "prompts": self.prompts}
        return {name: value for name, value in (named | digests | {"scorer": scorer}).items() if value != ""}


def render_table(reports: Sequence[EvaluationReport], console: "Console") -> None:
    """Print several policies as one table, and below it what they were all evaluated with."""
    from rich.table import Table

    first = reports[0]
    title = f"{first.environment} {first.split}, {first.mode}: {first.tasks} tasks, {first.samples} rollouts each a seed"
    table = Table(title=terminal_text(title, "table.title"))
    named = [f"avg@{first.samples}", f"best@{first.samples}", "by seed", "progress", "policy faults", "faults"]
    paid = [name for name in ("calls", "cost") if any(name in report.usage for report in reports)]
    for name in ("model", "engine", *named, *paid):
        table.add_column(name, overflow="fold", no_wrap=name in named[:2])
    for report in reports:
        spent = [_amount(report.usage[name]) if name in report.usage else "" for name in paid]
        seeds = " ".join(map(_rate, report.by_seed))
        figures = [str(report.average), str(report.best), seeds, _rate(report.progress), str(report.policy_faults), str(report.faults)]
        table.add_row(*map(terminal_text, (report.model or "-", report.policy, *figures, *spent)))
    console.print(table)
    shared = {name: value for name, value in first.shown_with().items() if all(r.shown_with().get(name) == value for r in reports)}
    for report in reports:
        own = {name: value for name, value in report.shown_with().items() if name not in shared}
        _say(console, f"{report.policy} {report.model}".strip(), {k: v for k, v in own.items() if k not in ("model", "engine")})
    _say(console, "with", dict(first.provenance) | shared)
    if first.assumed:
        console.print(terminal_text(f"assumed: {first.assumed}"))
    for report in reports:
        for text in filter(None, (report.cut_short(), report.suspicious())):
            console.print(terminal_text(f"{report.policy} {report.model}: {text}", "yellow"))


def transcript(trajectory: Trajectory) -> str:
    """A trajectory as text for people."""
    progress = "" if trajectory.progress is None else f", progress {trajectory.progress:.2f}"
    end = f"[{trajectory.outcome}, score {trajectory.score}{progress}{', ' + trajectory.fault if trajectory.fault else ''}]"
    return "\n".join([f"{m['role']}: {m.get('content', '')}" for m in trajectory.messages] + [end])


def _say(console: "Console", title: str, values: Mapping[Any, Any]) -> None:
    if values:
        shown = ", ".join(f"{name} {value}" for name, value in values.items())
        console.print(terminal_text(f"{title}: {shown}"))


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}"
