"""Compare arms over worlds of the desk: the same runs with other settings, each in its own process, at an equal number of rollouts.

    python benchmarks/desk_worlds.py --worlds producing-31 kind-35 --arms static cover programmatic --against cover [--jobs 2]

A **world** is BASE[:ENVIRONMENT[:RUN]]: a base policy, the seed of the desk's tasks (the pool and the tests; default: the base's number)
and the seed of the run's draws (default: the same as ENVIRONMENT). BASE is CLUSTERING-SEED, such as `consuming-33`, and is made where it is
missing, or `shipped`, the policy in the package. A pool of 64 tasks is drawn from a train split of 256, and all 800 held-out tasks are
tried before and after.

An **arm** is a list of settings of `coevolve run` (ARMS). All arms should make the same number of rollouts, where an attempt of the policy
at a candidate is a rollout, too: `--steps default=54` gives an arm with attempts fewer iterations, and the table prints what was made.

Runs that are finished are kept, those that were killed are resumed. `--report` only prints. A run's CPU seconds leave out processes that
were killed.
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from intervals import interval

PLAIN = ["sampler.name=uniform", 'validators.names=["execution"]']
RANDOM = [*PLAIN, "synthesizer.name=random"]
PROGRAMMATIC = [*PLAIN, "synthesizer.name=programmatic", "synthesizer.count_power=1"]
LEVELS = ["synthesizer.estimates=levels", "synthesizer.estimate_power=2", "synthesizer.rare=0"]
ARMS = {
    "static": [*PLAIN, "synthesizer.name=none"],
    "walk": [*RANDOM, "synthesizer.depth_matched=false"],
    "random": RANDOM,
    "random-mixed": [*RANDOM, "sampler.name=mixed"],
    "cover": [*PROGRAMMATIC, "synthesizer.use_signals=false"],
    "programmatic": [*PROGRAMMATIC, *LEVELS],
    "default": [],
    "first-default": [
        "sampler.name=learning_progress",
        "repairs=1",
        "validators.frontier.attempts=2",
        "validators.frontier.low=0",
        "validators.frontier.high=1",
    ],
    "default-no-frontier": ['validators.names=["execution"]'],
}
"""Settings beside the desk recipe's. "programmatic" is guided exploration as it was before failures were estimated by random effects."""
COMMON = ["environment.train=256", "initial_tasks=64", "evaluation.every=0", "evaluation.final_tasks=0"]
CLUSTERINGS = {"producing": "producing app", "consuming": "consuming app", "kind": "kind of value", "nothing": "nothing"}
SHIPPED = "shipped"
FIRST_MEETINGS = """SELECT avg(mean) FROM groups WHERE number IN
  (SELECT min(g.number) FROM groups g JOIN tasks t ON t.id = g.task_id WHERE t.origin != 'seed' GROUP BY g.task_id)"""
"""Mean score of new tasks in their first group."""
MODES = ("greedy", "sampled")


@dataclass(frozen=True)
class World:
    """A base policy, a seed of the environment and a seed of the run."""

    base: str
    environment: int
    run: int

    @classmethod
    def of(cls, text: str) -> "World":
        base, *seeds = text.split(":")
        kind, _, number = base.partition("-")
        if base != SHIPPED and (kind not in CLUSTERINGS or not number.isdigit()):
            raise argparse.ArgumentTypeError(f"{base!r} is neither {SHIPPED!r} nor CLUSTERING-SEED with one of {', '.join(CLUSTERINGS)}")
        if len(seeds) > 2 or not all(seed.isdigit() for seed in seeds):
            raise argparse.ArgumentTypeError(f"{text!r} is not BASE[:ENVIRONMENT[:RUN]] with whole numbers")
        environment = int(seeds[0] if seeds else number or 0)
        return cls(base, environment, int(seeds[1]) if len(seeds) == 2 else environment)

    def __str__(self) -> str:
        return f"{self.base}-{self.environment}-{self.run}"


