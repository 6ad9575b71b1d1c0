"""TeacherClient over real sockets: record, resume and replay."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from asked import SCHEMA, ask, faults, made, one

from coevolve import UserError
from coevolve.core.record.teacher_calls import StoreJournal
from coevolve.synthesizers.teacher.faults import BudgetSpent, TeacherFault
from coevolve.synthesizers.teacher.options import TeacherOptions
from coevolve.synthesizers.teacher.teacher_client import TeacherClient


def test_a_reply_is_recorded_with_its_request_and_its_cost(rude: Any, open_journal: Callable[..., Any]) -> None:
    opened = open_journal()
    rude.answer = lambda request: rude.Reply("fine", usage={"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500})
    options = made(rude, input_price=2.0, output_price=4.0)
    assert one(TeacherClient(options, opened.journal, None), schema=SCHEMA) == "fine"
    (_, call), *rest = opened.store.teacher_calls(["1/explore/0"])
    assert (call.reply, call.fault, call.purpose, call.iteration, call.model) == ("fine", None, "explore", 1, "m")
    assert (call.prompt_tokens, call.completion_tokens, call.cost) == (1000, 500, pytest.approx(0.004)) and not rest
    messages = [{"role": "user", "content": "q 1/explore/0"}]
    assert call.request == {"model": "m", "messages": messages, "schema": SCHEMA, "temperature": 0.7, "max_tokens": 1024}
    sent = rude.requests[0]
    assert (sent["messages"], sent["max_tokens"], sent["temperature"]) == (messages, 1024, 0.7)
    assert sent["response_format"] == {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}}
    assert not opened.told


def test_an_answered_request_is_not_sent_again_on_a_resume(rude: Any, open_journal: Callable[..., Any]) -> None:
    rude.script("one", "two")
    assert one(TeacherClient(made(rude), open_journal().journal, None)) == "one"
    resumed = open_journal()
    assert one(TeacherClient(made(rude), resumed.journal, None)) == "one"
    assert len(rude.requests) == 1 and len(resumed.journal.calls()) == 1


def test_a_replay_gives_every_outcome_again_and_sends_nothing(rude: Any, open_journal: Callable[..., Any], no_waiting: Any) -> None:
    def answer(request: Mapping[str, Any]) -> Any:
        text = request["messages"][0]["content"]
        if "/1" in text:
            return rude.Reply(refusal="I will not", text=None)
        return rude.Reply(status=500) if "/2" in text else f"reply to {text}"

    rude.answer = answer
    keys = [f"1/explore/{n}" for n in range(4)]
    options = made(rude, budget="6calls")
    client = TeacherClient(options, open_journal("first").journal, None)
    first = ask(client, *keys) + ask(client, "1/explore/4")
    assert [type(found) for found in first] == [str, TeacherFault, TeacherFault, str, BudgetSpent]
    sent = len(rude.requests)
    again = open_journal("again", replay="first")
    second = ask(TeacherClient(options, again.journal, None), *keys, "1/explore/4")
    assert [(type(found), str(found)) for found in second] == [(type(found), str(found)) for found in first]
    assert len(rude.requests) == sent == 6
    assert sorted(faults(again.journal)) == sorted(faults(open_journal("first").journal))


def test_one_asking_serves_one_event_loop_after_another(rude: Any, journal: StoreJournal) -> None:
    client = TeacherClient(made(rude, concurrency=1), journal, None)
    assert [ask(client, f"{n}/a/0", f"{n}/a/1") for n in range(1, 4)] == [["yes", "yes"]] * 3


def test_a_missing_library_is_named_with_its_fix(journal: StoreJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"openai, jsonschema: pip install 'coevolve\[teacher\]'"):
        TeacherClient(TeacherOptions(), journal, None)
