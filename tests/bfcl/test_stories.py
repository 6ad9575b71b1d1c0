"""How turns are joined to stories: facts that agree, no look-up twice, no story of one trivial call."""

import random

import pytest

from coevolve import Goal, Step
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.goals import story
from coevolve.environments.bfcl.goals.registry import KnownGoal
from coevolve.environments.bfcl.goals.scene import NotHere, Scene
from coevolve.environments.bfcl.goals.trading import say
from coevolve.environments.bfcl.goals.travel_booking import last_digits, payment
from coevolve.environments.bfcl.simulated_apis import Start, fresh
from coevolve.testing.checks import replay


def _scene(bfcl: Bfcl, owner: str) -> Scene:
    task = next(task for task in bfcl.tasks("train") if owner in task.payload["involved_classes"])
    return Scene(fresh(bfcl.apis, Start.of(task.payload)), random.Random(1))


def test_wordings_that_contradict_the_story_are_left_out(bfcl: Bfcl) -> None:
    scene = _scene(bfcl, "TravelAPI")
    scene.suppose(trip="business")
    wordings = (("A vacation!", "trip=leisure"), ("My boss pays.", "trip=business weather=cold"))
    assert {scene.say(*wordings) for _ in range(20)} == {"My boss pays."}
    assert scene.facts == {"trip": "business", "weather": "cold"}
    with pytest.raises(NotHere):
        scene.say(("A vacation!", "trip=leisure"))
    with pytest.raises(NotHere):
        scene.suppose(weather="warm")


def test_facts_of_a_turn_that_fails_are_forgotten(bfcl: Bfcl) -> None:
    def fails(scene: Scene) -> str:
        scene.suppose(trip="leisure")
        raise NotHere("nothing")

    scene = _scene(bfcl, "TravelAPI")
    assert not story._take(scene, KnownGoal("fails", "TravelAPI", (), "fails", (), True, fails))
    assert scene.facts == {}


def test_nothing_is_looked_up_twice_while_it_is_the_same(bfcl: Bfcl) -> None:
    scene = _scene(bfcl, "VehicleControlAPI")
    scene.call("displayCarStatus", option="fuel")
    with pytest.raises(NotHere):
        scene.call("displayCarStatus", option="fuel")
    scene.call("adjustClimateControl", temperature=19)
    assert scene.call("displayCarStatus", option="climate")
    scene.call("fillFuelTank", fuelAmount=1)
    with pytest.raises(NotHere):  # the pump has shown the new level
        scene.call("displayCarStatus", option="fuel")


@pytest.fixture(scope="module")
def stories(bfcl: Bfcl) -> list[Goal]:
    return [goal for seed in range(3) for task in bfcl.tasks("train") for goal in bfcl.goals(task, seed, 6)]


def test_no_story_is_one_call_without_arguments(stories: list[Goal]) -> None:
    single = [goal for goal in stories if len(goal.actions) == 1]
    assert all(goal.actions[0].arguments for goal in single)
    assert 0 < len(single) < len(stories) / 5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("some cash to invest", "My roof needs fixing"),
        ("like to walk instead of taking the car", "cooling at"),
        ("Where should I go?", "My parents live"),
        ("Where should I go?", "set the navigation"),
        ("The cabin is", "like to walk"),
        ("winter tires", "Switch on the cooling"),
        ("Not ready to buy yet", "Then buy"),
        ("She's fine with it", "How much is a"),
    ],
)
def test_no_story_says_both(one: str, other: str, stories: list[Goal]) -> None:
    """Each pair contradicts: a destination and none, money to spend and none, an answer by somebody who was not mentioned."""
    for goal in stories:
        turns = [turn for turn in goal.query.split("\n\n") if one in turn]
        assert not turns or not any(other in turn for turn in goal.query.split("\n\n") if turn not in turns), goal.query


def test_a_party_is_called_off_only_where_the_user_spoke_of_one(stories: list[Goal]) -> None:
    called_off = [goal.query for goal in stories if "party has been called off" in goal.query]
    assert all("grandmother" in query for query in called_off)


def test_a_card_that_was_shown_pays_only_until_it_expires(bfcl: Bfcl) -> None:
    scene = _scene(bfcl, "TravelAPI")
    travel = scene.service("TravelAPI")
    card = {"card_number": "4567-1234", "expiry_date": "12/26"}
    travel.credit_card_list = {"main": card, "old": {"card_number": "99", "expiration_date": "01/25"}}
    assert last_digits(travel.credit_card_list, "main") == "1234"
    assert last_digits({"main": card, "twin": dict(card)}, "main") == "" == last_digits({"4567-1234": card}, "4567-1234")
    travel.access_token, travel.token_expires_in = "abc", 10
    scene.call("get_all_credit_cards")
    scene.keep("card", id="main", said="with that card")
    assert payment(scene, "2026-12-31").card == "main"
    with pytest.raises(NotHere):
        payment(scene, "2027-01-01")


def test_a_name_with_a_full_stop_never_ends_a_sentence(bfcl: Bfcl) -> None:
    scene = _scene(bfcl, "TradingBot")
    wordings = ("I own Quasar Ltd. Sell 5.", "I own Quasar Ltd.", "What is Quasar Ltd.?", "Sell 5 Quasar Ltd. shares.")
    assert {say(scene, *wordings) for _ in range(20)} == {"Sell 5 Quasar Ltd. shares."}


def test_goals_fit_the_older_release_or_are_not_offered_there() -> None:
    older = Bfcl(BfclOptions(release="2025.7.17"))
    for number, task in enumerate(older.tasks("train")[::5]):
        for goal in older.goals(task, number, 3):
            composed = older.compose(task, [Step(action, "") for action in goal.actions], "made", goal.query)
            assert composed is not None and replay(older, composed)[1] == 1.0, goal


@pytest.mark.parametrize("error", [KeyError("key"), TypeError("type"), AttributeError("name"), NotHere("nothing")])
def test_a_goal_that_does_not_fit_this_world_is_not_offered(bfcl: Bfcl, error: Exception) -> None:
    def raises(scene: Scene) -> str:
        raise error

    assert not story._take(_scene(bfcl, "TravelAPI"), KnownGoal("raises", "TravelAPI", (), "raises", (), True, raises))
