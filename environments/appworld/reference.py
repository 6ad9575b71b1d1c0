"""Reference solutions, read from the user's data; those of held-out tasks are never shown in a Task."""

import json
from pathlib import Path

from .script import read_reference

SHOWN = ("train",)
"""Splits whose tasks carry their solution; a task of the others names it only."""


def gold_blocks(root: Path, task_id: str) -> tuple[str, ...]:
    """The blocks of code of a task's reference solution; empty where the data has none."""
    truth = root / "data" / "tasks" / task_id / "ground_truth"
    if (blocks := truth / "solution_code.json").is_file():
        return tuple(json.loads(blocks.read_text(encoding="utf-8")))
    if (compiled := truth / "compiled_solution.py").is_file():
        return (f"{compiled.read_text(encoding='utf-8').strip()}\n\nsolution(apis, requester)",)
    return ()


def resolved(root: Path, code: str) -> str:
    """A block as it is to be executed: one that stands for a reference solution becomes that solution."""
    task_id = read_reference(code)
    return code if task_id is None else "\n\n".join(gold_blocks(root, task_id))
