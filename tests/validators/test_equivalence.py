"""Known tasks with calls added or removed, where the scorer demands each result, so that neither actions nor end states are equal."""

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from coevolve import Action, CandidateTask, Reason, Replay, Step, Task, TaskPool, Verdict, play
from coevolve.environments.bfcl import assets
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.release import DEFAULT, RELEASES
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.plugins.validators.equivalence import EquivalenceIndex, compared, words
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.testing import Stockroom, StockroomOptions

PRESSURE = Action("check_tire_pressure")
QUERY = "Fill up 10 gallons of fuel, then lock the driver's door."


@pytest.fixture(scope="module")
def bfcl() -> Any:
    assets.ensure(RELEASES[DEFAULT])
    return Bfcl(BfclOptions())


@pytest.fixture(scope="module")
def start(bfcl: Any) -> Task:
    cars = [task for task in bfcl.tasks("train") if task.payload["involved_classes"][0] == "VehicleControlAPI"]
    found: Task = max(
        cars, key=lambda task: len(task.payload["question"])
    )  # the longest, so that it has as many turns as its variants here
    return found


FILL = (Action("fillFuelTank", {"fuelAmount": 1.0}), Action("lockDoors", {"unlock": False, "door": ["driver"]}))


def made(bfcl: Any, start: Task, name: str, query: str, actions: Sequence[Action]) -> Task:
    steps: list[Step] = []
    with bfcl.open(start) as episode:
        for text in bfcl.script(actions):
            steps += episode.step(text).steps
            if len(steps) == len(actions):
                break
    assert [step.error for step in steps] == [None] * len(actions)
    task: Task = bfcl.compose(start, steps, name, query)
    assert len(task.solution) == len(actions)
    return task


def judge(environment: Any, task: Task, pool: Sequence[Task], held_out: Sequence[Task] = ()) -> Verdict:
    return Execution(ExecutionOptions()).validate(CandidateTask(task), environment, TaskPool(tuple(pool)), held_out)


def test_a_paraphrase_with_a_useless_lookup_is_not_a_new_task(bfcl: Any, start: Task) -> None:
    known = made(bfcl, start, "known", QUERY, FILL)
    more = made(bfcl, start, "more", "Top up the tank with 10 gallons and see that the driver cannot get out.", (*FILL, PRESSURE))
    verdict = judge(bfcl, more, [known])
    assert (verdict.reason, verdict.detail) == (Reason.DUPLICATE_END_STATE, "as in known, but for calls that no request asks for")
    assert judge(bfcl, known, [more]).reason == Reason.DUPLICATE_END_STATE
    other = made(bfcl, start, "other", "Fuel: 10 gallons. Doors: lock the driver's one, kindly.", (PRESSURE, *FILL))
    assert judge(bfcl, other, [more]).reason == Reason.DUPLICATE_END_STATE
    assert judge(bfcl, more, []).accepted


def test_a_request_that_asks_for_the_lookup_is_a_new_task(bfcl: Any, start: Task) -> None:
    known = made(bfcl, start, "known", QUERY, FILL)
    asked = made(bfcl, start, "asked", f"{QUERY} And what is the pressure in my tires?", (*FILL, PRESSURE))
    assert judge(bfcl, asked, [known]).accepted
    assert judge(bfcl, known, [asked]).accepted


def test_useless_calls_on_both_sides_do_not_make_a_new_task(bfcl: Any, start: Task) -> None:
    first = made(bfcl, start, "first", QUERY, (*FILL, PRESSURE))
    second = made(
        bfcl, start, "second", "Top up the tank with 10 gallons and lock the driver in.", (*FILL, Action("find_nearest_tire_shop"))
    )
    assert judge(bfcl, second, [first]).reason == Reason.DUPLICATE_END_STATE


def test_calls_that_change_the_world_make_another_task(bfcl: Any, start: Task) -> None:
    known = made(bfcl, start, "known", QUERY, FILL)
    on = Action("setHeadlights", {"mode": "on"})
    assert judge(bfcl, made(bfcl, start, "more", "Top up the tank with 10 gallons and lock the driver in.", (*FILL, on)), [known]).accepted


TIRES = "How is the pressure in my tires?"
TWO = f"{QUERY}\n\n{TIRES}"


def test_a_further_turn_that_asks_for_a_lookup_is_a_new_task(bfcl: Any, start: Task) -> None:
    known = made(bfcl, start, "known", QUERY, FILL)
    longer = made(bfcl, start, "longer", TWO, (*FILL, attrs.evolve(PRESSURE, turn=1)))
    assert {action.turn for action in longer.solution} == {0, 1}
    assert judge(bfcl, longer, [known]).accepted
    assert judge(bfcl, known, [longer]).accepted


def test_a_further_turn_of_chatter_with_a_lookup_is_not_a_new_task(bfcl: Any, start: Task) -> None:
    known = made(bfcl, start, "known", QUERY, FILL)
    chatter = f"{QUERY}\n\nThat was a long day, and the weather is awful."
    longer = made(bfcl, start, "longer", chatter, (*FILL, attrs.evolve(PRESSURE, turn=1)))
    assert judge(bfcl, longer, [known]).reason == Reason.DUPLICATE_END_STATE


