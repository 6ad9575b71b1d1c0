"""Budgets and the number of concurrent calls."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest
from asked import ask, faults, made

from coevolve.core.record.teacher_calls import StoreJournal
from coevolve.synthesizers.teacher.faults import BudgetSpent
from coevolve.synthesizers.teacher.teacher_client import ESTIMATED, TeacherClient


def test_a_budget_of_calls_holds_under_concurrency_and_after_a_resume(rude: Any, open_journal: Callable[..., Any]) -> None:
    options = made(rude, budget="7calls", concurrency=8)
    opened = open_journal()
    found = ask(TeacherClient(options, opened.journal, None), *[f"1/explore/{n}" for n in range(20)])
    assert [type(one) for one in found].count(str) == 7 == len(rude.requests)
    assert sum(isinstance(one, BudgetSpent) for one in found) == 13
    assert opened.told == ["the teacher's budget of 7calls is used up: the run goes on without it"]
    resumed = open_journal()
    found = ask(TeacherClient(options, resumed.journal, None), *[f"1/explore/{n}" for n in range(20)], "2/explore/0")
    assert [type(one) for one in found].count(str) == 7 == len(rude.requests)
    more = open_journal()
    found = ask(TeacherClient(attrs.evolve(options, budget="9calls"), more.journal, None), *[f"1/explore/{n}" for n in range(20)])
    assert [type(one) for one in found].count(str) == 9 == len(rude.requests)


def test_failed_attempts_count_as_calls(rude: Any, journal: StoreJournal, no_waiting: Any) -> None:
    rude.answer = lambda request: rude.Reply(status=503)
    found = ask(TeacherClient(made(rude, budget="4calls", retries=9, concurrency=3), journal, None), *[f"1/explore/{n}" for n in range(3)])
    assert len(rude.requests) == 4 and all(isinstance(one, BudgetSpent) for one in found)


def test_the_calls_of_an_evolution_have_a_cap_of_their_own(rude: Any, journal: StoreJournal) -> None:
    client = TeacherClient(made(rude, calls_per_evolution=2), journal, None)
    assert [type(found) for found in ask(client, "1/a/0", "1/a/1", "1/a/2")].count(BudgetSpent) == 1
    assert [type(found) for found in ask(client, "2/a/0", "2/a/1", "2/a/2")].count(BudgetSpent) == 1
    assert len(rude.requests) == 4


@pytest.mark.parametrize(("budget", "prices"), [("3000tokens", {}), ("3cost", {"input_price": 1000.0, "output_price": 1000.0})])
def test_tokens_and_cost_are_reserved_at_most_and_settled_to_the_usage(
    rude: Any, journal: StoreJournal, budget: str, prices: dict[str, float]
) -> None:
    """Each call reserves a little over 1,024 tokens and uses 510 (0.51 of cost): two may run at once, four or five fit in all."""
    rude.answer = lambda request: rude.Reply("x", usage={"prompt_tokens": 10, "completion_tokens": 500})
    found = ask(TeacherClient(made(rude, budget=budget, concurrency=8, **prices), journal, None), *[f"1/a/{n}" for n in range(8)])
    assert [type(one) for one in found].count(str) == 4 == len(rude.requests)
    assert rude.most_at_once <= 2
    assert sum(call.tokens for call in journal.calls()) == 2040


def test_no_more_calls_run_at_once_than_allowed(rude: Any, journal: StoreJournal) -> None:
    gate = threading.Barrier(3, timeout=20)

    def answer(request: Mapping[str, Any]) -> str:
        gate.wait()  # passes only where three are open together
        return "yes"

    rude.answer = answer
    assert ask(TeacherClient(made(rude, concurrency=3), journal, None), *[f"1/a/{n}" for n in range(9)]) == ["yes"] * 9
    assert rude.most_at_once == 3


def test_a_cancelled_call_counts(rude: Any, journal: StoreJournal) -> None:
    gate = threading.Event()
    rude.answer = lambda request: rude.Reply("late", wait=gate)
    client = TeacherClient(made(rude, budget="1calls"), journal, None)

    async def cancelled() -> None:
        task = asyncio.create_task(client.ask("1/a/0", 1, "explore", [{"role": "user", "content": "q"}]))
        while not rude.requests:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.aclose()

    asyncio.run(cancelled())
    gate.set()
    assert faults(journal) == ["cancelled"]
    assert [type(found) for found in ask(client, "1/a/1")] == [BudgetSpent] and len(rude.requests) == 1


@pytest.mark.parametrize("usage", [None, {}, [], "many", {"prompt_tokens": -1, "completion_tokens": 1}, {"prompt_tokens": 1e30}])
def test_usage_that_is_not_reported_is_estimated_and_the_user_is_warned(rude: Any, open_journal: Callable[..., Any], usage: Any) -> None:
    opened = open_journal()
    rude.answer = lambda request: rude.Reply("x" * 30, usage=usage)
    ask(TeacherClient(made(rude), opened.journal, None), "1/a/0", "1/a/1")
    assert [(call.prompt_tokens, call.completion_tokens) for call in opened.journal.calls()] == [(8 + 3, 10)] * 2
    assert opened.told == [ESTIMATED]
