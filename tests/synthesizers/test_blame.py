from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import Action, RolloutGroup, Step, Task, Trajectory
from coevolve.synthesizers.blame import FailureCount, FailureRates, LinkOutcome, blamed_links, divergence, link_outcomes, tool_calls
from coevolve.synthesizers.catalog import catalog_of
from coevolve.synthesizers.links import Link, Survey, link_uses
from coevolve.testing import Stockroom, StockroomOptions, make_trajectory
from coevolve.testing.stockroom import perform

ROOM = Stockroom(StockroomOptions())
CATALOG = catalog_of(ROOM.describe())
TASK = next(t for t in ROOM.tasks("train") if [a.name for a in t.solution] == ["catalog.find", "stock.count", "stock.add"])
FIND, COUNT_, ADD = TASK.solution
CODE = ("catalog.find[as=code] -> stock.count.code", "catalog.find[as=code] -> stock.add.code")
AMOUNT = "stock.count -> stock.add.amount"


def rollout(score: float | None, *actions: Action) -> Trajectory:
    steps, _ = perform(TASK.payload["world"], actions)
    return make_trajectory(TASK.id, score, steps=steps)


def seen(*rollouts: Trajectory, solved: bool = False) -> list[tuple[str, float]]:
    known = Survey().solved([TASK], ROOM, CATALOG, 1)[0] if solved else None
    return [(str(one.link), one.failure) for one in link_outcomes(RolloutGroup(TASK, 1, rollouts), known, CATALOG)]


RIGHT = rollout(1.0, *TASK.solution)
BARCODE = Action("catalog.find", {**FIND.arguments, "as": "barcode"})


def test_success_handles_every_link() -> None:
    assert seen(RIGHT) == [(CODE[0], 0.0), (CODE[1], 0.0), (AMOUNT, 0.0)]


def test_a_lookup_in_the_wrong_mode_is_to_blame_for_the_links_that_it_feeds() -> None:
    wrong = rollout(0.0, BARCODE, COUNT_, ADD)
    assert seen(RIGHT, wrong)[3:] == [(CODE[0], 0.5), (CODE[1], 0.5)]


def test_a_wrong_value_is_to_blame_for_the_links_into_the_call() -> None:
    wrong = rollout(0.0, FIND, COUNT_, Action("stock.add", {**ADD.arguments, "amount": 1}))
    assert seen(RIGHT, wrong)[3:] == [(CODE[0], 0.0), (CODE[1], 0.5), (AMOUNT, 0.5)]


def test_without_a_successful_sibling_the_solution_is_the_reference() -> None:
    wrong = rollout(0.0, BARCODE)
    assert seen(wrong) == []
    assert seen(wrong, solved=True) == [(CODE[0], 0.5), (CODE[1], 0.5)]


def test_a_rollout_that_stops_early_is_blamed_at_the_call_that_it_lacks() -> None:
    assert seen(RIGHT, rollout(0.0, FIND))[3:] == [(CODE[0], 1.0)]


def test_infrastructure_faults_do_not_count() -> None:
    assert seen(rollout(None, FIND), solved=True) == []


def test_the_nearest_sibling_is_the_reference() -> None:
    other = rollout(1.0, BARCODE, *TASK.solution)
    late = rollout(0.0, BARCODE, FIND, COUNT_)
    assert seen(RIGHT, other, late)[-3:] == [(CODE[0], 0.0), (CODE[1], 0.5), (AMOUNT, 0.5)]


def test_calls_that_blocks_of_code_made_stand_for_the_blocks() -> None:
    find, add = (Step(action, "", 1, inner=True) for action in (FIND, ADD))
    block = Step(Action("execute", {"code": "..."}), "")
    wrong = attrs.evolve(block, error="SyntaxError")
    assert tool_calls([block, find, attrs.evolve(block, error="KeyError"), add, block], CATALOG) == (find, add)
    assert tool_calls([block, find, wrong], CATALOG) == (find, wrong)
    assert tool_calls([block, wrong], CATALOG) == (block, wrong), "without inner steps everything is a call"


def test_the_first_step_that_differs_is_the_divergence() -> None:
    steps = RIGHT.steps
    assert [divergence(steps[:n], steps) for n in range(4)] == [0, 1, 2, 3]
    failed = (Step(steps[0].action, "", None, "down"), *steps[1:])
    assert divergence(failed, steps) == 0
    assert blamed_links(link_uses(steps, CATALOG), 3, steps, steps, CATALOG) == []


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0, 1), st.floats(0.1, 50))
def test_shrinkage_lies_between_the_rate_and_its_prior(failures: list[float], prior: float, strength: float) -> None:
    count = FailureCount()
    for failure in failures:
        count.add(failure)
    rate = sum(failures) / len(failures) if failures else prior
    low, high = sorted([rate, prior])
    assert low - 1e-9 <= count.shrunk(prior, strength) <= high + 1e-9
    if not failures:
        assert count.shrunk(prior, strength) == pytest.approx(prior)


def link(producer: str, consumer: str, **modes: Any) -> Link:
    return Link(producer, tuple(modes.items()), consumer, "x")


def rates(*seen: tuple[str, str, float]) -> FailureRates:
    made = FailureRates(CATALOG, 4.0)
    made.add([LinkOutcome(link(producer, consumer), failure, "t") for producer, consumer, failure in seen])
    return made


def test_a_failure_raises_the_rates_of_similar_links() -> None:
    """Most for the link itself, then for its pair of apps, then for its producing app, least for the rest."""
    known = rates(("catalog.find", "stock.count", 1.0), ("staff.find", "door.admit", 0.0), ("staff.find", "mail.send", 0.0))
    itself, pair, app, rest = (
        known.estimate(link(*names))
        for names in (
            ("catalog.find", "stock.count"),
            ("catalog.find", "stock.add"),
            ("catalog.find", "label.print"),
            ("staff.find", "stock.reserve"),
        )
    )
    assert itself > pair > app > rest


def test_the_estimate_equals_one_computed_by_hand() -> None:
    known = rates(("catalog.find", "stock.count", 1.0), ("staff.find", "door.admit", 0.0))
    everything = 1.5 / 3
    app = (1 + 4 * everything) / 5
    pair = (1 + 4 * app) / 5
    assert known.estimate(link("catalog.find", "stock.count")) == pytest.approx((1 + 4 * pair) / 5)
    assert FailureRates(CATALOG, 4.0).estimate(link("a", "b")) == 0.5


def test_the_description_names_the_counts() -> None:
    known = rates(("catalog.find", "stock.count", 1.0), ("catalog.find", "stock.count", 0.0))
    words = known.describe(link("catalog.find", "stock.count"))
    assert "catalog.find -> stock.count: 1 of 2" in words and "catalog -> stock: 1 of 2" in words


def test_the_survey_skips_what_does_not_run() -> None:
    broken = Task("broken", "stockroom", "Do.", "", (Action("stock.count", {"code": "C0"}),), {"world": 1})
    survey = Survey()
    assert [one.task.id for one in survey.solved([broken, TASK], ROOM, CATALOG, 10)] == [TASK.id]
    assert survey.solved([broken, TASK], ROOM, CATALOG, 1) == []
    assert survey.solved([TASK], ROOM, CATALOG, 9)[0] is survey.solved([TASK], ROOM, CATALOG, 9)[0]
