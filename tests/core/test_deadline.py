"""Environment calls end: with a result, with their exception, or at their deadline."""

import _thread
import threading
from contextlib import ExitStack

import pytest

from coevolve.core.errors import InfrastructureFault
from coevolve.core.isolation.deadlines import CallWatch, DeadlinePool


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
    pool, watch = DeadlinePool(timeout=0.05), CallWatch()
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


def test_calls_begin_as_they_are_added_and_keep_their_order() -> None:
    pool = DeadlinePool(workers=1, timeout=20)
    calls, begun = pool.begin(), threading.Event()
    calls.add([begun.set])
    assert begun.wait(20), "nobody has asked for results yet"
    calls.add([])
    calls.add([lambda: 2, lambda: 3])
    assert calls.results() == [None, 2, 3]
    assert pool.begin().results() == []
    pool.close()


def test_dropped_calls_do_not_begin_and_those_under_way_are_waited_for() -> None:
    pool = DeadlinePool(workers=1, timeout=20)
    calls, begun, go_on, ran = pool.begin(), threading.Event(), threading.Event(), list[str]()

    def first() -> None:
        begun.set()
        go_on.wait(20)
        ran.append("first")

    calls.add([first, lambda: ran.append("second")])
    assert begun.wait(20)
    threading.Timer(0.05, go_on.set).start()
    calls.drop()
    assert ran == ["first"]
    assert pool.map([lambda: ran.append("third")]) == [None] and ran == ["first", "third"]
    pool.close()


def test_a_stuck_call_that_is_dropped_holds_nobody_up_past_its_deadline() -> None:
    pool = DeadlinePool(workers=1, timeout=0.05)
    calls, never, begun = pool.begin(), threading.Event(), threading.Event()
    calls.add([lambda: [begun.set(), never.wait()]])  # type: ignore[func-returns-value]
    assert begun.wait(20)
    calls.drop()
    assert pool.map([lambda: 2]) == [2]
    never.set()
    pool.close()


def test_a_call_past_its_deadline_is_a_fault_although_nobody_looked_meanwhile() -> None:
    pool = DeadlinePool(workers=1, timeout=0.05)
    calls, ended = pool.begin(), threading.Event()

    def late() -> str:
        threading.Event().wait(0.1)
        ended.set()
        return "late"

    calls.add([late])
    assert ended.wait(20)
    (result,) = calls.results()
    assert isinstance(result, InfrastructureFault) and "0.05 s" in str(result)
    pool.close()


def test_an_interrupt_does_not_wait_for_supervised_work() -> None:
    never, pool = threading.Event(), DeadlinePool(timeout=60)

    def work() -> None:
        _thread.interrupt_main()
        never.wait()

    with pytest.raises(KeyboardInterrupt):
        pool.supervise(work, CallWatch())
    never.set()
    pool.close()


def test_a_call_that_was_given_up_does_not_end_the_watch_of_the_next_one() -> None:
    watch = CallWatch()
    with ExitStack() as late:
        late.enter_context(watch.calling())
        watch.started = None  # given up
        with watch.calling():
            late.close()
            assert watch.started is not None
    assert watch.started is None
