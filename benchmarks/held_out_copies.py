"""How many copies of held-out AppWorld tasks the door admits when the data lacks their solutions, as the benchmark's data does.

    python benchmarks/held_out_copies.py [--show] [--known] [--whole] [--only copies] [--held-out test_normal test_challenge dev]

The tiny world is copied without the solutions of the held-out splits; what the benchmark ships for them stays. data/held_out_copies.json
holds copies of held-out tasks (in other words, with other values, both), each solved by the code of the task that it copies and made from a
train task's world, and other requests that people could make there. Prints how many of each pass the comparison with the held-out tasks
that the validator "execution" makes. --whole: its other checks too, with the train tasks as the pool. --known: with the solutions, for
comparison. --show: each verdict.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from coevolve import Action, CandidateTask, Step, Task, TaskPool, Verdict
from coevolve.environments.appworld import home
from coevolve.environments.appworld.data_checks import GROUND_TRUTH, task_ids
from coevolve.environments.appworld.environment import AppWorld, AppWorldOptions
from coevolve.environments.appworld.reference import gold_blocks
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.plugins.validators.similarity import text_of
from coevolve.plugins.validators.task_index import TaskIndex

DATA = Path(__file__).with_name("data") / "held_out_copies.json"


class Rooted(AppWorld):
    """AppWorld over a given folder of data."""

    root = Path()


def without_solutions(original: Path, copy: Path, splits: list[str]) -> None:
    """Copy a data root; of the tasks of `splits` keep only what the benchmark's data holds."""
    shutil.copytree(original, copy)
    for split in splits:
        for task_id in task_ids(original, split):
            for file in (copy / "data" / "tasks" / task_id / "ground_truth").iterdir():
                if file.name not in GROUND_TRUTH:
                    file.unlink()


def copy_of(environment: AppWorld, original: Path, start: Task, made: dict[str, Any], name: str) -> Task | None:
    """The copy as a task: the code of the task that it copies, with other values where the data says so."""
    code = list(gold_blocks(original, made["of"]))
    for old, new in made["swap"].items():
        code = [block.replace(old, new) for block in code]
    return environment.compose(start, [Step(Action("execute", {"code": block, "calls": 0}), "") for block in code], name, made["query"])


def other_of(environment: AppWorld, start: Task, made: dict[str, Any], name: str) -> Task | None:
    if "code" in made:
        steps = [Step(Action("execute", {"code": made["code"], "calls": 0}), "")]
    else:
        steps = [Step(Action(api, arguments), "") for api, arguments in made["calls"]]
    return environment.compose(start, steps, name, made["query"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--only", choices=["copies", "others"])
    parser.add_argument("--held-out", nargs="+", default=["test_normal", "test_challenge", "dev"])
    given = parser.parse_args()
    AppWorld.setup(data="tiny")
    original, began = home.root("tiny"), time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="coevolve-held-out-") as scratch:
        without_solutions(original, Path(scratch) / "root", [] if given.known else given.held_out)
        environment = Rooted(AppWorldOptions(data="tiny", max_worlds=2))
        Rooted.root = Path(scratch) / "root"
        try:
            judge(environment, original, given)
        finally:
            environment.close()
    print(f"{time.perf_counter() - began:.0f} s")


def compared(index: TaskIndex, environment: AppWorld, task: Task, known: bool) -> Verdict:
    """The verdict of the comparison with the held-out tasks alone."""
    if same := index.same_text(text_of(task.query), ExecutionOptions().similarity) or index.same_scenario(task):
        return Verdict(False, "held out", same)
    if not known:
        return Verdict(True, "accepted")
    keys = environment.keys(task)
    same = index.same_family(keys) or index.same_actions(keys) or index.same_end(keys)
    return Verdict(same is None, "accepted" if same is None else "held out", same or "")


def judge(environment: AppWorld, original: Path, given: argparse.Namespace) -> None:
    train = {task.id: task for task in environment.tasks("train")}
    held_out = tuple(task for split in given.held_out for task in environment.tasks(split))
    print(f"{len(held_out)} held-out tasks, {sum(bool(task.solution) for task in held_out)} of them with a known solution")
    door, pool, index = Execution(ExecutionOptions()), TaskPool(tuple(train.values())), TaskIndex(environment, ordered=False, limit=200)
    index.update(held_out)
    data = json.loads(DATA.read_text(encoding="utf-8"))
    known = {task.id for task in held_out}
    both = [("copies", entry) for entry in data["copies"] if entry["of"] in known] + [("others", entry) for entry in data["others"]]
    listed = [(kind, entry) for kind, entry in both if given.only in (None, kind)]
    verdicts: dict[str, Counter[str]] = {"copies": Counter(), "others": Counter()}
    for number, (kind, entry) in enumerate(listed):
        start, name = train[entry["start"]], f"{kind}:{number}"
        task = copy_of(environment, original, start, entry, name) if kind == "copies" else other_of(environment, start, entry, name)
        if task is None:
            print(f"cannot be composed, left out: {entry['query']}")
            continue
        if given.whole:
            verdict = door.validate(CandidateTask(task), environment, pool, held_out)
        else:
            verdict = compared(index, environment, task, given.known)
        verdicts[kind][verdict.reason] += 1
        if given.show or (verdict.accepted and kind == "copies") or (not verdict.accepted and kind == "others"):
            print(f"{kind}: {verdict.reason} ({verdict.detail}): {entry['query']}", flush=True)
    for kind, found in verdicts.items():
        print(f"{kind}: {found['accepted']} of {sum(found.values())} admitted; {dict(found.most_common())}")


if __name__ == "__main__":
    main()
