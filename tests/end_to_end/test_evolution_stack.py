"""Who calls an evolution: each frame of ours between the command and `Loop.evolve` is named for what it does, and none logs anything."""

import re
import sys
import traceback
from pathlib import Path

from coevolve import Signal, hookimpl
from coevolve.core.cli.main import main
from coevolve.testing import registered

SMALL = ("steps=2", "batch=2", "rollouts=2", "initial_tasks=8", "evolve_every=1", "tasks_per_evolution=1", "evaluation.final_tasks=4")
OURS = re.compile(r"coevolve/(core|plugins)/(.+)\.py$")


class StackOfEvolution:
    """Keeps the call stack of the run's evolutions, as lines "file: function"."""

    def __init__(self) -> None:
        self.stacks: list[list[str]] = []

    @hookimpl
    def coevolve_signals_detected(self, signals: tuple[Signal, ...]) -> None:
        frames = traceback.extract_stack(sys._getframe())
        self.stacks.append([f"{match[0]}: {frame.name}" for frame in frames if (match := OURS.search(frame.filename))])


def test_every_frame_between_the_command_and_the_evolution_says_what_it_does(tmp_path: Path) -> None:
    watcher = StackOfEvolution()
    sets = [word for setting in SMALL for word in ("--set", setting)]
    with registered(watcher):
        assert main(["run", "--out", str(tmp_path / "run"), *sets]) == 0
    (stack,) = watcher.stacks  # after the last iteration nothing is evolved
    begin = next(number for number, line in enumerate(stack) if line.endswith(": run"))
    frames = stack[begin : stack.index("coevolve/core/loop.py: evolve") + 1]
    print("\n".join(frames))
    assert frames == [
        "coevolve/core/cli/main.py: run",
        "coevolve/core/run/drive.py: start",
        "coevolve/core/run/drive.py: drive",
        "coevolve/plugins/trainers/grpo/trainer.py: train",
        "coevolve/plugins/trainers/grpo/session.py: on_step_end",
        "coevolve/plugins/trainers/grpo/session.py: finish_iteration",
        "coevolve/core/loop.py: finish_iteration",
        "coevolve/core/loop.py: evolve",
    ]
