"""Reference solutions, read from the user's data. A Task of a held-out split never contains its solution."""

import json
from pathlib import Path

from .script import read_reference

OPEN_SPLITS = ("train",)
"""Splits whose tasks contain their solution; a task of another split only names it."""


def gold_blocks(root: Path, task_id: str) -> tuple[str, ...]:
    """The blocks of code of a task's reference solution, in order; empty when the data has none."""
    truth = root / "data" / "tasks" / task_id / "ground_truth"
    if (blocks := truth / "solution_code.json").is_file():
        return tuple(json.loads(blocks.read_text(encoding="utf-8")))
    if (compiled := truth / "compiled_solution.py").is_file():
        return (f"{compiled.read_text(encoding='utf-8').strip()}\n\nsolution(apis, requester)",)
    return ()


def resolved(root: Path, code: str) -> str:
    """The code to execute for a block: the reference solution for a block that stands for one, else the block itself."""
    task_id = read_reference(code)
    return code if task_id is None else "\n\n".join(gold_blocks(root, task_id))
