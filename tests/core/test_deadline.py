"""Environment calls end: with a result, with their exception, or at their deadline."""

import threading

import pytest

from coevolve.core.deadline import DeadlinePool, Watch
from coevolve.core.errors import InfrastructureFault


def test_results_keep_their_order_and_exceptions_their_place() -> None:
    pool = DeadlinePool(workers=2, timeout=5)

    def fail() -> int:
        raise ValueError("no")

    first, second, third = pool.map([lambda: 1, fail, lambda: 3])
    assert (first, third) == (1, 3)
    assert isinstance(second, ValueError)
    pool.close()


def test_a_call_that_never_returns_is_left_behind() -> None:
    pool = DeadlinePool(workers=1, timeout=0.05)
    never = threading.Event()
    stuck, fine = pool.map([never.wait, lambda: True])
    assert isinstance(stuck, InfrastructureFault) and "0.05 s" in str(stuck)
    assert fine is True
    assert pool.map([lambda: 2]) == [2], "the pool goes on after a stuck call"
    never.set()
    pool.close()


def test_a_keyboard_interrupt_is_not_swallowed() -> None:
    pool = DeadlinePool(timeout=5)

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.map([stop])
    pool.close()


def test_supervised_work_may_take_its_time_but_its_calls_may_not() -> None:
    pool, watch = DeadlinePool(timeout=0.05), Watch()
    never = threading.Event()

    def patient() -> str:
        never.wait(0.4)
        with watch.calling():
            return "done"

    def stuck() -> None:
        with watch.calling():
            never.wait()

    assert pool.supervise(patient, watch) == "done"
    with pytest.raises(ZeroDivisionError):
        pool.supervise(lambda: 1 / 0, watch)
    with pytest.raises(InfrastructureFault, match=r"no answer within 0\.05 s"):
        pool.supervise(stuck, watch)
    watch.started = None
    assert pool.supervise(patient, watch) == "done", "the pool goes on after a stuck call"
    never.set()
    pool.close()
