"""The same desk run with each executor, with two workers killed (SIGKILL) during the run; its results are compared with those of threads.

    python benchmarks/executor_kills.py FOLDER [STEPS] [EXECUTOR[@ADDRESS] ...]

Workers are killed during the rollouts of iterations 2 and 3; the exact moment depends on the machine's load. Prints for each run its
seconds, the number of lost workers, and whether tasks, pools, groups, trajectories, signals, verdicts, evaluations and weights are the
same bytes. "ray@auto" joins a cluster that was started with `ray start --head`. Exits with 1 when a run differs or fewer than two workers
were lost.
"""

import os
import signal
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any

from coevolve import hookimpl
from coevolve.core.registry import load_plugins
from coevolve.core.run.drive import start
from coevolve.core.settings.config import load_config

TABLES = ("tasks", "pools", "groups", "trajectories", "signals", "candidates", "verdicts", "evaluations")
WORKERS = (b"executors.processes", b"ray::Seat")


def workers() -> list[int]:
    """Worker processes of this user on this machine."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if any(mark in (entry / "cmdline").read_bytes() for mark in WORKERS):
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return sorted(found)


class Killer:
    """Kills a worker soon after iterations 1 and 2, while the next iteration's episodes run."""

    def __init__(self) -> None:
        self.killed: list[int] = []

    @hookimpl
    def coevolve_iteration_finished(self, iteration: int) -> None:
        if iteration in (1, 2):
            threading.Thread(target=self._kill, daemon=True).start()

    def _kill(self) -> None:
        time.sleep(0.3)
        pid = next((pid for pid in workers() if pid not in self.killed), None)
        if pid is not None:
            self.killed.append(pid)
            os.kill(pid, signal.SIGKILL)


def written(folder: Path) -> dict[str, Any]:
    with sqlite3.connect(folder / "run.sqlite") as db:
        found: dict[str, Any] = {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES}
    db.close()
    weights = [path.read_bytes() for path in sorted((folder / "policy").glob("*.safetensors"))]
    if not weights:
        raise RuntimeError(f"no weights in {folder}")
    return found | {"weights": weights}


def main() -> int:
    folder, steps = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 6
    plain: dict[str, Any] = {}
    wrong = 0
    for choice in ["threads", *(sys.argv[3:] or ["processes", "ray"])]:
        name, _, address = choice.partition("@")
        killer, before = Killer(), workers()
        if before:
            raise RuntimeError(f"there are workers of another program: {before}")
        sets = [f"steps={steps}", "evolve_every=3", "batch=8", "evaluation.every=0", "evaluation.final_tasks=50", f"executor.name={name}"]
        registry = load_plugins(block=["coevolve.plugins.reporters.*"], extra=[killer])
        config = load_config(registry, sets=sets + ([f"executor.address={address}"] if address else []))
        began = time.perf_counter()
        summary = start(config, registry, folder / choice)
        seconds, found = time.perf_counter() - began, written(folder / choice)
        plain = plain or found
        differ = [key for key in found if found[key] != plain[key]]
        left = workers()
        print(
            f"{choice:10} {seconds:5.1f} s, pool {summary['pool']}, "
            f"killed {len(killer.killed)} and lost {summary['worker_faults']} workers, "
            f"differs from threads in: {', '.join(differ) or 'nothing'}, workers left: {len(left)}",
            flush=True,
        )
        wrong += bool(differ) or bool(left) or (choice != "threads" and summary["worker_faults"] < 2)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
