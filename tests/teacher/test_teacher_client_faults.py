"""Failed requests: retried where that may help, and reported after the last attempt."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from asked import SCHEMA, ask, faults, made, one

from coevolve import InfrastructureFault
from coevolve.core.record.teacher_calls import StoreJournal
from coevolve.endpoint import client
from coevolve.synthesizers.teacher.faults import BudgetSpent, EndpointDown, TeacherFault
from coevolve.synthesizers.teacher.teacher_client import TeacherClient

RUDE: dict[str, tuple[dict[str, Any], str]] = {
    "server error": ({"status": 500, "raw": "oops"}, "HTTP 500: oops"),
    "overloaded": ({"status": 529}, "HTTP 529"),
    "dropped": ({"drop": "before"}, "the connection failed"),
    "dropped half way": ({"text": "x" * 500, "drop": "half"}, "the connection failed"),
    "half JSON": ({"raw": '{"choices": [{"mess'}, "the answer is not JSON (application/json, 19 characters)"),
    "two objects": ({"raw": '{"choices": []}{"choices": []}'}, "the answer is not JSON"),
    "HTML": ({"raw": "<html>busy</html>", "content_type": "text/html"}, "the answer is not JSON (text/html, 17 characters)"),
    "a stream": ({"raw": "data: {}\n\n", "content_type": "text/event-stream"}, "the answer is not JSON (text/event-stream"),
    "odd charset": ({"raw": b"\xff\xfe", "content_type": "application/json; charset=hex"}, "the answer is not JSON"),
    "deep nesting": ({"raw": "[" * 200_000}, "the answer is not JSON"),
    "a list": ({"raw": "[]"}, "the answer is not a chat completion"),
    "no choices": ({"raw": '{"choices": []}'}, "the answer is not a chat completion"),
    "an error as 200": ({"raw": '{"error": {"message": "no capacity"}}'}, "the endpoint answered with an error: no capacity"),
    "odd choices": ({"raw": '{"choices": {"0": 1}}'}, "the answer is not a chat completion"),
    "empty": ({"text": ""}, "the reply is empty"),
    "blank": ({"text": " \n"}, "the reply is empty"),
    "null": ({"text": None}, "the reply is empty"),
    "endless": ({"endless": True}, "the answer is larger than 4 MiB"),
    "long": ({"text": "x" * 200_001}, "the reply has 200001 characters"),
    "compressed": ({"headers": {"Content-Encoding": "gzip"}, "raw": b"\x1f\x8b"}, "the answer is compressed"),
}


@pytest.mark.parametrize("kind", RUDE)
def test_temporary_failures_are_retried(rude: Any, journal: StoreJournal, no_waiting: Any, kind: str) -> None:
    settings, reason = RUDE[kind]
    rude.script(rude.Reply(**settings), "at last")
    assert one(TeacherClient(made(rude), journal, None)) == "at last"
    first, second = faults(journal)
    assert first.startswith(reason) and second == ""
    assert len(rude.requests) == 2 and len(no_waiting.slept) == 1 and 0.5 <= no_waiting.slept[0] <= 1


@pytest.mark.parametrize("kind", RUDE)
def test_lasting_failures_end_after_the_last_attempt(rude: Any, journal: StoreJournal, no_waiting: Any, kind: str) -> None:
    settings, reason = RUDE[kind]
    rude.script(rude.Reply(**settings))
    with pytest.raises(TeacherFault) as caught:
        one(TeacherClient(made(rude), journal, None))
    assert str(caught.value).startswith(reason) and "\n" not in str(caught.value)
    assert len(rude.requests) == len(journal.calls()) == 3
    assert isinstance(caught.value, InfrastructureFault) and not isinstance(caught.value, BudgetSpent | EndpointDown)


def test_the_raw_text_of_an_unusable_answer_is_kept(rude: Any, journal: StoreJournal, no_waiting: Any) -> None:
    rude.script(rude.Reply(raw="<html>\nbusy, come later</html>"), "ok")
    one(TeacherClient(made(rude), journal, None))
    assert (journal.calls()[0].fault or "").endswith("\n<html>\nbusy, come later</html>")


def test_a_slow_reply_ends_at_the_deadline_of_the_whole_call(rude: Any, journal: StoreJournal, no_waiting: Any) -> None:
    rude.script(rude.Reply("x" * 1000, trickle=0.01), "at last")  # never 0.3 s without a byte
    assert one(TeacherClient(made(rude, timeout=0.3), journal, None)) == "at last"
    assert faults(journal)[0] == "no whole answer within 0.3 s"
    assert journal.calls()[0].prompt_tokens > 0, "the endpoint may have worked for it"


def test_a_server_that_closes_connections_that_it_promised_to_keep(rude: Any, journal: StoreJournal, no_waiting: Any) -> None:
    rude.answer = lambda request: rude.Reply("yes", hang_up=True)
    client = TeacherClient(made(rude, concurrency=1), journal, None)
    assert ask(client, *[f"1/a/{n}" for n in range(12)]) == ["yes"] * 12


def test_every_fifth_connection_is_dropped_and_nothing_is_lost(rude: Any, journal: StoreJournal, no_waiting: Any) -> None:
    def answer(request: Mapping[str, Any]) -> Any:
        return rude.Reply(drop="before") if len(rude.requests) % 5 == 0 else "yes"

    rude.answer = answer
    assert ask(TeacherClient(made(rude, retries=8), journal, None), *[f"1/a/{n}" for n in range(40)]) == ["yes"] * 40
    assert len(journal.calls()) == len(rude.requests) >= 50 - 1


def test_the_limit_on_tokens_that_leaves_no_text_is_doubled(rude: Any, journal: StoreJournal, no_waiting: Any) -> None:
    rude.answer = lambda request: rude.Reply("thought enough" if request["max_tokens"] >= 256 else "", finish="length")
    assert one(TeacherClient(made(rude, max_tokens=64), journal, None)) == "thought enough"
    assert [request["max_tokens"] for request in rude.requests] == [64, 128, 256]


def test_a_reply_that_was_cut_off_is_returned(rude: Any, journal: StoreJournal) -> None:
    rude.answer = lambda request: rude.Reply('[{"a": 1}, {"b"', finish="length")
    assert one(TeacherClient(made(rude), journal, None), max_tokens=77) == '[{"a": 1}, {"b"'
    assert [request["max_tokens"] for request in rude.requests] == [77]


@pytest.mark.parametrize(
    "reply",
    [
        {"text": None, "refusal": "I cannot help with that"},
        {"text": "half a", "finish": "content_filter"},
        {"status": 400, "raw": '{"error": {"code": "data_inspection_failed", "message": "inappropriate"}}'},
    ],
)
def test_a_refusal_is_not_retried_and_does_not_count_against_the_endpoint(rude: Any, journal: StoreJournal, reply: Any) -> None:
    rude.answer = lambda request: rude.Reply(**reply)
    found = ask(TeacherClient(made(rude), journal, None), *[f"1/a/{n}" for n in range(5)], schema=SCHEMA)
    assert len(rude.requests) == 5
    assert all(type(one) is TeacherFault and str(one).startswith("refused") for one in found)


def test_parts_of_a_text_are_joined_and_half_characters_replaced(rude: Any, journal: StoreJournal) -> None:
    parts = [{"type": "text", "text": "a\ud800"}, {"type": "image"}, {"type": "text", "text": "b"}]
    rude.answer = lambda request: rude.Reply(raw=json.dumps({"choices": [{"message": {"content": parts}}]}))
    client = TeacherClient(made(rude), journal, None)

    async def odd() -> str:
        try:
            return await client.ask("1/a/0", 1, "explore", [{"role": "user", "content": "half \udc00"}])
        finally:
            await client.aclose()

    assert asyncio.run(odd()) == "a?b"
    assert rude.requests[0]["messages"][0]["content"] == "half ?"


def test_the_limits_have_the_documented_values() -> None:
    assert client.LARGEST == 4 * 1024 * 1024
