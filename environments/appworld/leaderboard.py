"""A leaderboard submission: two experiments in the engine's own format, evaluated by the engine itself.

FOLDER/experiments/outputs/NAME_test_normal and NAME_test_challenge hold for each task what the engine wrote of its world (dbs, logs,
version) and its evaluation; FOLDER/data is a link to the data, so that FOLDER is a root for the engine's commands.
"""

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from coevolve import Episode, InfrastructureFault, RolloutGroup, Task, UserError

from . import home
from .setup import run

SPLITS = ("test_normal", "test_challenge")
TRIES = 2
"""Times that a task is rolled out whose world was lost."""
EVALUATE_SECONDS = 3_600.0
Roll = Callable[[Sequence[Task], Callable[[Task, Episode], None]], Sequence[RolloutGroup]]
"""Lets the trained policy attempt tasks once each; the second argument is called with each scored episode (TrainedRun.attempt)."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


class Source(Protocol):
    """What is needed of the environment."""

    @property
    def kind(self) -> str: ...

    @property
    def root(self) -> Path: ...

    def splits(self) -> tuple[str, ...]: ...

    def tasks(self, split: str) -> Sequence[Task]: ...


def leaderboard(environment: Source, folder: Path, name: str, roll: Roll) -> list[str]:
    """Roll out both test splits into `folder` (tasks that are there already stay), have the engine evaluate them, and say what is next."""
    if not _NAME.fullmatch(name):
        raise UserError(f"the leaderboard's name {name!r} must be of small letters, digits, - and _; give another one with --name")
    if lacking := [split for split in SPLITS if split not in environment.splits()]:
        raise UserError(f"the data has no split {lacking[0]!r}, which the leaderboard asks for; run: coevolve env setup appworld")
    folder = _root(folder, environment.root)
    lines = []
    for split in SPLITS:
        experiment = f"{name}_{split}"
        tasks = environment.tasks(split)
        _roll_out(tasks, folder / "experiments" / "outputs" / experiment, roll)
        lines.append(_told(_evaluated(folder, experiment, split), split, len(tasks)))
    if environment.kind == "tiny":
        lines.append("the tiny world is no benchmark: this shows the way, and is nothing to submit")
    return [*lines, *_next(folder, name)]


def _root(folder: Path, data: Path) -> Path:
    """Make `folder` a root for the engine over the user's data."""
    folder = folder.resolve()
    if "memory" in str(folder):
        raise UserError(f"AppWorld's engine misreads paths with 'memory', such as {folder}; choose another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        link = folder / "data"
        if not link.is_symlink() and not link.exists():
            link.symlink_to(data / "data")
    except OSError as error:
        raise UserError(f"cannot write to {folder} ({error.strerror or error}); choose another --out") from error
    if link.resolve() != (data / "data").resolve():
        raise UserError(f"{link} is other data than this run's ({data / 'data'}); choose another --out")
    return folder


def _roll_out(tasks: Sequence[Task], experiment: Path, roll: Roll) -> None:
    done = experiment / "tasks"
    done.mkdir(parents=True, exist_ok=True)

    def keep(task: Task, episode: Any) -> None:
        part = experiment / f".{task.id}.part"
        shutil.rmtree(part, ignore_errors=True)
        episode.export(part)
        part.rename(done / task.id)

    faults: dict[str, str] = {}
    for _ in range(TRIES):
        wanted = [task for task in tasks if not (done / task.id).is_dir()]
        if not wanted:
            return
        groups = roll(wanted, keep)
        faults = {group.task.id: str(group.trajectories[0].fault) for group in groups}
    if lost := [task.id for task in tasks if not (done / task.id).is_dir()]:
        why = f"{lost[0]}: {faults[lost[0]]}"
        raise InfrastructureFault(f"{len(lost)} of {len(tasks)} tasks have no result ({why}); the same command goes on")


def _evaluated(folder: Path, experiment: str, split: str) -> dict[str, Any]:
    """The engine's report of an experiment."""
    cache = folder / ".cache"
    try:
        engine(folder, "evaluate", experiment, split)
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    file = folder / "experiments" / "outputs" / experiment / "evaluations" / f"{split}.json"
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


def engine(folder: Path, *arguments: str) -> str:
    """Run one of the engine's own commands on the root `folder`; returns what it printed."""
    command = [str(home.python()), "-I", "-B", "-u", "-m", "appworld.cli", *arguments, "--root", str(folder)]
    cache = str(folder / ".cache")
    return run(command, EVALUATE_SECONDS, f"the engine's {arguments[0]}", folder, APPWORLD_ROOT=str(folder), APPWORLD_CACHE=cache)


def _told(report: dict[str, Any], split: str, tasks: int) -> str:
    figures = report["aggregate"]
    tgc, sgc = figures["task_goal_completion"], figures["scenario_goal_completion"]
    return f"{split}: TGC {tgc:.1f}, SGC {sgc:.1f} over {tasks} tasks, by the engine's own evaluation"


def _next(folder: Path, name: str) -> list[str]:
    words = '"METHOD" "ABOUT THE METHOD" "LLM" "ABOUT THE LLM" "URL"'
    program = f"{home.python()} -B -m appworld.cli"
    return [
        "to submit, run these with your own words, and send what the leaderboard's page asks for:",
        *(f"  {program} pack {name}_{split} {split} {words} --root {folder}" for split in SPLITS),
        f"to see the entry after that: {program} make {name}_test_normal {name}_test_challenge --root {folder}",
    ]
