"""A file of desk tasks, as `coevolve judge RUN --export FILE` writes it."""

import json
from pathlib import Path

import pytest

from coevolve import Environment, Origin, Task
from coevolve.core.isolation.checked_environment import checked
from coevolve.core.judging.sample import FORMAT
from coevolve.core.record.store import to_json
from coevolve.environments.desk.environment import Desk, DeskOptions


@pytest.fixture(scope="session")
def desk() -> Environment:
    return checked(Desk(DeskOptions()))


@pytest.fixture(scope="session")
def made(desk: Environment) -> list[Task]:
    """Six tasks of the desk, four of them as if an operator had made them."""
    from attrs import evolve

    tasks = list(desk.tasks("train")[:6])
    return [
        evolve(task, origin=Origin("operators" if n < 4 else "teacher", 1, detail={"operator": "swap"})) for n, task in enumerate(tasks)
    ]


@pytest.fixture
def file(tmp_path: Path, made: list[Task]) -> Path:
    lines = [json.dumps({"format": FORMAT, "environment": {"name": "desk"}})]
    lines += [json.dumps({"task": json.loads(to_json(task)), "door": "2 of 2 attempts solved it"}) for task in made]
    path = tmp_path / "tasks.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return path
