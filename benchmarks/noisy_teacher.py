"""Measure what validation is worth with a noisy teacher, in the desk world.

    python benchmarks/noisy_teacher.py table [--tasks 64]
    python benchmarks/noisy_teacher.py runs --seeds 201 202 203 --arms none blind_solve [--jobs 2] [--out runs/noisy] [--set KEY=VALUE ...]

The teacher is benchmarks/noisy_desk_server.py behind a real endpoint; the synthesizer is the real "teacher" with its own wording of
requests. `table` makes candidates from TASKS train tasks without training, and prints the share of each kind that each set of validators
admits. `runs` trains with each set of validators, over the same seeds, and prints held-out success before and after, and the admitted
tasks by kind. Finished runs are kept and not repeated; unfinished runs are resumed.
"""

import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from noisy_desk_server import KINDS, DeskTeacher, Rates, serving

ARMS: dict[str, tuple[str, ...]] = {
    "none": (),
    "execution": ("minimal", "execution"),
    "grounding": ("minimal", "execution"),
    "blind_solve": ("minimal", "execution", "blind_solve"),
    "both": ("minimal", "execution", "blind_solve"),
}
"""Arm -> its validators; "grounding" and "both" check literals, too. All arms but the first validate."""
GROUNDED = ("grounding", "both")
TEACHER = {
    "name": "teacher",
    "model": "noisy",
    "api_key_env": "",
    "structured": "json_schema",
    "explorations": 16,
    "rounds": 3,
    "steps": 6,
    "concurrency": 4,
}
ATTEMPTS = 8


def settings(arm: str, base_url: str) -> list[str]:
    """Settings of `coevolve run` for an arm; the rest is the desk recipe."""
    teacher = [f"synthesizer.{key}={json.dumps(value)}" for key, value in {**TEACHER, "base_url": base_url}.items()]
    more = ["validators.execution.grounding=true"] if arm in GROUNDED else []
    more += [f"validators.blind_solve.attempts={ATTEMPTS}", "validators.blind_solve.needed=1"] if "blind_solve" in ARMS[arm] else []
    return [*teacher, f"validators.names={json.dumps(ARMS[arm])}", *more]


def run(out: Path, arm: str, seed: int, base_url: str, steps: int, more: list[str]) -> dict[str, Any]:
    folder = out / f"{arm}-{seed}"
    if not (folder / "summary.json").exists():
        begun = (folder / "config.toml").exists()
        command = [sys.executable, "-m", "coevolve"]
        if begun:
            command += ["resume", str(folder), "--set", f"synthesizer.base_url={base_url}"]
        else:
            command += ["run", "--recipe", "desk", "--seed", str(seed), "--out", str(folder)]
            for setting in [f"steps={steps}", *settings(arm, base_url), *more]:
                command += ["--set", setting]
        ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        (out / f"{arm}-{seed}.log").write_text(ended.stdout + ended.stderr)
        if ended.returncode:
            raise SystemExit(f"{arm} seed {seed} ended with {ended.returncode}: {ended.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return {**found, "admitted": admitted(folder)}


def admitted(folder: Path) -> Counter[str]:
    """Count the tasks that joined the pool by kind, from the run's store."""
    with sqlite3.connect(folder / "run.sqlite") as db:
        rows = [json.loads(text) for (text,) in db.execute("SELECT task FROM tasks")]
    db.close()
    return Counter(str(task.get("intent")) for task in rows if task.get("origin", {}).get("kind") == "teacher")


def runs(given: argparse.Namespace) -> None:
    given.out.mkdir(parents=True, exist_ok=True)
    pairs = [(seed, arm) for seed in given.seeds for arm in given.arms]
    with serving(DeskTeacher(rates(given))) as url, ThreadPoolExecutor(given.jobs) as workers:
        done = workers.map(lambda pair: run(given.out, pair[1], pair[0], url, given.steps, given.settings), pairs)
        found = dict(zip(pairs, done, strict=True))
    print(f"rates: {rates(given)}; teacher: {TEACHER}; attempts of the solve check: {ATTEMPTS}")
    print(f"| arm | seed | greedy before -> after | sampled before -> after | pool | {' | '.join(KINDS)} |")
    print(f"|---|---|---|---|---|{'---|' * len(KINDS)}")
    for (seed, arm), summary in sorted(found.items(), key=lambda item: (given.arms.index(item[0][1]), item[0][0])):
        scores = " | ".join(f"{h['before']:.3f} -> {h['after']:.3f}" for h in (summary["held_out"][m] for m in ("greedy", "sampled")))
        kinds = " | ".join(str(summary["admitted"][kind]) for kind in KINDS)
        print(f"| {arm} | {seed} | {scores} | {sum(summary['pool'].values())} | {kinds} |")
    for mode in ("greedy", "sampled"):
        print()
        for arm in given.arms:
            after = {seed: found[seed, arm]["held_out"][mode]["after"] for seed in given.seeds}
            line = f"{mode}, {arm}: mean {statistics.mean(after.values()):.3f}"
            if arm != given.arms[0]:
                gaps = [after[seed] - found[seed, given.arms[0]]["held_out"][mode]["after"] for seed in given.seeds]
                error = statistics.stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else float("nan")
                better = sum(gap > 0 for gap in gaps)
                line += f"; minus {given.arms[0]}: {statistics.mean(gaps):+.3f} (se {error:.3f}, better in {better} of {len(gaps)})"
            print(line)


def table(given: argparse.Namespace) -> None:
    """Print how many candidates of each kind each set of validators admits into a pool of the train tasks."""
    from noisy_table import judged

    with serving(DeskTeacher(rates(given))) as url:
        candidates, by_arm = judged(url, TEACHER, ARMS, GROUNDED, ATTEMPTS, given.tasks, random.Random(given.seed))
    print(f"rates: {rates(given)}; {sum(candidates.values())} candidates from {given.tasks} explorations")
    print(f"| validators | {' | '.join(f'{kind} ({candidates[kind]})' for kind in KINDS)} | clean among the admitted | refused for |")
    print(f"|---|{'---|' * (len(KINDS) + 2)}")
    for arm, (passed, reasons) in by_arm.items():
        clean = passed["clean"] / max(1, sum(passed.values()))
        shares = " | ".join(f"{passed[kind]} ({passed[kind] / max(1, candidates[kind]):.0%})" for kind in KINDS)
        refused = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
        print(f"| {arm} | {shares} | {clean:.0%} | {refused} |")


def rates(given: argparse.Namespace) -> Rates:
    return Rates(given.wrong, given.mislabelled, given.impossible)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("wrong", "mislabelled", "impossible"):
        parser.add_argument(f"--{name}", type=float, default=getattr(Rates(), name), help="rate of this error among the candidates")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("table")
    one.add_argument("--tasks", type=int, default=64, help="how many train tasks are explored")
    one.add_argument("--seed", type=int, default=0)
    one.set_defaults(call=table)
    many = commands.add_parser("runs")
    many.add_argument("--seeds", type=int, nargs="+", required=True)
    many.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    many.add_argument("--steps", type=int, default=60)
    many.add_argument("--jobs", type=int, default=2, help="runs at a time, one thread each")
    many.add_argument("--out", type=Path, default=Path("runs/noisy"))
    many.add_argument("--set", dest="settings", action="append", default=[], help="settings for every arm")
    many.set_defaults(call=runs)
    given = parser.parse_args()
    given.call(given)


if __name__ == "__main__":
    main()
