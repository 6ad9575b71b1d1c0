"""Every hook that a plugin may implement (pluggy, project name "coevolve", entry-point group "coevolve").

**Component hooks** (`coevolve_environments` ... `coevolve_executors`) are called once whenever plugins are loaded, which every command of
`coevolve` does, in the main thread. Each returns a list or tuple of classes. They must not import heavy libraries. A hook that raises, or
that returns something else, breaks the whole plugin: it is skipped, and `coevolve plugins` shows why. A class needs an attribute `name`, an
attrs class `Options` with defaults, and the methods of its contract (contracts.py); core makes it as `cls(options)` when a configuration
names it. Workers of an executor import the environment's class and call no hook.

**Observer hooks** (`coevolve_run_started` ... `coevolve_run_left`) are called while a run goes on, on rank 0 only where a launcher starts
several processes, in the thread that drives the loop, one observer after the other; the run waits for them. All arguments are frozen
objects that are shared with the run and with the other observers, so keep them as they are; a dictionary is the observer's own copy. An
observer that raises, or that exits, is logged with its traceback, once a plugin, and stops nothing. TooManyFaults and KeyboardInterrupt
pass and stop the run, which can then be resumed. A hook function takes those arguments that it needs, by name.

**`coevolve_commands`** adds commands to the command line.

A run that is resumed repeats the iterations after its last checkpoint, and calls their hooks again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from .contracts import Executor, LightEnvironment, Policy, Sampler, SignalDetector, Synthesizer, Trainer, Validator
from .model import CandidateTask, RolloutGroup, Signal, Verdict

if TYPE_CHECKING:
    from typer import Typer

PROJECT = "coevolve"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def coevolve_environments() -> Sequence[type[LightEnvironment]]:  # type: ignore[empty-body]
    """Offer environments, where tasks are carried out. A run, a plan or an evaluation makes one of the class that `environment.name` names.

    `tasks` and `open` are required; contracts.Environment lists what stands in for the other methods.
    """


@hookspec
def coevolve_signals() -> Sequence[type[SignalDetector]]:  # type: ignore[empty-body]
    """Offer signal detectors, which read weaknesses off rollouts. A run makes one of each class in `signals.names`, in that order."""


@hookspec
def coevolve_synthesizers() -> Sequence[type[Synthesizer]]:  # type: ignore[empty-body]
    """Offer synthesizers, which explore the environment and propose tasks. A run makes the one that `synthesizer.name` names.

    The name "none" is reserved for runs without synthesis.
    """


@hookspec
def coevolve_validators() -> Sequence[type[Validator]]:  # type: ignore[empty-body]
    """Offer validators, which accept or refuse candidate tasks. A run makes one of each class in `validators.names`, in that order."""


@hookspec
def coevolve_trainers() -> Sequence[type[Trainer]]:  # type: ignore[empty-body]
    """Offer trainers, which update the policy from rollout groups. A run makes one of the class that `trainer.name` names."""


@hookspec
def coevolve_samplers() -> Sequence[type[Sampler]]:  # type: ignore[empty-body]
    """Offer samplers, which pick each iteration's tasks from the pool. A run makes one of the class that `sampler.name` names."""


@hookspec
def coevolve_policies() -> Sequence[type[Policy]]:  # type: ignore[empty-body]
    """Offer policies, which are inference engines. A run makes one of the class that `policy.name` names in each of its processes."""


@hookspec
def coevolve_executors() -> Sequence[type[Executor]]:  # type: ignore[empty-body]
    """Offer executors, which run the environment in workers. A run makes one of the class that `executor.name` names.

    The name "threads" is reserved for runs whose environment works in the run's own process.
    """


@hookspec
def coevolve_commands(app: "Typer") -> None:
    """Add commands to the command line: `@app.command()`, or `app.add_typer(group, name="mine")` for a group of them.

    Called at most once in a process, when `coevolve --help` lists the commands, or when the user gives a command that core does not have.
    Settings are not read by then, so `[plugins]` has no effect on it. `app` is the plugin's own Typer: its commands are added afterwards.
    The plugin's module must not import heavy libraries; import them in the command's function. A hook that raises, or a command that exists
    already, is reported in a line on stderr, and the plugin then adds no commands. Groups of the same name are joined. A command raises
    UserError for what the user can mend (exit code 2, one line). `coevolve.trained_run` opens a run's trained policy.
    """


@hookspec
def coevolve_run_started(folder: Path, config: dict[str, Any], iteration: int) -> None:
    """Called once when a run begins, and once each time that it is resumed, before the first evaluation and the first rollout.

    All components are made, and `folder` and its store exist. `config` is the resolved configuration. `iteration` counts the iterations
    already done: 0 for a new run.
    """


@hookspec
def coevolve_iteration_finished(
    iteration: int, groups: Sequence[RolloutGroup], metrics: dict[str, float], seconds: dict[str, float]
) -> None:
    """Called once an iteration, after the trainer's update and before evolution, evaluation and checkpoint.

    `groups` are the iteration's rollouts in the tasks' order. `metrics` are the trainer's figures by name. `seconds` is the wall time by
    part since the run began, processes before a resume included.
    """


@hookspec
def coevolve_evaluated(iteration: int, results: dict[str, float]) -> None:
    """Called once an evaluation on the held-out split: before the first iteration (0), as `evaluation.every` says, and after the last one.

    `results` maps "greedy" and "sampled", as `evaluation.modes` names them, to a success rate in [0, 1].
    """


@hookspec
def coevolve_signals_detected(iteration: int, signals: Sequence[Signal]) -> None:
    """Called once an evolution, before the synthesizer is asked; `signals` are those of all detectors, in their order, maybe none."""


@hookspec
def coevolve_task_admitted(iteration: int, candidate: CandidateTask) -> None:
    """Called once for each candidate that every validator accepted, as soon as it is accepted.

    `candidate.task` is the task as the validators left it. It joins the pool when the evolution ends.
    """


@hookspec
def coevolve_task_rejected(iteration: int, candidate: CandidateTask, verdict: Verdict) -> None:
    """Called once for each refused candidate, as soon as it is refused; `verdict.reason` is a refusals.Reason or a plugin's own code."""


@hookspec
def coevolve_diagnosed(iteration: int, text: str) -> None:
    """Called whenever something looks wrong or the user should know of it, any number of times in an iteration.

    `text` is one line that says what it is and what to do: no learning signal, scores all 0, workers that were lost, a used-up budget.
    """


@hookspec
def coevolve_run_finished(folder: Path, summary: dict[str, Any]) -> None:
    """Called once when a run ended as planned, after the trained policy and summary.json are written; `summary` is that file."""


@hookspec
def coevolve_run_left(folder: Path) -> None:
    """Called last, once for each `coevolve_run_started`, however the run ended (finished, interrupted, failed): close what you opened."""
