from collections.abc import Sequence

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import History, Signal
from coevolve.signals.forgetting import Forgetting, ForgettingOptions
from coevolve.testing import check_signal, make_group

scores = st.one_of(st.sampled_from([0.0, 0.49999, 0.5, 1.0]), st.floats(0, 1))


def run(means: Sequence[float | None], window: int = 5) -> list[Signal]:
    """Signals of one task whose score at iteration i + 1 is means[i]; None is a group of infrastructure faults."""
    groups = [make_group("t", (mean,), iteration=i + 1) for i, mean in enumerate(means)]
    return Forgetting(ForgettingOptions(window)).detect(groups, History().with_groups(groups))


@given(st.lists(scores, max_size=12), st.integers(1, 6))
def test_forgetting_equals_the_formula(means: list[float], window: int) -> None:
    expected = [i + 1 for i, now in enumerate(means) if now < 0.5 and any(score >= 0.5 for score in means[max(0, i - window) : i])]
    assert [signal.iteration for signal in run(means, window)] == expected


@pytest.mark.parametrize(
    ("means", "iterations"),
    [
        ([], []),
        ([0.0], []),
        ([0.5, 0.5], []),
        ([0.5, 0.49], [2]),
        ([0.49, 0.0], []),
        ([1.0, None, 0.0], [3]),
        ([1.0, None], []),
        ([1.0] + [0.0] * 6, [2, 3, 4, 5, 6]),
    ],
)
def test_the_signal_needs_a_recent_success_and_a_failure_now(means: list[float | None], iterations: list[int]) -> None:
    assert [signal.iteration for signal in run(means)] == iterations


def test_score_now_is_the_mean_of_the_rollouts_that_have_one() -> None:
    groups = [make_group("t", (1.0,), iteration=1), make_group("t", (1.0, 0.0, 0.0, None), iteration=2)]
    (signal,) = Forgetting(ForgettingOptions()).detect(groups, History().with_groups(groups))
    assert signal.evidence == {"recent": [1.0], "now": 1 / 3, "scores": [1.0, 0.0, 0.0], "window": 5}
    assert signal.strength == pytest.approx(2 / 3)


def test_attempts_before_these_groups_count() -> None:
    old = History().with_groups([make_group("t", (1.0,), iteration=1)])
    now = [make_group("t", (0.0,), iteration=11)]
    assert len(Forgetting(ForgettingOptions()).detect(now, old.with_groups(now))) == 1


def test_progress_that_falls_is_forgotten_where_nothing_was_ever_solved() -> None:
    means = [(0.75, 0.75), (None, None), (0.5, 0.0)]
    groups = [make_group("t", (0.0, 0.0), iteration=i + 1, progress=known) for i, known in enumerate(means)]
    history = History().with_groups(groups)
    assert Forgetting(ForgettingOptions()).detect(groups, history) == []
    (signal,) = Forgetting(ForgettingOptions(of="progress")).detect(groups, history)
    assert signal.evidence == {"recent": [0.75], "now": 0.25, "scores": [0.0, 0.0], "window": 5, "of": "progress"}
    assert (signal.iteration, signal.strength) == (3, 0.5)
    assert Forgetting(ForgettingOptions(window=1, of="progress")).detect(groups, history) == [], (
        "the last attempt does not know its progress"
    )


@pytest.mark.parametrize("of", ["success", "progress"])
def test_forgetting_keeps_the_contract_of_a_signal_and_bounds_its_option(of: str) -> None:
    check_signal(Forgetting(ForgettingOptions(of=of)))
    with pytest.raises(ValueError):
        ForgettingOptions(of="score")
    with pytest.raises(ValueError):
        ForgettingOptions(window=0)
    assert [field.name for field in attrs.fields(ForgettingOptions)] == ["window", "of"]
