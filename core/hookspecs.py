"""Every hook that a plugin may implement (pluggy, project name "coevolve", entry-point group "coevolve").

Component hooks are called once, when plugins are loaded; they return classes, and must not import heavy libraries. Observer hooks are
called while a run goes on; the objects are frozen and shared; an observer that raises is logged and cannot stop training.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from .contracts import Environment, Executor, Policy, Sampler, SignalDetector, Synthesizer, Trainer, Validator
from .model import CandidateTask, RolloutGroup, Signal, Verdict

if TYPE_CHECKING:
    from typer import Typer

PROJECT = "coevolve"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def coevolve_environments() -> Sequence[type[Environment]]:  # type: ignore[empty-body]
    """Environment classes."""


@hookspec
def coevolve_signals() -> Sequence[type[SignalDetector]]:  # type: ignore[empty-body]
    """Signal detector classes."""


@hookspec
def coevolve_synthesizers() -> Sequence[type[Synthesizer]]:  # type: ignore[empty-body]
    """Synthesizer classes."""


@hookspec
def coevolve_validators() -> Sequence[type[Validator]]:  # type: ignore[empty-body]
    """Validator classes."""


@hookspec
def coevolve_trainers() -> Sequence[type[Trainer]]:  # type: ignore[empty-body]
    """Trainer classes."""


@hookspec
def coevolve_samplers() -> Sequence[type[Sampler]]:  # type: ignore[empty-body]
    """Sampler classes."""


@hookspec
def coevolve_policies() -> Sequence[type[Policy]]:  # type: ignore[empty-body]
    """Policy (inference engine) classes."""


@hookspec
def coevolve_executors() -> Sequence[type[Executor]]:  # type: ignore[empty-body]
    """Executor classes."""


@hookspec
def coevolve_commands(app: "Typer") -> None:
    """Add commands to the command line: `@app.command()`, or `app.add_typer(group, name="mine")` for a group of them.

    Called at most once, in a process of the command line that lists its commands (`coevolve --help`) or is given a command that core does
    not have; before any component is loaded, whatever `[plugins]` holds. `app` is the plugin's own: what it has afterwards is added. The
    plugin's module must not import heavy libraries; import them in the command's function. A hook that raises, or a command that exists
    already, is reported in a line on stderr, and the plugin then has no commands; groups of one name are joined. A command raises
    UserError for what the user can mend (exit code 2, one line). `coevolve.trained_run` opens a run's trained policy.
    """


@hookspec
def coevolve_run_started(folder: Path, config: dict[str, Any], iteration: int) -> None:
    """A run begins, or goes on from `iteration` > 0; `config` is the resolved configuration."""


@hookspec
def coevolve_iteration_finished(
    iteration: int, groups: Sequence[RolloutGroup], metrics: dict[str, float], seconds: dict[str, float]
) -> None:
    """One GRPO iteration is done; `metrics` are the trainer's, `seconds` the time by part since the run began."""


@hookspec
def coevolve_evaluated(iteration: int, results: dict[str, float]) -> None:
    """The held-out split was evaluated; `results` maps "greedy" and "sampled" to a success rate in [0, 1]."""


@hookspec
def coevolve_signals_detected(iteration: int, signals: Sequence[Signal]) -> None:
    """An evolution begins with these signals."""


@hookspec
def coevolve_task_admitted(iteration: int, candidate: CandidateTask) -> None:
    """A candidate joins the pool."""


@hookspec
def coevolve_task_rejected(iteration: int, candidate: CandidateTask, verdict: Verdict) -> None:
    """A candidate was refused; `verdict.reason` is the code."""


@hookspec
def coevolve_diagnosed(iteration: int, text: str) -> None:
    """Something looks wrong, and `text` says in words what it is and what to do (no learning signal, scores all 0, many faults)."""


@hookspec
def coevolve_run_finished(folder: Path, summary: dict[str, Any]) -> None:
    """The run ended as planned; `summary` is what the final table shows."""


@hookspec
def coevolve_run_left(folder: Path) -> None:
    """The last call of a run, however it ended (finished, stopped, failed): close what you opened."""
