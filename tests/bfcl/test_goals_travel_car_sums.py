"""The goals around travel, the car and sums: each occurs, is admitted by execution, and its functions can be worded."""

from collections.abc import Sequence
from typing import Any

import pytest

from coevolve import CandidateTask, Goal, Step, Task, TaskPool
from coevolve.environments.bfcl.decode import Call
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.environments.bfcl.goals import story
from coevolve.environments.bfcl.goals.registry import KnownGoal
from coevolve.environments.bfcl.realizer import Made, word
from coevolve.environments.bfcl.request_lint import fault_in
from coevolve.environments.bfcl.simulated_apis import Start, fresh
from coevolve.plugins.validators.execution import Execution, ExecutionOptions

OWNERS = ("TravelAPI", "VehicleControlAPI", "MathAPI")
WITH = {"MathAPI": ("TravelAPI", "VehicleControlAPI", "MathAPI")}
"""Whose goals lead to those of a class."""
NEVER_WORKS = "get_outside_temperature_from_weather_com"
"""The benchmark's function that always reports an error."""
SEEDS = 120

Found = dict[str, tuple[Task, Goal]]


@pytest.fixture(scope="module", params=OWNERS)
def owner(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def room(bfcl: Bfcl) -> Bfcl:
    return bfcl


@pytest.fixture(scope="module")
def found(room: Bfcl, owner: str) -> Found:
    """For each goal of a class a short story with it, in a train world."""
    leading = [known for known in story.known_goals() if known.owner in WITH.get(owner, (owner,))]
    left = {known.name for known in leading if known.owner == owner}
    stories: Found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(story, "known_goals", lambda: leading)
        for seed in range(SEEDS):
            for task in room.tasks("train"):
                if left and owner in task.payload["involved_classes"]:
                    for goal in story.goals(room.apis, Start.of(task.payload), seed, 6):
                        _note(goal, task, stories, left)
    assert not left, f"no train world has {sorted(left)}"
    return stories


def _note(goal: Goal, task: Task, stories: Found, left: set[str]) -> None:
    for name in goal.kind.split(" + "):
        if name in left:
            left.discard(name)
            stories[name] = task, goal


def test_every_goal_occurs_and_is_admitted(room: Bfcl, owner: str, found: Found) -> None:
    execution, held_out = Execution(ExecutionOptions(drop_all=True)), room.tasks("test")
    goals = {goal.query: (task, goal) for task, goal in found.values()}
    for number, (start, goal) in enumerate(goals.values()):
        task = room.compose(start, [Step(action, "") for action in goal.actions], f"{owner}-{number}", goal.query)
        assert task is not None
        verdict = execution.validate(CandidateTask(task), room, TaskPool(()), held_out)
        assert verdict.accepted, f"{goal.kind}: {verdict.reason} {verdict.detail}"


def test_every_function_is_called(room: Bfcl, owner: str, found: Found) -> None:
    functions = {function.name for function in room.apis.functions.values() if function.owner == owner}
    called = {action.name for _, goal in found.values() for action in goal.actions}
    assert functions - called <= {NEVER_WORKS}


def test_the_realizer_words_a_call_of_every_function(room: Bfcl, owner: str, found: Found) -> None:
    functions = {function.name for function in room.apis.functions.values() if function.owner == owner} - {NEVER_WORKS}
    for start, goal in found.values():
        world = fresh(room.apis, Start.of(start.payload))
        for action in goal.actions:
            call = Call(action.name, dict(action.arguments))
            if word([Made(call, world.execute(call).value, True)]) is not None:
                functions.discard(action.name)
    assert not functions, f"no words for {sorted(functions)}"


@pytest.mark.parametrize(("name", "arguments", "words"), [
    ("lockDoors", {"unlock": False, "door": ["driver", "rear_left"]}, "lock the driver's door and the rear left door"),
    ("setHeadlights", {"mode": "on"}, "headlights on"),
    ("imperial_si_conversion", {"value": 12.5, "unit_in": "kg", "unit_out": "lb"}, "12.5 kilograms"),
    ("get_flight_cost", {"travel_date": "2027-01-02", "travel_from": "A", "travel_to": "B", "travel_class": "first"}, "first class flight"),
])  # fmt: skip
def test_calls_are_worded_as_people_write(name: str, arguments: dict[str, Any], words: str) -> None:
    text = word([Made(Call(name, arguments), {}, True)])
    assert text is not None
    assert words in text


def _goal(name: str) -> KnownGoal:
    return next(known for known in story.known_goals() if known.name == name)


def _texts(room: Bfcl, owner: str, names: Sequence[str], seeds: int) -> list[tuple[Task, Goal]]:
    """Stories made of some goals only."""
    known = [_goal(name) for name in names]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(story, "known_goals", lambda: known)
        return [
            (task, goal)
            for seed in range(seeds)
            for task in room.tasks("train")
            if owner in task.payload["involved_classes"]
            for goal in story.goals(room.apis, Start.of(task.payload), seed, 4)
        ]


def test_the_access_token_is_said_once_and_before_it_is_needed(room: Bfcl) -> None:
    for task, goal in _texts(room, "TravelAPI", ("fare", "book_that_flight", "invoice", "insurance", "card_balance"), 4):
        token = task.payload["initial_config"]["TravelAPI"]["access_token"]
        turns = goal.query.split("\n\n")
        first = min((action.turn for action in goal.actions if "access_token" in action.arguments), default=None)
        assert [number for number, text in enumerate(turns) if f"'{token}'" in text] == ([] if first is None else [first])


def test_a_fare_that_is_too_high_is_not_booked(room: Bfcl) -> None:
    counts = {True: 0, False: 0}
    for _, goal in _texts(room, "TravelAPI", ("book_if_affordable",), 5):
        counts[any(action.name == "book_flight" for action in goal.actions)] += 1
    assert min(counts.values()) > 5


def test_fuel_that_an_earlier_turn_showed_is_not_read_again(room: Bfcl) -> None:
    told = [
        goal for _, goal in _texts(room, "VehicleControlAPI", ("fuel_left", "refuel_after_look"), 6) if "refuel_after_look" in goal.kind
    ]
    assert told
    assert all([action.name for action in goal.actions].count("displayCarStatus") == 1 for goal in told)


def test_doors_are_locked_before_the_engine_starts_only_where_one_is_open(room: Bfcl) -> None:
    for task, goal in _texts(room, "VehicleControlAPI", ("start_engine",), 4):
        doors = task.payload["initial_config"]["VehicleControlAPI"]["doorStatus"].values()
        names = [action.name for action in goal.actions]
        assert ("lockDoors" in names) == ("unlocked" in doors)
        assert names[-1] == "startEngine"


@pytest.mark.parametrize(("text", "fault"), [
    ("If it's more, don't. My access token is 'abCdEf9'.", None),
    ("Write 'I'm on my way' to Bob, it's late.", None),
    ("It's time to call bookFlight, isn't it?", "it holds the identifier 'bookFlight'"),
])  # fmt: skip
def test_apostrophes_are_not_quotation_marks(text: str, fault: str | None) -> None:
    assert fault_in(text, []) == fault
