"""The parts of a run in several processes that need no second process; tests/end_to_end/test_processes.py has the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import CoevolveError, UserError
from coevolve.core.run.launcher import another_runs, check_launch, follows, launched
from coevolve.core.run.ranks import Ranks


def ranks(rank: int, size: int) -> Ranks:
    made = Ranks.__new__(Ranks)
    made.rank, made.size = rank, size
    return made


@given(rows=st.integers(0, 300), size=st.integers(1, 17))
def test_every_row_is_rolled_once_and_the_shares_are_even(rows: int, size: int) -> None:
    shares = [ranks(rank, size).share(rows) for rank in range(size)]
    assert [n for share in shares for n in share] == list(range(rows))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_which_process_this_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("RANK", "1")
    assert not launched() and not follows()
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert launched() and follows()
    monkeypatch.setenv("RANK", "0")
    assert launched() and not follows()


def test_a_launcher_that_started_one_process_of_several_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "True")
    assert not launched(), "one was asked for"
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    with pytest.raises(UserError, match="--multi_gpu"):
        launched()


LAUNCHED = {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in LAUNCHED:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"WORLD_SIZE": "2"}, "WORLD_SIZE is 2, but RANK, LOCAL_RANK, MASTER_ADDR, MASTER_PORT is not set"),
        ({"WORLD_SIZE": "2", "RANK": "1"}, "but LOCAL_RANK, MASTER_ADDR, MASTER_PORT is not set"),
        ({"LOCAL_RANK": "0"}, "LOCAL_RANK is set, but RANK, MASTER_ADDR"),
        ({"WORLD_SIZE": "auto"}, "WORLD_SIZE is 'auto', not a number of 1 or more"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE is '0'"),
        ({"WORLD_SIZE": "-2"}, "WORLD_SIZE is '-2'"),
        ({"WORLD_SIZE": "2.0"}, "WORLD_SIZE is '2.0'"),
        ({"WORLD_SIZE": "9" * 5000}, "WORLD_SIZE is '999"),
        (LAUNCHED | {"RANK": "two"}, "RANK is 'two'"),
        (LAUNCHED | {"RANK": "2"}, "RANK is 2, but must be less than 2"),
        (LAUNCHED | {"LOCAL_RANK": "x"}, "LOCAL_RANK is 'x'"),
        (LAUNCHED | {"MASTER_PORT": "http"}, "MASTER_PORT is 'http'"),
    ],
)
def test_variables_that_no_launcher_sets_are_refused(variables: dict[str, str], words: str, alone: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        alone.setenv(name, value)
    with pytest.raises(UserError) as caught:
        check_launch()
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("variables", [{}, {"WORLD_SIZE": ""}, {"RANK": "1"}, {"WORLD_SIZE": "1"}, {"LOCAL_RANK": "-1"}, LAUNCHED], ids=str)
def test_what_launchers_set_is_taken(variables: dict[str, str], alone: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        alone.setenv(name, value)
    check_launch()
    assert follows() == another_runs() == (variables == LAUNCHED)


def test_a_rank_without_a_launcher_leaves_nothing_to_another_process(alone: pytest.MonkeyPatch) -> None:
    alone.setenv("WORLD_SIZE", "2")
    alone.setenv("RANK", "1")
    assert follows() and not another_runs()
    alone.setenv("WORLD_SIZE", "auto")
    assert not follows()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1", "another of the run's 4 processes ended"),
        ("[gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation", "did not answer in time"),
    ],
)
def test_a_lost_process_is_one_line(text: str, told: str) -> None:
    with pytest.raises(CoevolveError, match=told), ranks(3, 4).connected():
        raise RuntimeError(text)


def test_other_errors_keep_their_words() -> None:
    with pytest.raises(RuntimeError, match="size mismatch"), ranks(0, 2).connected():
        raise RuntimeError("size mismatch, 2 and 3")