def call(command: Sequence[str], log: Path) -> float:
    """Run a Python module in its own process with one thread, its output added to `log`; CPU seconds. OSError when it fails."""
    with log.open("a") as out:
        began = subprocess.Popen([sys.executable, "-m", *command], stdout=out, stderr=out, env={**os.environ, "OMP_NUM_THREADS": "1"})
        _, status, used = os.wait4(began.pid, 0)
        began.returncode = os.waitstatus_to_exitcode(status)
    if began.returncode:
        raise OSError(f"{log.stem} ended with {began.returncode}, see {log}: {log.read_text().strip().splitlines()[-1:]}")
    return used.ru_utime + used.ru_stime


def make_base(name: str, bases: Path) -> None:
    """Make a base policy where it is missing, from the shipped one's weights; its report stays beside it as NAME.log."""
    if name == SHIPPED or (bases / name / "model.safetensors").exists():
        return
    bases.mkdir(parents=True, exist_ok=True)
    kind, _, seed = name.partition("-")
    recipe = ["coevolve.environments.desk.train_policy", "--from", SHIPPED, "--seed", seed, "--clustering", CLUSTERINGS[kind]]
    seconds = call([*recipe, "--out", str(bases / name)], bases / f"{name}.log")
    print(f"{name} made in {seconds:.0f} CPU s", flush=True)


def run(world: World, arm: str, given: argparse.Namespace) -> None:
    """Make one run, or what is left of it. OSError where it fails, or was begun with other settings."""
    folder = given.out / f"{arm}-{world}"
    settings = [*COMMON, f"environment.seed={world.environment}", *ARMS[arm], *given.settings]
    if world.base != SHIPPED:
        settings.append(f"policy.model={json.dumps(str((given.bases / world.base).resolve()))}")
    if arm in given.steps:
        settings.append(f"steps={given.steps[arm]}")
    made = folder.with_suffix(".json")
    state = json.loads(made.read_text()) if made.exists() else {"settings": settings, "cpu": 0.0}
    if state["settings"] != settings:
        raise OSError(f"{folder} was begun with other settings ({made}): remove both, or choose another --out")
    if (folder / "summary.json").exists():
        return
    made.write_text(json.dumps(state))
    command = ["coevolve", "run", "--seed", str(world.run), "--out", str(folder)]
    for setting in settings:
        command += ["--set", setting]
    again = ["coevolve", "resume", str(folder)] if (folder / "config.toml").exists() else command
    state["cpu"] += call(again, folder.with_suffix(".log"))
    made.write_text(json.dumps(state))
    print(f"{folder.name} made in {state['cpu']:.0f} CPU s", flush=True)


def result(world: World, arm: str, given: argparse.Namespace) -> dict[str, float] | None:
    """What a run came to, by name; None where it is not finished."""
    folder = given.out / f"{arm}-{world}"
    if not (folder / "summary.json").exists():
        return None
    summary = json.loads((folder / "summary.json").read_text())
    with closing(sqlite3.connect(f"file:{folder / 'run.sqlite'}?mode=ro", uri=True)) as store:
        ((attempts,),) = store.execute("SELECT coalesce(sum(value), 0) FROM metrics WHERE name = 'attempts'")
        ((candidates,),) = store.execute("SELECT count(*) FROM candidates")
        ((calls,),) = store.execute("SELECT avg(json_array_length(task, '$.solution')) FROM tasks WHERE origin != 'seed'")
        ((first,),) = store.execute(FIRST_MEETINGS)
    return {
        **{f"{mode} {when}": summary["held_out"][mode][when] for mode in MODES for when in ("before", "after")},
        "training": summary["rollouts"],
        "attempts": attempts,
        "rollouts": summary["rollouts"] + attempts,
        "candidates": candidates,
        "pool": sum(summary["pool"].values()),
        "calls": calls or 0.0,
        "first": first or 0.0,
        "feedback": summary["share"]["feedback"],
        "cpu": json.loads(folder.with_suffix(".json").read_text())["cpu"],
    }


