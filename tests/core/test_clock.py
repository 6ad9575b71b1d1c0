"""Time by part adds up."""

import pytest

from coevolve.core.record.timing import Clock, timed


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is one second further at each look."""
    now = iter(float(n) for n in range(1000))
    monkeypatch.setattr("coevolve.core.record.timing.time.perf_counter", lambda: next(now))


@pytest.mark.usefixtures("ticks")
def test_an_inner_part_is_not_counted_in_the_outer_one() -> None:
    clock = Clock()
    with clock.part("outer"), clock.part("inner"):
        pass
    assert clock.seconds == {"outer": 2.0, "inner": 1.0}


@pytest.mark.usefixtures("ticks")
def test_timed_counts_only_the_making_of_the_items() -> None:
    clock = Clock()
    for _ in timed(iter("ab"), clock, "synthesis"):
        with clock.part("validation"):
            pass
    assert clock.seconds == {"synthesis": 3.0, "validation": 2.0}, "two items and the look that finds no third"


@pytest.mark.usefixtures("ticks")
def test_reading_includes_the_running_part() -> None:
    clock = Clock()
    with clock.part("update"):
        assert clock.read() == {"update": 1.0}


def test_what_an_earlier_process_took_is_counted_too() -> None:
    clock = Clock()
    with clock.part("update"):
        pass
    clock.carry({"update": 10.0, "signals": 2.0}, 100.0)
    assert clock.read()["update"] > 10.0 and clock.read()["signals"] == 2.0
    assert clock.wall > 100.0
