from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import Attempt, History, RolloutGroup, Signal
from coevolve.signals.rare import Rare, RareOptions
from coevolve.testing import check_signal, make_group


def detect(groups: Sequence[RolloutGroup], counts: Mapping[str, int], **options: Any) -> list[Signal]:
    """Signals of `groups` when the training so far has seen the patterns `counts` times (the groups' own included)."""
    return Rare(RareOptions(**options)).detect(groups, History(patterns=counts))


@given(st.integers(0, 60), st.integers(1, 20_000), st.floats(0.01, 100))
def test_rare_equals_the_formula(count: int, others: int, theta: float) -> None:
    groups = [make_group("t", (0.0,), patterns=("p",))]
    total = count + others
    expected = count > 0 and count / total < theta / 100
    assert bool(detect(groups, {"p": count, "q": others}, theta=theta)) == expected


@pytest.mark.parametrize(("count", "others", "found"), [(0, 1000, False), (1, 199, False), (1, 200, True), (5, 995, False), (5, 996, True)])
def test_the_threshold_itself_is_not_rare(count: int, others: int, found: bool) -> None:
    """5 of 1000 is exactly 0.5 percent, which is not less."""
    assert bool(detect([make_group("t", (1.0,), patterns=("p",))], {"p": count, "q": others})) == found


def test_nothing_is_rare_before_two_hundred_observations() -> None:
    groups = [make_group(f"t{n}", (1.0,), patterns=(f"p{n}",)) for n in range(200)]
    assert Rare(RareOptions()).detect(groups, History().with_groups(groups)) == []


def test_min_observations_lengthens_the_warm_up() -> None:
    groups = [make_group("t", (1.0,), patterns=("p",))]
    assert detect(groups, {"p": 1, "q": 998}, min_observations=1000) == []
    assert len(detect(groups, {"p": 1, "q": 999}, min_observations=1000)) == 1


def test_one_signal_a_task_with_the_rarest_first() -> None:
    groups = [make_group("t", (1.0,), iteration=i, patterns=("p", "r", "q")) for i in (1, 2)]
    (signal,) = detect(groups, {"p": 4, "r": 2, "q": 9994})
    assert signal.iteration == 2
    assert list(signal.evidence["counts"].items()) == [("r", 2), ("p", 4)]
    assert signal.evidence["observations"] == 10_000 and signal.evidence["rare"] == 2
    assert signal.strength == pytest.approx(1 - 0.0002 / 0.005)


def test_the_evidence_is_bounded() -> None:
    names = [f"p{n:02}" for n in range(30)]
    (signal,) = detect([make_group("t", (1.0,), patterns=names)], {**dict.fromkeys(names, 1), "q": 10**6})
    assert len(signal.evidence["counts"]) == 5 and signal.evidence["rare"] == 30


def test_infrastructure_faults_do_not_count() -> None:
    assert detect([make_group("t", (None, None), patterns=("p",))], {"p": 1, "q": 1000}) == []


def test_tasks_with_few_attempts_are_rare_by_task() -> None:
    history = History({"often": tuple(Attempt(i, 1.0) for i in range(1, 1000)), "seldom": (Attempt(3, 0.0),)})
    groups = [make_group("often", (1.0,), iteration=3), make_group("seldom", (0.0,), iteration=3)]
    assert [signal.task_id for signal in Rare(RareOptions(by="task")).detect(groups, history)] == ["seldom"]


def test_rare_keeps_the_contract_of_a_signal_and_bounds_its_options() -> None:
    check_signal(Rare(RareOptions(theta=50)))
    check_signal(Rare(RareOptions(theta=50, by="task")))
    wrongs: list[dict[str, Any]] = [{"theta": 0.0}, {"theta": 101.0}, {"by": "word"}, {"min_observations": -1}]
    for wrong in wrongs:
        with pytest.raises(ValueError):
            RareOptions(**wrong)
