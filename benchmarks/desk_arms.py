"""Compare arms of the paper in the desk world: the same run with different synthesizers, over several seeds, each in its own process.

    python benchmarks/desk_arms.py --seeds 101 102 103 --arms static programmatic [--jobs 2] [--out runs/arms] [--set KEY=VALUE ...]

An arm is a list of settings of `coevolve run` (ARMS below). Prints held-out success before and after for each run, the mean of each
arm, and the paired difference to the first arm with its standard error. Finished runs are kept and not repeated.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ARMS = {
    "static": ["synthesizer.name=none"],
    "walk": ["synthesizer.name=random", "synthesizer.depth_matched=false"],
    "random": ["synthesizer.name=random"],
    "cover": ["synthesizer.name=programmatic", "synthesizer.use_signals=false"],
    "programmatic": ["synthesizer.name=programmatic"],
    "learnability": ["synthesizer.name=random", "sampler.name=learnability"],
    "no-forgetting": ['signals.names=["boundary","rare"]'],
    "no-boundary": ['signals.names=["forgetting","rare"]'],
    "no-rare": ['signals.names=["forgetting","boundary"]'],
}


def run(out: Path, arm: str, seed: int, settings: list[str]) -> dict:
    folder = out / f"{arm}-{seed}"
    summary = folder / "summary.json"
    if not summary.exists():
        done = folder.exists() and (folder / "config.toml").exists()
        command = [
            sys.executable,
            "-m",
            "coevolve",
            *(["resume", str(folder)] if done else ["run", "--seed", str(seed), "--out", str(folder)]),
        ]
        if not done:
            for setting in [*ARMS[arm], *settings]:
                command += ["--set", setting]
        ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        (out / f"{arm}-{seed}.log").write_text(ended.stdout + ended.stderr)
        if ended.returncode:
            raise SystemExit(f"{arm} seed {seed} ended with {ended.returncode}: {ended.stderr.strip().splitlines()[-1:]}")
    return json.loads(summary.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--arms", nargs="+", default=["static", "programmatic"], choices=list(ARMS))
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, one thread each")
    parser.add_argument("--out", type=Path, default=Path("runs/arms"))
    parser.add_argument("--set", dest="settings", action="append", default=[], help="settings for every arm")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    pairs = [(seed, arm) for seed in given.seeds for arm in given.arms]
    with ThreadPoolExecutor(given.jobs) as pool:
        found = dict(zip(pairs, pool.map(lambda pair: run(given.out, pair[1], pair[0], given.settings), pairs), strict=True))
    print("| arm | seed | greedy before -> after | sampled before -> after | pool | wall s | feedback | overhead |")
    print("|---|---|---|---|---|---|---|---|")
    for (seed, arm), summary in sorted(found.items(), key=lambda item: (given.arms.index(item[0][1]), item[0][0])):
        scores = " | ".join(f"{h['before']:.3f} -> {h['after']:.3f}" for h in (summary["held_out"][m] for m in ("greedy", "sampled")))
        share = summary["share"]
        print(
            f"| {arm} | {seed} | {scores} | {sum(summary['pool'].values())} | {summary['wall_seconds']:.0f} "
            f"| {share['feedback']:.1%} | {share['overhead']:.1%} |"
        )
    for mode in ("greedy", "sampled"):
        print()
        for arm in given.arms:
            after = [found[seed, arm]["held_out"][mode]["after"] for seed in given.seeds]
            line = f"{mode}, {arm}: mean {statistics.mean(after):.3f}"
            if arm != given.arms[0]:
                gaps = [found[s, arm]["held_out"][mode]["after"] - found[s, given.arms[0]]["held_out"][mode]["after"] for s in given.seeds]
                error = statistics.stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else float("nan")
                better = sum(gap > 0 for gap in gaps)
                line += f"; minus {given.arms[0]}: {statistics.mean(gaps):+.3f} (se {error:.3f}, better in {better} of {len(gaps)})"
            print(line)


if __name__ == "__main__":
    main()
