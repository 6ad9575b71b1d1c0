"""Synthesized tasks on the engine's side: what code leads to, and a task folder that the engine scores like any other.

The folder's evaluation.py is generic: it compares the canonical diff and the answer with the reference in private_data.json. A
reference without either is never met, because merely completing the task would meet it.
"""

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .canonical import canonical_diff
from .world import open_world

FAILED = "Execution failed."
"""Beginning of the engine's output for a block that raised, ran out of time or was refused."""
NOT_GIVEN = "<<NOT_GIVEN>>"
"""The engine's answer before `complete_task` is called."""
ANSWERED = "The task is marked complete with the expected answer, and exactly the expected models are changed."
CHANGED = "The changes of {model} are those of the reference."
OUTSIDE = "No model is changed that the reference leaves alone."
_NAME = re.compile(r"[A-Za-z0-9]+_[0-9]+")

_EVALUATE = f"""

def evaluate(test, public_data, private_data, main_user, models, ground_truth_answer):
    task = models.end.supervisor.Task.first()
    expected, found = private_data["diff"], diff_of(models)
    with test({ANSWERED!r}):
        test.case(bool(expected) or ground_truth_answer is not None)
        test.case(task.status, "==", "success")
        test.answer(json.loads(task.answer), ground_truth_answer)
        test.case(sorted(found), "==", sorted(expected))
    for model in expected:
        with test({CHANGED!r}.format(model=model)):
            test.case(text_of(found.get(model)), "==", text_of(expected[model]))
    with test({OUTSIDE!r}):
        test.case(sorted(set(found) - set(expected)), "==", [])
"""


def trace(task_id: str, code_blocks: Sequence[str]) -> dict[str, Any]:
    """Execute blocks from the beginning of a task, up to the first that fails.

    `ok`: none failed (else `error` is the engine's last line); `status` and `answer`: of the task; `diff`: canonical; `calls`:
    [app.api, arguments, status, answer] without secrets; `user`: the supervisor's email address.
    """
    world = open_world(task_id)
    error = None
    for code in code_blocks:
        output = str(world.execute(code))
        if output.startswith(FAILED):
            error = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), FAILED)
            break
    calls = list(world.coevolve_calls)
    task = world.requester.request("supervisor", "show_active_task", track=False)
    found = reference_of(world)
    return {
        "ok": error is None,
        "error": error,
        "completed": task["status"] is not None,
        "status": task["status"],
        "calls": calls,
        "user": world.task.supervisor.email,
        **found,
    }


def reference_of(world: Any) -> dict[str, Any]:
    """The reference of a solution: its canonical diff and its answer."""
    answer = world.requester.request("supervisor", "show_active_task", track=False)["answer"]
    return {"diff": canonical_diff(world), "answer": None if answer == NOT_GIVEN else answer}


def write_task(
    root: Path, start_id: str, task_id: str, query: str, code_blocks: Sequence[str], reference: dict[str, Any], into: Path | None = None
) -> Path:
    """Write the task's folder and return it; it appears complete or not at all.

    The task begins as `start_id` in ROOT/data/tasks does, and is written beside it unless `into` names another folder of tasks. Raises
    ValueError for an id that the engine does not accept (it wants `<letters and digits>_<number>`), LookupError for an unknown start.
    """
    start = Path(root) / "data" / "tasks" / start_id
    if not _NAME.fullmatch(task_id):
        raise ValueError(f"the engine takes ids like name_1, not {task_id!r}")
    if not _NAME.fullmatch(start_id) or not (start / "specs.json").is_file():
        raise LookupError(f"there is no task {start_id!r} in {start.parent}")
    home = (start.parent if into is None else Path(into)) / task_id
    part = home.with_name(f".{task_id}.{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)
    try:
        (part / "ground_truth").mkdir(parents=True)
        shutil.copytree(start / "dbs", part / "dbs")
        _ask(part / "dbs" / "supervisor.jsonl", query)
        specs = json.loads((start / "specs.json").read_text(encoding="utf-8"))
        _json(part / "specs.json", {**specs, "instruction": query})
        _ground_truth(part / "ground_truth", code_blocks, reference)
        if home.exists():
            shutil.rmtree(home)
        part.rename(home)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return home


def _ask(changes: Path, query: str) -> None:
    """Add the new instruction to the changes that are replayed over the base database."""
    statement = ["UPDATE tasks SET instruction = ? WHERE id = (SELECT min(id) FROM tasks)", [query], False]
    text = changes.read_text(encoding="utf-8")
    changes.write_text(f"{text.rstrip()}\n{json.dumps(statement)}\n", encoding="utf-8")


def _ground_truth(folder: Path, code_blocks: Sequence[str], reference: dict[str, Any]) -> None:
    calls = set(re.findall(r"apis\.(\w+)\.(\w+)", "\n".join(code_blocks)))
    apps = {app for app, _ in calls} - {"api_docs", "supervisor"}
    labels = {ANSWERED: "no_op_fail", **{CHANGED.format(model=model): "no_op_fail" for model in reference["diff"]}, OUTSIDE: "no_op_pass"}
    metadata = {
        "mode": "minimal",
        "difficulty": min(3, max(1, len(apps))),
        "num_apps": len(apps),
        "num_apis": len(calls),
        "num_solution_code_lines": sum(len(block.splitlines()) for block in code_blocks),
    }
    _json(folder / "metadata.json", metadata)
    _json(folder / "public_data.json", {})
    _json(folder / "private_data.json", {"diff": reference["diff"]})
    _json(folder / "answer.json", reference["answer"])
    _json(folder / "test_data.json", [{"requirement": text, "label": label} for text, label in labels.items()])
    _json(folder / "solution_code.json", list(code_blocks))
    head = Path(__file__).with_name("canonical.py").read_text(encoding="utf-8")
    (folder / "evaluation.py").write_text(head + _EVALUATE, encoding="utf-8")


def _json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
