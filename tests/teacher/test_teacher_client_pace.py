"""Requests keep the endpoint's rate limit, and an endpoint that stays down gets no more requests."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from asked import ask, made, one

from coevolve import TooManyFaults
from coevolve.core.record.teacher_calls import StoreJournal
from coevolve.synthesizers.teacher.faults import EndpointDown, TeacherFault
from coevolve.synthesizers.teacher.teacher_client import TeacherClient


def test_waits_grow_with_jitter_up_to_a_minute(rude: Any, journal: StoreJournal, no_waiting: Any) -> None:
    rude.answer = lambda request: rude.Reply(status=500)
    with pytest.raises(TeacherFault):
        one(TeacherClient(made(rude, retries=9), journal, None))
    longest = [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert len(no_waiting.slept) == 9
    assert all(most / 2 <= slept <= most for slept, most in zip(no_waiting.slept, longest, strict=True))


def test_retry_after_holds_back_every_call(rude: Any, journal: StoreJournal, no_waiting: Any) -> None:
    rude.script(rude.Reply(status=429, headers={"Retry-After": "17"}), "yes")
    assert ask(TeacherClient(made(rude, concurrency=1), journal, None), "1/a/0", "1/a/1") == ["yes", "yes"]
    begun = no_waiting.time
    assert begun >= 1017 and max(no_waiting.slept) >= 17


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"Retry-After": "17"}, 17.0, 18.0),
        ({"Retry-After": "2.5"}, 2.5, 3.5),
        ({"retry-after-ms": "1500"}, 1.5, 2.5),
        ({"Retry-After": "999999"}, 300.0, 301.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0, 1.0),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, 300.0, 301.0),
        ({"Retry-After": "soon"}, 0.5, 1.0),
        ({"Retry-After": "nan"}, 0.5, 1.0),
        ({"Retry-After": ""}, 0.5, 1.0),
        ({}, 0.5, 1.0),
    ],
)
def test_retry_after_is_honoured_within_reason(
    rude: Any, journal: StoreJournal, no_waiting: Any, headers: dict[str, str], least: float, most: float
) -> None:
    rude.script(rude.Reply(status=429, headers=headers), "yes")
    assert one(TeacherClient(made(rude), journal, None)) == "yes"
    assert least <= sum(no_waiting.slept) <= most


def test_no_minute_has_more_calls_than_allowed(rude: Any, journal: StoreJournal, no_waiting: Any) -> None:
    times: list[float] = []

    def answer(request: Mapping[str, Any]) -> str:
        times.append(no_waiting.time)
        return "yes"

    rude.answer = answer
    assert (
        ask(TeacherClient(made(rude, requests_per_minute=3, concurrency=1), journal, None), *[f"1/a/{n}" for n in range(8)]) == ["yes"] * 8
    )
    assert times[0] == 1000.0 and all(later - earlier >= 60 for earlier, later in zip(times, times[3:], strict=False))


def test_three_requests_that_fail_for_good_close_the_circuit_until_the_next_evolution(
    rude: Any, open_journal: Callable[..., Any], no_waiting: Any
) -> None:
    opened = open_journal()
    rude.answer = lambda request: rude.Reply(status=503, raw="maintenance")
    client = TeacherClient(made(rude, concurrency=1, retries=1), opened.journal, None)
    found = ask(client, *[f"1/a/{n}" for n in range(6)])
    assert [type(one) for one in found] == [TeacherFault] * 3 + [EndpointDown] * 3
    assert len(rude.requests) == 6 + 3, "the second attempts of the last three are not made any more"
    assert len(opened.told) == 1 and opened.told[0].endswith("failed 3 requests in a row, the last with: HTTP 503: maintenance")
    rude.answer = lambda request: "back"
    client.begin(2)
    assert ask(client, "2/a/0") == ["back"]


def test_failures_that_are_not_in_a_row_do_not_close_it(rude: Any, journal: StoreJournal) -> None:
    rude.answer = lambda request: rude.Reply(status=422) if len(rude.requests) % 3 else "yes"
    client = TeacherClient(made(rude, concurrency=1), journal, None)
    assert [type(found) for found in ask(client, *[f"1/a/{n}" for n in range(12)])].count(EndpointDown) == 0


def test_a_run_may_stop_instead_and_its_replay_stops_at_the_same_place(
    rude: Any, open_journal: Callable[..., Any], no_waiting: Any
) -> None:
    rude.answer = lambda request: rude.Reply(drop="before")
    options = made(rude, when_down="stop", retries=0)

    def run(journal: StoreJournal) -> list[str]:
        client, said = TeacherClient(options, journal, None), []
        for number in range(4):
            try:
                one(client, f"1/a/{number}")
            except TeacherFault:
                said.append("fault")
            except TooManyFaults as stop:
                assert "coevolve resume" in str(stop)
                return [*said, "stop"]
        return said

    assert run(open_journal("first").journal) == run(open_journal("again", replay="first").journal) == ["fault", "fault", "stop"]
    assert len(rude.requests) == 3
    rude.answer = lambda request: "back"
    assert run(open_journal("first").journal) == []  # resumed


def test_an_address_without_a_server(rude: Any, journal: StoreJournal, no_waiting: Any) -> None:
    options = made(rude, base_url="http://127.0.0.1:9/v1")  # the discard port
    with pytest.raises(TeacherFault, match="the connection failed: ConnectError"):
        one(TeacherClient(options, journal, None))
    assert len(journal.calls()) == 3
