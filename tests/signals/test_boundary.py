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


@pytest.mark.parametrize("of", ["success", "progress"])
def test_boundary_keeps_the_contract_of_a_signal(of: str) -> None:
    check_signal(Boundary(BoundaryOptions(of)))
    with pytest.raises(ValueError):
        BoundaryOptions("score")


def by_progress(*groups: RolloutGroup) -> list[Signal]:
    return Boundary(BoundaryOptions("progress")).detect(groups, History())


@given(st.lists(st.tuples(scores, st.none() | st.sampled_from([0.0, 0.25, 0.5]) | st.floats(0, 0.99)), max_size=8))
def test_boundary_on_progress_equals_the_formula(rows: list[tuple[float | None, float | None]]) -> None:
    rows = [(s, 1.0 if s is not None and s >= 0.5 else g) for s, g in rows]
    group = make_group("t", [s for s, _ in rows], progress=[g for _, g in rows])
    known = [g for s, g in rows if s is not None and g is not None]
    found = by_progress(group)
    assert bool(found) == (len(set(known)) > 1)
    if found:
        mean = sum(known) / len(known)
        assert found[0].strength == pytest.approx(4 * mean * (1 - mean))
    if run(group) and len(known) == len(group.scores):
        assert found, "a boundary of successes is one of progress"


def test_progress_finds_a_boundary_where_nothing_was_solved() -> None:
    group = make_group("t", (0.0, 0.0, None, 0.0), progress=(0.25, 0.75, 0.5, None))
    assert run(group) == []
    (signal,) = by_progress(group)
    assert signal.strength == 1.0
    assert signal.evidence == {"of": "progress", "progress": [0.25, 0.75], "successes": 0, "rollouts": 2}
    assert by_progress(make_group("t", (0.0, 0.0), progress=(0.5, 0.5))) == [], "no rollout got further than another"
    assert by_progress(make_group("t", (0.0, 1.0))) == [], "nobody knows the progress"
