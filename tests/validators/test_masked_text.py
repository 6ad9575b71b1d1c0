"""Held-out tasks without a known solution: their scenario is found by its text without the values, and by what the environment knows."""

from typing import Any

import pytest

from coevolve import Task
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.plugins.validators.masked_text import masked
from coevolve.plugins.validators.task_index import TaskIndex

HELD_OUT = (
    Task("notes_1", "desk", "Pin my note Book Ideas so that I find it at once."),
    Task("money_1", "desk", 'Please send $18.50 to Ann Lee by May 3rd, with the note "Two teas".'),
)


@pytest.mark.parametrize(
    ("query", "of"),
    [
        ("Pin my note Camping List so that I find it at once.", "notes_1"),
        ("Please pin my note 'to do' so that I find it at once", "notes_1"),
        ("Pin my note X so I find it at once.", "notes_1"),
        ('Please send $3 to Bob Stone by June 21st, with the note "Cinema".', "money_1"),
        ("Send 3 dollars to Bob.", None),
        ("Delete my note Book Ideas.", None),
        ("What is on my note Book Ideas?", None),
    ],
)
def test_the_same_request_with_other_values_is_found(query: str, of: str | None) -> None:
    index = TaskIndex(Desk(DeskOptions()), ordered=False, limit=10)
    index.update(HELD_OUT)
    found = index.same_scenario(Task("made", "desk", query))
    assert found is None if of is None else found == f"{of} asks the same, but for values"


def test_names_numbers_dates_and_quotes_are_values() -> None:
    texts = [
        "Send $18.50 to Ann Lee by 2026-05-03, with the note 'Two teas'.",
        "Send 3 to bob@example.org by tomorrow, with the note \u201ccinema\u201d.",
        'Send 1,200 to The Paper Kites of Oslo by 5/3, with the note "don\'t".',
    ]
    assert {masked(text) for text in texts} == {"send value to value by value with the note value"}
    assert masked("Tell me: what is Sam's song? I don't know it.") == "tell me what is value song i don t know it"


def test_an_environment_is_asked_about_its_unsolved_tasks_alone() -> None:
    asked: list[Any] = []

    class Knowing(Desk):
        def copied(self, task: Task, held_out: Any) -> str | None:
            asked.append([one.id for one in held_out])
            return "money_1" if "cash" in task.query else None

    environment = Knowing(DeskOptions())
    index, solved = TaskIndex(environment, ordered=False, limit=10), environment.tasks("test")[0]
    index.update((*HELD_OUT, solved))
    assert index.same_scenario(Task("made", "desk", "Hand the cash over.")) is not None
    assert index.same_scenario(Task("made", "desk", "Read me the news.")) is None
    assert asked == [["notes_1", "money_1"]] * 2
    index.update((solved,))
    assert index.same_scenario(Task("made", "desk", "Hand the cash over.")) is None
    assert index.same_scenario(Task("made", "desk", HELD_OUT[0].query)) is None
