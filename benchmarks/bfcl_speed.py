"""Gold episodes a second on one core, this package beside the official executor and checker, in one run.

    python benchmarks/bfcl_speed.py [ROUNDS]

Both carry out every ground truth of the 200 base tasks and score it. "calls" is the same work without texts (execute and compare with
the cached reference); "episodes" also writes and parses the answers and builds the messages. The official side runs in a
process of its own with fresh instances each round, as it does in the leaderboard's pipeline: once in the rollout, once in the checker.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from coevolve.environments.bfcl import assets, scoring
from coevolve.environments.bfcl.decode import ground_truth
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.release import DEFAULT, RELEASES
from coevolve.environments.bfcl.world import fresh

WORKER = Path(__file__).parent.parent / "tests/bfcl/official_worker.py"


def official(bfcl: Bfcl) -> float:
    """Seconds for all tasks."""
    jobs = [dict(task.payload) for task in bfcl.tasks("all")]
    package = assets.ensure(RELEASES[DEFAULT])
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, str(WORKER), str(package.parent), scratch]
        done = subprocess.run(command, input=json.dumps({"time_gold": jobs}), stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout)["time_gold"])


def episodes(bfcl: Bfcl) -> float:
    """Seconds for all tasks, through the protocol."""
    began = time.perf_counter()
    for task in bfcl.tasks("all"):
        with bfcl.open(task) as episode:
            for answer in bfcl.script(task.solution):
                episode.step(answer)
            if episode.score() != 1.0:
                raise RuntimeError(task.id)
    return time.perf_counter() - began


def calls(bfcl: Bfcl) -> float:
    """Seconds for all tasks, executing and scoring only."""
    prepared = []
    for task in bfcl.tasks("all"):
        classes, config = tuple(task.payload["involved_classes"]), json.dumps(task.payload["initial_config"])
        turns = [[ground_truth(text, bfcl.apis.parameters) for text in texts] for texts in task.payload["ground_truth"]]
        prepared.append((classes, config, json.dumps(task.payload["ground_truth"]), turns))
    began = time.perf_counter()
    for classes, config, answers, turns in prepared:
        world, seen = fresh(bfcl.apis, classes, config), list[str]()
        for turn, wanted in zip(turns, scoring.reference(bfcl.apis, classes, config, answers), strict=True):
            seen += [world.execute(call).text for call in turn]
            if not scoring.passes(world, wanted, len(turn), seen):
                raise RuntimeError(answers)
    return time.perf_counter() - began


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    bfcl = Bfcl(BfclOptions())
    count = len(bfcl.tasks("all"))
    episodes(bfcl)  # computes the references
    measured = [(official(bfcl), calls(bfcl), episodes(bfcl)) for _ in range(rounds)]
    for name, column in zip(("official", "calls", "episodes"), zip(*measured, strict=True), strict=True):
        ratios = [row[0] / seconds for row, seconds in zip(measured, column, strict=True)]
        print(f"{name:9} {count / statistics.median(column):7.0f} a second, {statistics.median(ratios):5.2f} times the official")


if __name__ == "__main__":
    main()