def print_tables(found: Mapping[tuple[World, str], Mapping[str, float]], arms: Sequence[str], against: Sequence[str]) -> None:
    """Every run, the means of each arm, and the paired differences to the arms in `against` over the worlds that both finished."""
    print("| world (base, environment, run) | arm | greedy | sampled | rollouts |\n|---|---|---|---|---|")
    for (world, arm), one in sorted(found.items(), key=lambda item: (str(item[0][0]), arms.index(item[0][1]))):
        scores = " | ".join(f"{one[f'{mode} before']:.3f} -> {one[f'{mode} after']:.3f}" for mode in MODES)
        print(f"| {world} | {arm} | {scores} | {one['rollouts']:.0f} |")
    print(
        "\n| arm | worlds | greedy | sampled | rollouts | of them attempts | candidates | pool "
        "| calls of new tasks | their first mean score | feedback stage | CPU s |\n" + "|---" * 12 + "|"
    )
    for arm in arms:
        if own := [one for (_, other), one in found.items() if other == arm]:
            mean = {name: statistics.mean(one[name] for one in own) for name in own[0]}
            scores = " | ".join(f"{mean[f'{mode} before']:.3f} -> {mean[f'{mode} after']:.3f}" for mode in MODES)
            counts = " | ".join(f"{mean[name]:.0f}" for name in ("rollouts", "attempts", "candidates", "pool"))
            tasks = f"{mean['calls']:.1f} | {mean['first']:.2f} | {mean['feedback']:.1%}"
            print(f"| {arm} | {len(own)} | {scores} | {counts} | {tasks} | {mean['cpu']:.0f} |")
    print("\n| difference | | over worlds: mean [95 % interval], better in | over base policies |\n|---|---|---|---|")
    for base in against:
        for arm in arms:
            worlds = [world for world, other in found if other == arm and (world, base) in found and arm != base]
            for mode in MODES if worlds else ():
                gaps = {world: found[world, arm][f"{mode} after"] - found[world, base][f"{mode} after"] for world in worlds}
                # Worlds with one base policy are not independent, so the mean over each base is a second, more careful unit.
                bases = {world.base for world in worlds}
                means = [statistics.mean(gap for world, gap in gaps.items() if world.base == name) for name in sorted(bases)]
                print(f"| {arm} - {base} | {mode} | {interval(list(gaps.values()))} | {interval(means)} |")


def each(jobs: int, calls: Sequence[Callable[[], None]]) -> None:
    """Carry out all calls, `jobs` at a time; what fails is printed, and ends the program once all others are done."""

    def attempt(call: Callable[[], None]) -> str | None:
        try:
            call()
        except OSError as error:
            print(error, file=sys.stderr, flush=True)
            return str(error)
        return None

    with ThreadPoolExecutor(jobs) as pool:
        failed = [text for text in pool.map(attempt, calls) if text]
    if failed:
        raise SystemExit(f"{len(failed)} of {len(calls)} failed; the same command goes on from here")


def arm_steps(text: str) -> tuple[str, int]:
    arm, _, steps = text.partition("=")
    if arm not in ARMS or not steps.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not ARM=ITERATIONS")
    return arm, int(steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--worlds", type=World.of, nargs="+", required=True, metavar="BASE[:ENVIRONMENT[:RUN]]")
    parser.add_argument("--arms", nargs="*", default=[], choices=list(ARMS), help="none: only the base policies are made")
    parser.add_argument("--against", nargs="+", default=[], choices=list(ARMS), help="arms that the others are compared with")
    parser.add_argument("--steps", type=arm_steps, nargs="+", default=[], metavar="ARM=N", help="iterations of arms that differ from 60")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time, one thread each")
    parser.add_argument("--bases", type=Path, default=Path("runs/bases"))
    parser.add_argument("--out", type=Path, default=Path("runs/worlds"))
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="settings for every arm")
    parser.add_argument("--report", action="store_true", help="print what is finished; run nothing")
    given = parser.parse_args()
    given.steps = dict(given.steps)
    given.out.mkdir(parents=True, exist_ok=True)
    if not given.report:
        each(given.jobs, [partial(make_base, base, given.bases) for base in dict.fromkeys(world.base for world in given.worlds)])
        each(given.jobs, [partial(run, world, arm, given) for world in given.worlds for arm in given.arms])
    if unknown := [arm for arm in given.against if given.arms and arm not in given.arms]:
        parser.error(f"--against {unknown[0]} is not among --arms")
    found = {(world, arm): one for world in given.worlds for arm in given.arms if (one := result(world, arm, given)) is not None}
    if found:
        print_tables(found, given.arms, given.against)


if __name__ == "__main__":
    main()