def test_words_cannot_make_a_turn_new_when_the_other_task_has_it(bfcl: Any, start: Task) -> None:
    """The second request names the tool of its useless call, as a synonym may do by chance."""
    known = made(bfcl, start, "known", TWO, (*FILL, attrs.evolve(PRESSURE, turn=1)))
    shop = attrs.evolve(Action("find_nearest_tire_shop"), turn=1)
    said = f"{QUERY}\n\nHow is the pressure in my tires? I am off to the nearest tire shop, to find out."
    longer = made(bfcl, start, "longer", said, (*FILL, attrs.evolve(PRESSURE, turn=1), shop))
    assert judge(bfcl, longer, [known]).reason == Reason.DUPLICATE_END_STATE


def test_a_lookup_with_another_result_at_another_place_is_still_useless(bfcl: Any, start: Task) -> None:
    """The same calls in another order: the display before and after the tank was filled."""
    fuel = Action("displayCarStatus", {"option": "fuel"})
    first = made(bfcl, start, "first", TWO, (*FILL, attrs.evolve(PRESSURE, turn=1), attrs.evolve(fuel, turn=1)))
    second = made(bfcl, start, "second", TWO.replace("How is", "What about"), (fuel, *FILL, attrs.evolve(PRESSURE, turn=1)))
    assert bfcl.keys(first).end_state != bfcl.keys(second).end_state
    assert judge(bfcl, second, [first]).reason == Reason.DUPLICATE_END_STATE


def test_the_same_lookup_of_another_thing_is_a_new_task(bfcl: Any, start: Task) -> None:
    def zip_code(city: str) -> Action:
        return Action("get_zipcode_based_on_city", {"city": city})

    one = made(bfcl, start, "one", f"{QUERY} Then the zip code of Rivermist.", (*FILL, zip_code("Rivermist")))
    other = made(bfcl, start, "other", f"{QUERY} Then the zip code of Stonebrook.", (*FILL, zip_code("Stonebrook")))
    assert judge(bfcl, other, [one]).accepted
    unasked = made(
        bfcl, start, "unasked", f"{QUERY} Then the postal code of Rivermist.", (*FILL, zip_code("Rivermist"), zip_code("Stonebrook"))
    )
    assert judge(bfcl, unasked, [one]).reason == Reason.DUPLICATE_END_STATE


def test_turns_in_another_order_are_left_to_the_keys(bfcl: Any, start: Task) -> None:
    fuel = Action("displayCarStatus", {"option": "fuel"})
    first = made(bfcl, start, "first", f"Display the fuel level.\n\n{QUERY}", (fuel, *(attrs.evolve(a, turn=1) for a in FILL)))
    second = made(bfcl, start, "second", f"{QUERY}\n\nDisplay the fuel level.", (*FILL, attrs.evolve(fuel, turn=1)))
    assert judge(bfcl, first, [second]).accepted


def _answered(made: Replay, answer: str) -> Replay:
    """The same replay, ended with another answer."""
    *before, last = made.observations
    ending = attrs.evolve(last.steps[-1], action=Action("done", {"answer": answer}))
    return attrs.evolve(made, observations=(*before, attrs.evolve(last, steps=(*last.steps[:-1], ending))))


def test_tasks_with_different_answers_are_different() -> None:
    """The desk's last call gives the answer, so tasks with the same end state and different answers are not paraphrases."""
    desk = Desk(DeskOptions(test=50))
    task = next(one for one in desk.tasks("train") if one.solution[-1].name == "done" and one.solution[-1].arguments)
    made = play(desk, task, desk.script(task.solution)[:50])
    assert made.ending is not None and made.ending.arguments == task.solution[-1].arguments
    index = EquivalenceIndex(desk, 50)
    index.add(compared(task))
    again = compared(attrs.evolve(task, id="again", query="Once more, please."))
    assert index.find(again, attrs.evolve(made)) is None, "the same calls are left to the keys"
    longer = compared(attrs.evolve(task, id="longer", query="Once more.", solution=(task.solution[0], *task.solution)))
    assert index.find(longer, made) == task.id
    assert index.find(longer, _answered(made, "another")) is None


def test_held_out_tasks_are_recognised_without_families() -> None:
    class Plain(Stockroom):
        def keys(self, task: Task) -> Any:
            found = super().keys(task)
            return attrs.evolve(found, family=None, end_state=f"{found.end_state} {len(task.solution)}")

    room = Plain(StockroomOptions())
    task = next(one for one in room.tasks("train") if len(one.solution) == 2)
    longer = attrs.evolve(task, id="longer", query="Restock it as usual", solution=(task.solution[0], *task.solution))
    verdict = judge(room, longer, (), [task])
    assert verdict.reason == Reason.HELD_OUT_END_STATE and "no request asks for" in verdict.detail
    assert judge(room, longer, [task]).reason == Reason.DUPLICATE_END_STATE
    assert judge(room, longer, ()).accepted


def test_identifiers_are_split_into_words() -> None:
    assert words("setHeadlights") == ("set", "headlights")
    assert words("get_user_id of USR001, 4.5 km") == ("get", "user", "usr", "001", "4.5")
