"""Progress of failed desk rollouts: the parts of the task that are there."""

import pytest

from coevolve import Task
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.environments.desk.calls import parse
from coevolve.environments.desk.tools import TOOLS
from coevolve.environments.desk.values import FORMS

DESK = Desk(DeskOptions())
TASKS = DESK.tasks("train")[:40]


def progress(task: Task, *texts: str) -> float:
    with DESK.open(task) as episode:
        for text in texts:
            episode.step(text)
        return float(episode.progress())


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_each_call_of_a_solution_adds_to_it_and_only_all_make_one(task: Task) -> None:
    script = DESK.script(task.solution)
    seen = [progress(task, *script[:n]) for n in range(len(script) + 1)]
    assert seen[0] == 0.0 and seen[-1] == 1.0
    made = [n for n, text in enumerate(script) if (action := parse(text)) and (action.name in TOOLS or action.arguments)]
    assert [n for n in range(len(script)) if seen[n + 1] > seen[n]] == made
    assert progress(task, script[-1]) < 1.0


def test_repeated_lookups_add_nothing_and_refused_calls_take_away() -> None:
    task = next(task for task in TASKS if len(task.solution) >= 3)
    first, *_ = DESK.script(task.solution)
    one = progress(task, first)
    assert 0.0 < one == progress(task, first, first)
    assert progress(task, first, "files.nothing") < one


def test_the_lookup_of_another_form_finds_nothing() -> None:
    task = next(task for task in TASKS if " as=" in DESK.script(task.solution)[0])
    first = DESK.script(task.solution)[0]
    spec = TOOLS[first.split()[0]]
    assert spec.gives is not None
    right = first.rpartition("=")[2]
    others = [first.replace(f"as={right}", f"as={form}") for form in FORMS[spec.gives] if form != right]
    assert others and all(progress(task, other) == 0.0 for other in others)


def test_snapshots_keep_what_was_found() -> None:
    task = next(task for task in TASKS if len(task.solution) >= 3)
    script = DESK.script(task.solution)
    with DESK.open(task) as episode:
        episode.step(script[0])
        mark, before = episode.snapshot(), episode.progress()
        for text in script[1:]:
            episode.step(text)
        episode.restore(mark)
        assert episode.progress() == before < 1.0
