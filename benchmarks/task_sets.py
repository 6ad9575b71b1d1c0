"""Make a set of tasks as a run's evolutions do, without training, and write it for `coevolve judge`.

    python benchmarks/task_sets.py --environment bfcl --synthesizer programmatic --tasks 100 --seed 101 --out programmatic.jsonl

Evolutions follow one another: each asks the synthesizer for 16 tasks without signals, and the door of the recipe that is named for the
environment (`--recipe`) judges each candidate against the pool as it has grown, without "blind_solve", which needs a model. Prints the
reasons of the refusals, and the seconds and opened episodes for each admitted task, by synthesis and door.
"""

import argparse
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import attrs

from coevolve import Task, TaskPool
from coevolve.core.judging.sample import Sample, export
from coevolve.core.run.prepare import prepare
from coevolve.core.settings.sources import setting_sources
from coevolve.testing import make_feedback

RECIPES = {"bfcl": "bfcl-smoke", "appworld": "appworld-smoke"}
EVOLUTION = 16
"""Tasks that one evolution may admit."""


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--environment", choices=tuple(RECIPES), required=True)
    parser.add_argument("--synthesizer", default="programmatic")
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--recipe", default="", help="a recipe whose validators are the door")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="more settings")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    sources = setting_sources(given.recipe or RECIPES[given.environment], None, [f"synthesizer.name={given.synthesizer}", *given.set])
    config, registry = prepare(sources, ())
    environment = registry.make("environment", config.environment)
    opened = Counter[str]()
    counted = _counting(environment, opened)
    doors = [registry.make("validator", chosen) for chosen in config.validators if chosen.name != "blind_solve"]
    seeds, held_out = tuple(environment.tasks("train")), environment.tasks(config.evaluation.split)
    pool, admitted, reasons, seconds = TaskPool(seeds), list[Task](), Counter[str](), Counter[str]()
    evolution, before = 0, -1
    while len(admitted) < given.tasks and len(admitted) > before:
        evolution, before = evolution + 1, len(admitted)
        assert config.synthesizer is not None
        synthesizer = registry.make("synthesizer", config.synthesizer)
        feedback = attrs.evolve(make_feedback(pool.tasks), iteration=evolution, wanted=EVOLUTION)
        found = iter(synthesizer.synthesize(feedback, counted, random.Random(f"{given.seed} {evolution}")))
        while len(admitted) < min(given.tasks, before + EVOLUTION):
            opened["stage"], begun = 0, time.perf_counter()
            candidate = next(found, None)
            seconds["synthesis"] += time.perf_counter() - begun  # type: ignore[assignment]  # a Counter of floats
            opened["synthesis"] += opened["stage"]
            if candidate is None:
                break
            opened["stage"], begun = 0, time.perf_counter()
            reason, task = "accepted", candidate.task
            for door in doors:
                verdict = door.validate(attrs.evolve(candidate, task=task), counted, pool, held_out)
                reason, task = str(verdict.reason), verdict.task or task
                if not verdict.accepted:
                    break
            seconds["door"] += time.perf_counter() - begun  # type: ignore[assignment]
            opened["door"] += opened["stage"]
            reasons[reason] += 1
            if reason == "accepted":
                admitted.append(task)
                pool = pool.with_tasks([task])
    count = max(len(admitted), 1)
    print(f"{len(admitted)} admitted of {reasons.total()} candidates; refused: {dict(reasons - Counter(accepted=len(admitted)))}")
    for stage in ("synthesis", "door"):
        print(f"{stage}: {seconds[stage] / count:.2f} s and {opened[stage] / count:.1f} opened episodes for each admitted task")
    if given.out:
        tasks = tuple(admitted)
        export(Sample(given.out, tasks, config, registry, {}, tasks), given.out)


def _counting(environment: Any, opened: Counter[str]) -> Any:
    """The environment, whose opened episodes are counted."""
    plain = environment.open

    def counting(task: Task) -> Any:
        opened["stage"] += 1
        return plain(task)

    environment.open = counting
    return environment


if __name__ == "__main__":
    main()
