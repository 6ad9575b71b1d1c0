"""The parts of `coevolve judge`: differences of states, intervals, kappa, the rubric, views of tasks that go wrong."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from coevolve import Action, Environment, Task
from coevolve.core.judging.differences import differences
from coevolve.core.judging.report import kappa, wilson
from coevolve.core.judging.rubric import reasons
from coevolve.core.judging.view import call_text, view_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["a: 1 -> 2"]),
        ({"a": 1}, {}, ["a is gone, it was 1"]),
        ({}, {"a": {}}, ["a is new: {}"]),
        ({"d": {"home/": {"b/": {}}}}, {"d": {"home/": {"b/": {"c": "x"}}}}, ['d.home/b/c is new: "x"']),
        ({}, {"a": {"b": [1]}}, ["a.b + 1"]),
        ({"a": [1, 1, 2]}, {"a": [1, 3]}, ["a - 1", "a - 2", "a + 3"]),
        ({"a": [1, 2]}, {"a": [2, 1]}, ["a is in another order: [2, 1]"]),
        ({"a": [{"id": 1, "s": "open"}]}, {"a": [{"id": 1, "s": "closed"}]}, ['a[0].s: "open" -> "closed"']),
        ({"a": "x"}, {"a": {"b": 1}}, ['a: "x" -> {"b": 1}']),
    ],
)
def test_what_differs_is_told_line_by_line(before: Any, after: Any, lines: list[str]) -> None:
    assert list(differences(before, after)) == lines


@given(JSON, JSON)
def test_equal_values_differ_in_nothing_and_others_in_something(before: Any, after: Any) -> None:
    assert list(differences(before, before)) == []
    assert before == after or list(differences({"a": before}, {"a": after}))


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_interval_holds_the_share_and_stays_within_0_and_1(count: int, total: int) -> None:
    count = min(count, total)
    low, high = wilson(count, total)
    assert 0 <= low <= count / total + 1e-9 and count / total - 1e-9 <= high <= 1
    assert low < high


def test_intervals_against_published_values() -> None:
    assert wilson(80, 100) == pytest.approx((0.7112, 0.8666), abs=1e-4)
    assert wilson(0, 25) == pytest.approx((0.0, 0.1332), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_kappa_on_its_edges() -> None:
    assert kappa([]) is None
    assert kappa([("good", "good")] * 3) is None
    assert kappa([("good", "good"), ("bad", "bad")]) == pytest.approx(1.0)
    assert kappa([("good", "bad"), ("bad", "good")]) == pytest.approx(-1.0)
    assert kappa([("good", "good"), ("good", "bad"), ("bad", "good"), ("bad", "bad")]) == pytest.approx(0.0)


def test_the_rubric_defines_the_reason_codes() -> None:
    assert list(reasons()) == [
        "unnatural", "dictated", "ambiguous", "unsolvable", "mismatch", "unasked_call", "leak", "implausible", "pointless", "inconsistent",
        "grammar",
    ]  # fmt: skip
    assert all(text.endswith(".") for text in reasons().values())


def test_a_solution_that_fails_is_a_problem_of_the_view_and_not_an_error(desk: Environment, made: list[Task]) -> None:
    assert view_of(desk, made[0]).problem is None
    wrong = evolve(made[0], solution=(Action("done", {"answer": "nothing"}),), payload=made[0].payload)
    assert view_of(desk, evolve(made[0], solution=())).problem == "no solution"
    assert view_of(desk, wrong).turns[0].calls
    broken = view_of(desk, evolve(made[0], payload={"seed": "x"}))
    assert broken.problem is not None and broken.problem.startswith("it cannot be carried out: ValueError")
    assert broken.turns[0].request == made[0].query


def test_code_is_shown_as_it_is() -> None:
    assert call_text(Action("execute", {"code": "a = 1\nb = 2", "calls": 0})) == "a = 1\nb = 2"
    assert call_text(Action("f", {"x": "y", "n": 1})) == "f(x='y', n=1)"
