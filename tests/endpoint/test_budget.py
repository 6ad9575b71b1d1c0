"""A budget holds however many calls run at once: they are reserved before they are sent, and settled to their usage."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import Unsent
from coevolve.endpoint import Budget, Failed, Pace, Spent, repeated, waiting


def spend(budget: Budget, spent: Spent, took: list[tuple[int, int]], price: float = 0.0) -> tuple[int, int]:
    """Run calls at once, each of which reserves the first number of tokens and uses the second; the number of sent calls and the peak."""
    out = [0, 0, 0]

    async def call(held: int, used: int) -> None:
        async with budget.held(held, held * price):
            out[0] += 1
            out[1] += 1
            out[2] = max(out[2], out[1])
            await asyncio.sleep(0)
            out[1] -= 1
            spent.calls, spent.prompt_tokens, spent.cost = spent.calls + 1, spent.prompt_tokens + used, spent.cost + used * price

    async def all_of_them() -> None:
        for found in await asyncio.gather(*(call(*one) for one in took), return_exceptions=True):
            assert found is None or (isinstance(found, Failed) and found.unsent is Unsent.BUDGET and not found.counts)

    asyncio.run(all_of_them())
    return out[0], out[2]


@pytest.mark.parametrize("most", [0, 1, 7, 30])
def test_a_cap_of_calls_sends_that_many(most: int) -> None:
    spent = Spent()
    budget = Budget(f"{most}calls", lambda: spent)
    assert spend(budget, spent, [(10**6, 1)] * 20)[0] == min(most, 20) == spent.calls
    assert budget.refused == (most < 20)


def test_without_a_cap_every_call_is_sent() -> None:
    spent = Spent()
    assert spend(Budget("", lambda: spent), spent, [(10**9, 10**9)] * 9) == (9, 9)


@pytest.mark.parametrize(("cap", "price"), [("3000tokens", 0.0), ("3cost", 0.001)])
def test_a_waiting_call_is_sent_when_others_used_less_than_they_reserved(cap: str, price: float) -> None:
    """Calls that reserve 1,000 and use 500: three fit at once, and five in all (the last begins at 2,000)."""
    spent = Spent()
    assert spend(Budget(cap, lambda: spent), spent, [(1000, 500)] * 9, price) == (5, 3)


@given(st.lists(st.tuples(st.integers(0, 300), st.floats(0, 1)), max_size=12), st.integers(0, 1000))
def test_a_cap_of_tokens_is_never_exceeded_where_the_estimate_is_not_too_low(calls: list[tuple[int, float]], most: int) -> None:
    spent = Spent()
    spend(Budget(f"{most}tokens", lambda: spent), spent, [(held, int(held * share)) for held, share in calls])
    assert spent.amount("tokens") <= most


def test_a_call_that_was_never_sent_frees_its_reservation() -> None:
    spent = Spent()
    budget = Budget("1calls", lambda: spent, " for this test")

    async def fails() -> None:
        with pytest.raises(ZeroDivisionError):
            async with budget.held(1, 0.0):
                raise ZeroDivisionError

    asyncio.run(fails())
    assert spend(budget, spent, [(1, 1)]) == (1, 1)
    with pytest.raises(Failed, match="the budget of 1calls for this test is used up"):
        asyncio.run(budget.held(1, 0.0).__aenter__())


def test_a_call_that_is_cancelled_while_it_waits_reserves_nothing() -> None:
    spent = Spent()
    budget = Budget("10tokens", lambda: spent)

    async def cancelled() -> None:
        async with budget.held(8, 0.0):
            waiting = asyncio.create_task(budget.held(8, 0.0).__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    for _ in range(2):  # each in its own event loop
        asyncio.run(cancelled())
    assert spend(budget, spent, [(10, 10)]) == (1, 1)


def failing(*failures: Failed) -> Callable[[], "asyncio.Future[str]"]:
    """Raises these failures in order, then returns "done"."""
    left = list(failures)

    async def attempt() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return lambda: asyncio.ensure_future(attempt())


def test_temporary_failures_are_retried_and_another_form_is_not_a_retry(no_waiting: Any) -> None:
    otherwise = [Failed("odd", instead=True) for _ in range(5)]
    assert asyncio.run(repeated(failing(*otherwise), 0, Pace(0))) == "done"
    assert no_waiting.slept == []
    with pytest.raises(Failed, match="odd"):
        asyncio.run(repeated(failing(*(Failed("odd", instead=True) for _ in range(waiting.MOST_FORMS + 1))), 9, Pace(0)))
    with pytest.raises(Failed, match="third"):
        asyncio.run(repeated(failing(*(Failed(name, again=True) for name in ("first", "second", "third"))), 2, Pace(0)))
    with pytest.raises(Failed, match="no"):
        asyncio.run(repeated(failing(Failed("no")), 9, Pace(0)))
