from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import History, RolloutGroup, Signal
from coevolve.signals.boundary import Boundary, BoundaryOptions
from coevolve.testing import check_signal, make_group

scores = st.one_of(st.none(), st.sampled_from([0.0, 0.49999, 0.5, 1.0]), st.floats(0, 1))


def run(*groups: RolloutGroup) -> list[Signal]:
    return Boundary(BoundaryOptions()).detect(groups, History().with_groups(groups))


@given(st.lists(scores, max_size=10))
def test_boundary_equals_the_formula(given_scores: list[float | None]) -> None:
    known = [score for score in given_scores if score is not None]
    expected = any(score >= 0.5 for score in known) and any(score < 0.5 for score in known)
    assert bool(run(make_group("t", given_scores))) == expected


@pytest.mark.parametrize(
    ("group", "found"),
    [
        ((1.0,) * 8, False),
        ((0.0,) * 8, False),
        ((0.5, 0.5), False),
        ((0.5, 0.4999), True),
        ((1.0,), False),
        ((1.0, None, None), False),
        ((None, None), False),
        ((), False),
    ],
)
def test_the_signal_needs_a_success_and_a_failure(group: Sequence[float | None], found: bool) -> None:
    assert bool(run(make_group("t", group))) == found


def test_strength_is_largest_where_half_succeed_and_faults_do_not_count() -> None:
    half, few = run(make_group("a", (1.0, 0.0, None)), make_group("b", (1.0, 0.0, 0.0, 0.0)))
    assert half.strength == 1.0 and few.strength == pytest.approx(0.75)
    assert half.evidence == {"scores": [1.0, 0.0], "successes": 1, "rollouts": 2}


def test_one_signal_for_each_task_and_iteration() -> None:
    found = run(make_group("t", (1.0, 0.0, 0.0)), make_group("t", (1.0, 0.0)), make_group("t", (1.0, 0.0), iteration=2))
    assert [(signal.iteration, signal.strength) for signal in found] == [(1, 1.0), (2, 1.0)]


def test_boundary_keeps_the_contract_of_a_signal() -> None:
    check_signal(Boundary(BoundaryOptions()))
