"""How well the door tells good tasks from bad ones: 200 BFCL candidates written by hand, 100 good ones and 20 of each of five faults.

    python benchmarks/door_controls.py [--half odd|even|all] [--kinds good leaked ...] [--show]
    python benchmarks/door_controls.py --blind openai --set model=qwen3-max --set base_url=http://127.0.0.1:8080/v1 --set api_key_env= \
        [--parallel 16] [--attempts 2] [--needed 1] [--out verdicts.jsonl]

The candidates lie in data/door_controls, a file for each kind. All begin in worlds of training tasks. Their calls are carried out, and a
text "$2.order_id" stands for a value of the result of call number 2 (from 0). Each candidate is judged alone, against an empty pool, by the
validators "request" and "execution" (with `drop_all`), and with --blind also by "blind_solve". The checks were tuned on the even numbers;
the odd numbers are the measurement.

Faults: `mismatched` (the solution does something else), `missing` (a needed value is not said), `ambiguous` (one of several things is meant
and not said which), `unasked` (the solution makes calls that nobody asked for), `leaked` (the request dictates the calls, or values that
the agent should find out).
"""

import argparse
import ast
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from coevolve import Action, CandidateTask, Origin, Step, Task, TaskPool, Verdict
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions

DATA = Path(__file__).parent / "data" / "door_controls"
KINDS = ("good", "mismatched", "missing", "ambiguous", "unasked", "leaked")


@frozen
class Control:
    """A candidate and what is known about it: its kind, and its number within the kind."""

    kind: str
    number: int
    task: Task


def controls(environment: Bfcl, kinds: Sequence[str] = KINDS) -> Iterator[Control]:
    """The candidates of the given kinds. ValueError for one that cannot be carried out or is not solved by its own calls."""
    starts = {task.id: task for task in environment.tasks("train")}
    for kind in kinds:
        for entry in json.loads((DATA / f"{kind}.json").read_text(encoding="utf-8")):
            yield Control(kind, int(entry["id"].rpartition("-")[2]), _composed(environment, starts[entry["start"]], entry))


def _composed(environment: Bfcl, start: Task, entry: Mapping[str, Any]) -> Task:
    steps: list[Step] = []
    with environment.open(start) as episode:
        for turn, written in enumerate(entry["turns"]):
            for text in written["calls"]:
                action = _action(text, steps)
                step = episode.step(environment.script([action])[0]).steps[0]
                if step.error is not None:
                    raise ValueError(f"{entry['id']}: {text}: {step.error}")
                steps.append(evolve(step, action=evolve(step.action, turn=turn)))
    query = "\n\n".join(turn["request"] for turn in entry["turns"])
    task = environment.compose(start, steps, entry["id"], query)
    if task is None:
        raise ValueError(f"{entry['id']} cannot be composed")
    return evolve(task, origin=Origin("controls", 1, None, (start.id,)))


def _action(text: str, steps: Sequence[Step]) -> Action:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    given = {str(keyword.arg): _value(ast.literal_eval(keyword.value), steps) for keyword in call.keywords}
    return Action(call.func.id, given)


def _value(value: Any, steps: Sequence[Step]) -> Any:
    if not (isinstance(value, str) and value.startswith("$")):
        return value
    number, *path = value[1:].split(".")
    found = steps[int(number)].result
    for key in path:
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found
