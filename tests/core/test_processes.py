"""The parts of a run in several processes that need no second process; tests/end_to_end/test_processes.py has the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import CoevolveError, UserError
from coevolve.core.run.exit_codes import follows, launched
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
