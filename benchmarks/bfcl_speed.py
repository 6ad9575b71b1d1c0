"""Ground-truth episodes a second on one core: this package and the official executor and checker, in one process, for every category.

    python benchmarks/bfcl_speed.py [ROUNDS] [RELEASE]

Both sides execute and score the ground truths of a category's 200 tasks. "calls" is the same work without texts (execute, and compare with
the cached reference). "episodes" also writes and parses the answers and builds the messages, which the official side does not do here. The
official side has fresh instances for each task and executes as in the leaderboard's pipeline: in the rollout, in the checker, and for the
reference. The time to reset it between tasks is not counted. The sides alternate, and a ratio is the median over the rounds.
"""

import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from coevolve.environments.bfcl import assets, scoring
from coevolve.environments.bfcl.decode import ground_truth
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.release import CATEGORIES, DEFAULT
from coevolve.environments.bfcl.simulated_apis import Start, fresh

WORKER = Path(__file__).parent.parent / "tests/bfcl/official_worker.py"


def official(bfcl: Bfcl, scratch: str) -> Any:
    """Load the official code into this process."""
    spec = importlib.util.spec_from_file_location("official_worker", WORKER)
    assert spec is not None and spec.loader is not None
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    os.environ["BFCL_PROJECT_ROOT"] = scratch
    sys.path.insert(0, str(assets.ensure(bfcl.apis.release).parent))
    return worker


def episodes(bfcl: Bfcl) -> float:
    """Seconds of all tasks, as episodes through the protocol."""
    began = time.perf_counter()
    for task in bfcl.tasks("all"):
        with bfcl.open(task) as episode:
            for answer in bfcl.script(task.solution):
                episode.step(answer)
            if episode.score() != 1.0:
                raise RuntimeError(task.id)
    return time.perf_counter() - began


def calls(bfcl: Bfcl) -> float:
    """Seconds of all tasks, with execution and scoring only."""
    prepared = []
    for task in bfcl.tasks("all"):
        turns = [[ground_truth(text, bfcl.apis.parameters) for text in texts] for texts in task.payload["ground_truth"]]
        prepared.append((Start.of(task.payload), json.dumps(task.payload["ground_truth"]), turns))
    began = time.perf_counter()
    for start, answers, turns in prepared:
        if not all(scoring.judge(fresh(bfcl.apis, start), scoring.reference(bfcl.apis, start, answers), turns)):
            raise RuntimeError(answers)
    return time.perf_counter() - began


def measure(bfcl: Bfcl, worker: Any, rounds: int) -> None:
    jobs = [json.loads(json.dumps(dict(task.payload))) for task in bfcl.tasks("all")]
    episodes(bfcl)  # computes the references
    measured = [(worker.time_gold(jobs), calls(bfcl), episodes(bfcl)) for _ in range(rounds)]
    for name, column in zip(("official", "calls", "episodes"), zip(*measured, strict=True), strict=True):
        ratios = [row[0] / seconds for row, seconds in zip(measured, column, strict=True)]
        rate, ratio = len(jobs) / statistics.median(column), statistics.median(ratios)
        print(f"{bfcl.options.category:12} {name:9} {rate:7.0f} a second, {ratio:5.2f} times the official", flush=True)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    release = sys.argv[2] if len(sys.argv) > 2 else DEFAULT
    with tempfile.TemporaryDirectory() as scratch:
        worker = official(Bfcl(BfclOptions(release=release)), scratch)
        for category in CATEGORIES:
            measure(Bfcl(BfclOptions(release=release, category=category, exclude_unreachable=True)), worker, rounds)


if __name__ == "__main__":
    main()
