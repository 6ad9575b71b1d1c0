"""Steps a second of the loop's rollouts with each executor: 64 episodes at once, whose steps compute for a set time.

    python benchmarks/executors.py [ROUNDS] [MILLISECONDS ...]

The executors alternate, in one process; a figure is the median over the rounds. A policy's time is not included, since the texts are
written beforehand. "processes" and "ray" have one worker for each core.
"""

import os
import statistics
import sys
import time
from contextlib import ExitStack

import busy_stockroom

from coevolve import Sampling
from coevolve.core.record.timing import Clock
from coevolve.core.registry import load_plugins
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.core.settings.config import load_config
from coevolve.core.workers.remote_environment import limits_for, placed
from coevolve.testing import ScriptedOptions, ScriptedPolicy, Stockroom, StockroomOptions

EPISODES = 64
NAMES = ("threads", "processes", "ray")


def measure(runner: RolloutRunner) -> float:
    """Steps a second in one batch."""
    room = Stockroom(StockroomOptions())
    scripts = {task.id: room.script(task.solution) for task in room.tasks("train")}
    policy = ScriptedPolicy(ScriptedOptions(lambda task, row: scripts[task.id]))
    tasks = room.tasks("train")[: EPISODES // 4]
    began = time.perf_counter()
    groups = runner.run(policy, tasks, 4, Sampling(), 1)
    seconds = time.perf_counter() - began
    if any(t.score != 1.0 for group in groups for t in group.trajectories):
        raise RuntimeError("an episode failed")
    return sum(len(t.steps) + 1 for group in groups for t in group.trajectories) / seconds


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    cores = os.process_cpu_count() if hasattr(os, "process_cpu_count") else len(os.sched_getaffinity(0))
    registry = load_plugins(extra=[busy_stockroom])
    for milliseconds in [float(word) for word in sys.argv[2:]] or [1.0]:
        with ExitStack() as stack:
            rollers = {}
            for name in NAMES:
                sets = ["environment.name=busy", f"environment.milliseconds={milliseconds}", f"executor.name={name}"]
                began = time.perf_counter()
                config = load_config(registry, sets=sets + ([] if name == "threads" else [f"executor.workers={cores}"]))
                environment = stack.enter_context(placed(config, registry))
                environment.splits()
                print(f"{name:10} ready after {time.perf_counter() - began:5.2f} s", flush=True)
                rollers[name] = RolloutRunner(environment, limits_for(environment, RolloutLimits(20, 30.0, config.workers)), Clock())
                stack.callback(rollers[name].close)
            measured = [{name: measure(runner) for name, runner in rollers.items()} for _ in range(rounds + 1)][1:]
        for name in NAMES:
            rates = [row[name] for row in measured]
            ratio = statistics.median(row[name] / row["threads"] for row in measured)
            print(f"{milliseconds:g} ms: {name:10} {statistics.median(rates):6.0f} steps a second, {ratio:5.2f} times threads", flush=True)


if __name__ == "__main__":
    main()
