"""Other kinds of a task, made from it."""

from collections.abc import Mapping

import pytest

from coevolve import Action, Step, Task
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.testing.checks import replay


def composed(bfcl: Bfcl, scenario: str, query: str, *calls: tuple[str, Mapping[str, object], int]) -> Task:
    start = next(task for task in bfcl.tasks("all") if task.id == scenario)
    steps = [Step(Action(name, dict(given), turn), "") for name, given, turn in calls]
    task = bfcl.compose(start, steps, "made", query)
    assert task is not None and replay(bfcl, task)[1] == 1.0
    return task


LOCK = ("lockDoors", {"unlock": False, "door": ["driver", "passenger", "rear_left", "rear_right"]}, 0)
BRAKE = ("pressBrakePedal", {"pedalPosition": 1.0}, 0)
START = ("startEngine", {"ignitionMode": "START"}, 0)


def kinds(bfcl: Bfcl, task: Task) -> dict[str, Task]:
    return {one.origin.detail["variant"]: one for one in bfcl.variants(task, 3)}


def held_out(bfcl: Bfcl, task: Task) -> set[tuple[str, ...]]:
    """The functions that come late in the variants of 20 seeds."""
    made = [one for seed in range(20) for one in bfcl.variants(task, seed)]
    return {tuple(names) for one in made for names in one.payload.get("missed_function", {}).values()}


def test_a_function_that_a_turn_cannot_do_without_comes_a_turn_later(bfcl: Bfcl) -> None:
    task = composed(bfcl, "multi_turn_base_80", "Lock up and start the car.\n\nHow far is it?", LOCK, BRAKE, START,
                    ("estimate_distance", {"cityA": "83214", "cityB": "94016"}, 1))  # fmt: skip
    made = kinds(bfcl, task)["missing_function"]
    assert made.payload["category"] == "miss_func" and list(made.payload["missed_function"]) == ["1"]
    assert made.payload["missed_function"]["1"] in (["lockDoors"], ["pressBrakePedal"], ["startEngine"])
    assert made.payload["ground_truth"][0] == [] and len(made.payload["ground_truth"][1]) == 3
    assert made.payload["question"][1] == [] and made.query == task.query
    assert [action.turn for action in made.solution] == [1, 1, 1, 2]
    assert replay(bfcl, made)[1] == 1.0
    assert bfcl.variants(task, 3) == bfcl.variants(task, 3)


def test_functions_that_can_do_each_others_work_are_held_out_together(bfcl: Bfcl) -> None:
    task = composed(bfcl, "multi_turn_base_0", "Make a folder 'old'.\n\nDrop it again.",
                    ("mkdir", {"dir_name": "old"}, 0), ("rmdir", {"dir_name": "old"}, 1))  # fmt: skip
    assert held_out(bfcl, task) == {("mkdir",), ("rm", "rmdir")}
    both = composed(
        bfcl,
        "multi_turn_base_0",
        "Make 'old' and drop it.\n\nDrop the report.",
        ("mkdir", {"dir_name": "old"}, 0),
        ("rmdir", {"dir_name": "old"}, 0),
        ("cd", {"folder": "document"}, 1),
        ("rm", {"file_name": "final_report.pdf"}, 1),
    )
    assert held_out(bfcl, both) == {("mkdir",)}


def test_a_task_that_only_looks_up_holds_nothing_out(bfcl: Bfcl) -> None:
    task = composed(bfcl, "multi_turn_base_80", "How far is it?", ("estimate_distance", {"cityA": "83214", "cityB": "94016"}, 0))
    assert "missing_function" not in kinds(bfcl, task)


def test_long_context_needs_more_data_and_no_longer_list_of_numbers(bfcl: Bfcl) -> None:
    files = composed(bfcl, "multi_turn_base_0", "Show me the document folder.", ("cd", {"folder": "document"}, 0), ("ls", {}, 0))
    assert kinds(bfcl, files)["long_context"].payload["category"] == "long_context"
    start = next(task for task in bfcl.tasks("all") if task.payload["involved_classes"] == ["TravelAPI"])
    given = {"travel_from": "SFO", "travel_to": "LAX", "travel_date": "2026-12-01", "travel_class": "economy"}
    fares = composed(bfcl, start.id, "What does it cost?", ("get_flight_cost", given, 0))
    assert "long_context" not in kinds(bfcl, fares)


def test_a_turn_without_calls_is_one_that_leaves_something_out(bfcl: Bfcl) -> None:
    task = composed(bfcl, "multi_turn_base_0", "Make a folder.\n\nCall it 'old'.", ("mkdir", {"dir_name": "old"}, 1))
    assert task.payload["category"] == "miss_param" and task.payload["ground_truth"][0] == []
    assert list(kinds(bfcl, task)) == ["missing_parameter"]
    files = composed(bfcl, "multi_turn_base_0", "Show me the document folder.", ("cd", {"folder": "document"}, 0), ("ls", {}, 0))
    assert bfcl.variants(kinds(bfcl, files)["long_context"], 1) == []


@pytest.mark.parametrize("query", ["One.\n\nTwo.\n\nThree.", "One."])
def test_paragraphs_that_fit_no_turns_make_one_turn(bfcl: Bfcl, query: str) -> None:
    task = composed(bfcl, "multi_turn_base_0", query, ("cd", {"folder": "document"}, 0), ("ls", {}, 1))
    assert len(task.payload["question"]) == 1
