"""Policy "openai" against a server with scripted answers, over real sockets."""

import json
import re
import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from coevolve import Action, InfrastructureFault, Sampling, Task, UserError
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.endpoint import Pace, ToolCall
from coevolve.plugins.policies.openai import OpenAIOptions, OpenAIPolicy
from coevolve.plugins.policies.tool_calls import UNANSWERED, Turn, as_text, native, plain
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions
from coevolve.testing import Stockroom

pytestmark = pytest.mark.usefixtures("no_proxy")
KEY = "sk-very-secret-0123456789"
TOOLS = [{"type": "function", "function": {"name": "take", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}}]


class Bench:
    """An environment whose `script` gives one answer for all calls, or one for each."""

    def __init__(self, together: bool = True) -> None:
        self.together = together

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        texts = [f"<{a.name} {json.dumps(a.arguments)}>" for a in actions]
        return ("".join(texts), "end") if self.together else (*texts, "end")


def policy(rude: Any, **settings: Any) -> OpenAIPolicy:
    return OpenAIPolicy(OpenAIOptions(**{"model": "m", "base_url": rude.base_url, "api_key_env": "", "retries": 2, **settings}))


def talk(policy: OpenAIPolicy, count: int = 1, tools: Any = None) -> list[Any]:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    return [policy.begin(Task(f"t{n}", "none", "q"), messages, tools, n) for n in range(count)]


def called(rude: Any, *calls: tuple[str, str], text: Any = None) -> Any:
    """A reply with tool calls."""
    made = [{"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": told}} for n, (name, told) in enumerate(calls)]
    message = {"role": "assistant", "content": text, "tool_calls": made}
    return rude.Reply(raw=json.dumps({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}], "usage": None}))


def refused(rude: Any, message: str, status: int = 400, **fields: str) -> Any:
    return rude.Reply(raw=json.dumps({"error": {"message": message, **fields}}), status=status)


def test_texts_are_sent_and_answers_return_with_their_cost(rude: Any) -> None:
    rude.answer = lambda request: rude.Reply("fine", usage={"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500})
    asked = policy(rude, input_price=2.0, output_price=4.0)
    talks = talk(asked, 3)
    assert asked.complete(talks, Sampling(0.5, 77, 1)) == ["fine"] * 3
    (first, *_), (one, *_) = rude.requests, talks
    assert first == {"model": "m", "messages": [dict(m) for m in one.messages[:2]], "max_tokens": 77, "temperature": 0.5}
    assert one.messages[-1] == {"role": "assistant", "content": "fine"} and one.tokens is None
    assert asked.usage() == {
        "calls": 3,
        "failed": 0,
        "prompt_tokens": 3000,
        "completion_tokens": 1500,
        "estimated": 0,
        "cost": pytest.approx(0.012),
    }


def test_observations_of_an_environment_without_tools_are_user_messages_in_one(rude: Any) -> None:
    rude.script("a", "b")
    asked = policy(rude)
    (one,) = talk(asked)
    asked.complete([one], Sampling())
    one.observe([{"role": "tool", "content": "x"}, {"role": "tool", "content": "y"}])
    asked.complete([one], Sampling())
    assert rude.requests[1]["messages"][2:] == [{"role": "assistant", "content": "a"}, {"role": "user", "content": "x\n\ny"}]


def test_calls_become_the_environments_text_and_their_results_tool_messages(rude: Any) -> None:
    rude.script(called(rude, ("take", '{"n": 1}'), ("take", '{"n": 2}'), text="I take."), "done")
    asked = policy(rude)
    asked.bind(Bench())  # type: ignore[arg-type]
    (one,) = talk(asked, tools=TOOLS)
    assert asked.complete([one], Sampling()) == ['<take {"n": 1}><take {"n": 2}>']
    one.observe([{"role": "tool", "content": "first"}, {"role": "tool", "content": "second"}])
    assert asked.complete([one], Sampling()) == ["done"]
    first, second = rude.requests
    assert first["tools"] == TOOLS
    answer, *results = second["messages"][2:]
    assert (answer["content"], [call["id"] for call in answer["tool_calls"]]) == ("I take.", ["c0", "c1"])
    assert results == [
        {"role": "tool", "tool_call_id": "c0", "content": "first"},
        {"role": "tool", "tool_call_id": "c1", "content": "second"},
    ]
    assert one.messages[2] == {"role": "assistant", "content": '<take {"n": 1}><take {"n": 2}>'}
    assert asked.provenance() == {"endpoint": rude.base_url, "tools": "functions"}


def test_every_call_gets_an_answer_also_one_that_was_not_carried_out() -> None:
    calls = (ToolCall("a", "take", "{}"), ToolCall("b", "take", "{}"))
    assert as_text(calls, Bench(together=False)) == ("<take {}>", 1)  # type: ignore[arg-type]
    turns = [Turn({"role": "assistant", "content": "<take {}>"}, "", calls), Turn({"role": "tool", "content": "x"})]
    sent = native([*turns, Turn({"role": "user", "content": "next"})])
    assert [m.get("content") for m in sent] == ["", "x", UNANSWERED, "next"]
    assert [m.get("tool_call_id") for m in sent] == [None, "a", "b", None]


@pytest.mark.parametrize("arguments", ["", "[1]", "{", "null", "[" * 100_000])
def test_arguments_that_are_not_an_object_are_text_and_not_a_call(rude: Any, arguments: str) -> None:
    rude.script(called(rude, ("take", arguments)), "done")
    asked = policy(rude)
    asked.bind(Bench())  # type: ignore[arg-type]
    (one,) = talk(asked, tools=TOOLS)
    assert asked.complete([one], Sampling()) == [f"take({arguments})"]
    one.observe([{"role": "user", "content": "that was no call"}])
    asked.complete([one], Sampling())
    assert rude.requests[1]["messages"][2] == {"role": "assistant", "content": f"take({arguments})"}


@pytest.mark.parametrize("status", [400, 422, 500, 501])
def test_an_endpoint_without_functions_gets_the_tools_in_the_prompt(rude: Any, status: int) -> None:
    rude.answer = lambda request: refused(rude, "Unknown field: tools", status) if "tools" in request else "<take 1>"
    asked = policy(rude)
    asked.bind(Bench())  # type: ignore[arg-type]
    talks = talk(asked, 3, TOOLS)
    assert asked.complete(talks, Sampling()) == ["<take 1>"] * 3
    prompt = rude.requests[-1]["messages"][0]
    assert prompt["role"] == "system" and json.dumps(TOOLS[0]) in prompt["content"] and '<take {"n": 1}>' in prompt["content"]
    assert asked.provenance()["tools"] == "in the prompt"
    before = len(rude.requests)
    asked.complete(talks, Sampling())
    assert len(rude.requests) == before + 3, "what was refused is not tried again"
    assert asked.spent.failed == before - 3


def test_what_an_endpoint_does_not_take_is_left_out(rude: Any) -> None:
    def answer(request: Any) -> Any:
        if "max_tokens" in request:
            return refused(rude, "Unsupported parameter: use 'max_completion_tokens' instead.")
        if "temperature" in request:
            return refused(rude, "does not support 0.5", param="temperature")
        return refused(rude, "unknown: seed") if "seed" in request else "fine"

    rude.answer = answer
    asked = policy(rude, seed=True)
    assert asked.complete(talk(asked), Sampling(0.5)) == ["fine"]
    assert set(rude.requests[-1]) == {"model", "messages", "max_completion_tokens"}
    assert "does not accept one" in asked.provenance()["temperature"]


def test_the_seed_is_a_function_of_draw_row_and_turn(rude: Any) -> None:
    asked = policy(rude, seed=True, concurrency=1)
    for seed in (1, 1, 2):
        asked.complete(talk(asked, 2), Sampling(1.0, 9, seed))
    seeds = [request["seed"] for request in rude.requests]
    assert seeds[:2] == seeds[2:4] and len({*seeds[2:]}) == 4


def test_no_more_at_once_than_asked_for(rude: Any) -> None:
    both = threading.Barrier(3, timeout=20)

    def answer(request: Any) -> str:
        both.wait()
        return "fine"

    rude.answer = answer
    asked = policy(rude, concurrency=3)
    assert asked.complete(talk(asked, 9), Sampling()) == ["fine"] * 9
    assert rude.most_at_once == 3


def drops(rude: Any, every: int) -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        yield rude.Reply(drop="before" if number % 2 else "half") if number % every == 0 else "fine"


def test_dropped_connections_cost_no_conversation(rude: Any, no_waiting: Any) -> None:
    lock, replies = threading.Lock(), drops(rude, 5)

    def answer(request: Any) -> Any:
        with lock:
            return next(replies)

    rude.answer = answer
    asked = policy(rude)
    assert asked.complete(talk(asked, 40), Sampling()) == ["fine"] * 40
    assert asked.spent.calls == len(rude.requests) > 40 and asked.spent.failed == asked.spent.calls - 40 and no_waiting.slept


def test_retry_after_is_honoured_by_all(rude: Any, no_waiting: Any) -> None:
    rude.script(rude.Reply("", status=429, headers={"Retry-After": "30"}), "fine")
    asked = policy(rude, concurrency=1)
    assert asked.complete(talk(asked, 2), Sampling()) == ["fine"] * 2
    assert sum(no_waiting.slept) >= 30 - 1e-6


def test_one_that_fails_for_good_is_a_fault_of_its_own(rude: Any, no_waiting: Any) -> None:
    rude.answer = lambda request: rude.Reply("", status=503) if "bad" in request["messages"][-1]["content"] else "fine"
    asked = policy(rude)
    talks = talk(asked, 3)
    talks[1].observe([{"role": "user", "content": "bad"}])
    first, second, third = asked.complete(talks, Sampling())
    assert (first, third) == ("fine", "fine") and isinstance(second, InfrastructureFault) and "HTTP 503" in str(second)
    assert len(no_waiting.slept) == 2, "two attempts more"


def test_an_endpoint_that_is_down_raises(rude: Any, no_waiting: Any) -> None:
    rude.answer = lambda request: rude.Reply("", status=503)
    asked = policy(rude, retries=0, concurrency=1)
    with pytest.raises(InfrastructureFault, match="failed 3 conversations in a row, the last: HTTP 503"):
        asked.complete(talk(asked, 20), Sampling())
    assert len(rude.requests) < 20


@pytest.mark.parametrize("status", [401, 403, 404])
def test_denied_access_is_reported_at_once_without_the_key(
    rude: Any, status: int, monkeypatch: pytest.MonkeyPatch, no_waiting: Any
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    rude.answer = lambda request: refused(rude, f"bad key {KEY}", status)
    asked = policy(rude, api_key_env="MY_KEY")
    with pytest.raises(UserError, match=f"HTTP {status}, model 'm' at .* the variable MY_KEY") as caught:
        asked.complete(talk(asked), Sampling())
    assert KEY not in str(caught.value) and "[key]" in str(caught.value)
    assert not no_waiting.slept and rude.headers[0]["authorization"] == f"Bearer {KEY}"


def test_a_missing_key_is_reported_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    asked = OpenAIPolicy(OpenAIOptions(base_url="http://example.invalid/v1", api_key_env="NO_SUCH_KEY"))
    with pytest.raises(UserError, match=r"no key for http://example.invalid/v1: set the variable NO_SUCH_KEY, or policy.api_key_env = ''"):
        asked.complete(talk(asked), Sampling())


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ({"text": ""}, ""),
        ({"text": None, "finish": "length"}, ""),
        ({"text": "cut of", "finish": "length"}, "cut of"),
        ({"text": "no", "refusal": "I will not."}, "I will not."),
    ],
)
def test_any_text_of_the_model_is_its_answer_also_an_empty_one(rude: Any, reply: dict[str, Any], text: str) -> None:
    rude.answer = lambda request: rude.Reply(**reply)
    asked = policy(rude)
    (one,) = talk(asked)
    assert asked.complete([one], Sampling()) == [text] and len(rude.requests) == 1
    assert one.messages[-1] == {"role": "assistant", "content": text} and asked.spent.failed == 0


@pytest.mark.parametrize("code", ["context_length_exceeded", ""])
def test_a_conversation_that_is_too_long_has_no_room_left(rude: Any, code: str) -> None:
    rude.answer = lambda request: refused(rude, "the maximum context length is 512 tokens", code=code)
    asked = policy(rude)
    assert asked.complete(talk(asked, 5), Sampling()) == [None] * 5


def test_a_budget_of_calls_sends_that_many(rude: Any) -> None:
    asked = policy(rude, budget="7calls", concurrency=4)
    rude.answer = lambda request: "fine"
    found = asked.complete(talk(asked, 20), Sampling())
    assert len(rude.requests) == found.count("fine") == asked.spent.calls == 7
    assert all("the budget of 7calls is used up" in str(one) for one in found if one != "fine")


def test_a_budget_of_tokens_or_cost_counts_running_calls(rude: Any) -> None:
    rude.answer = lambda request: rude.Reply("fine", usage={"prompt_tokens": 50, "completion_tokens": 50, "total_tokens": 100})
    for settings in ({"budget": "1000tokens"}, {"budget": "1cost", "input_price": 1000.0, "output_price": 1000.0}):
        asked = policy(rude, concurrency=8, **settings)
        found = asked.complete(talk(asked, 30), Sampling(1.0, 100))
        assert 7 <= found.count("fine") <= 10 and asked.spent.prompt_tokens + asked.spent.completion_tokens <= 1000


def test_a_slow_reply_ends_at_the_deadline(rude: Any, no_waiting: Any) -> None:
    rude.answer = lambda request: rude.Reply("x" * 4000, trickle=0.05)
    asked = policy(rude, timeout=0.3, retries=1)
    (found,) = asked.complete(talk(asked), Sampling())
    assert isinstance(found, InfrastructureFault) and "no whole answer within 0.3 s" in str(found)


@pytest.mark.parametrize("raw", ["", "not json", "[]", '{"choices": []}', '{"choices": [{"message": null}]}'])
def test_nonsense_is_a_fault_of_the_endpoint(rude: Any, raw: str, no_waiting: Any) -> None:
    rude.answer = lambda request: rude.Reply(raw=raw)
    (found,) = (asked := policy(rude)).complete(talk(asked), Sampling())
    assert isinstance(found, InfrastructureFault)


def test_it_cannot_be_trained(rude: Any) -> None:
    run: Any = SimpleNamespace(seed=0, steps=1, batch=2, rollouts=4, folder=None, planned=False)
    with pytest.raises(UserError, match=r"policy .openai. cannot be trained \(.*no token ids, and text that is tok.*\)") as caught:
        Grpo(GrpoOptions()).setup(policy(rude), run)
    assert "\n" not in str(caught.value) and rude.requests == []


def test_whole_episodes_with_lost_calls_have_no_score_and_no_more(rude: Any, no_waiting: Any) -> None:
    room = Stockroom(Stockroom.Options())
    tasks = list(room.tasks("test"))[:6]
    scripts = {task.query: room.script(task.solution) for task in tasks}

    def answer(request: Any) -> Any:
        words = " ".join(m["content"] for m in request["messages"] if m["role"] == "user")
        (query,) = [query for query in scripts if query in words]
        turn = sum(m["role"] == "assistant" for m in request["messages"])
        return rude.Reply("", status=500) if query == tasks[2].query else scripts[query][turn]

    rude.answer = answer
    runner = RolloutRunner(room, RolloutLimits(), Clock())
    asked = policy(rude, retries=1)
    groups = runner.run(asked, tasks, 2, Sampling(), 0)
    runner.close()
    assert [group.mean for group in groups] == [1.0, 1.0, None, 1.0, 1.0, 1.0]
    assert all("policy: InfrastructureFault: HTTP 500" in (t.fault or "") for t in groups[2].trajectories)


def test_tools_join_the_system_message_or_make_one() -> None:
    user = Turn({"role": "user", "content": "q"})
    assert [m["role"] for m in plain([user], TOOLS, "<take>")] == ["system", "user"]
    assert plain([user], None, "") == [{"role": "user", "content": "q"}]


def test_a_lost_conversation_names_the_address_and_what_to_check(rude: Any) -> None:
    def fault(**settings: Any) -> str:
        (found,) = policy(rude, retries=0, **settings).complete(talk(policy(rude)), Sampling(0.0, 8, 0))
        assert isinstance(found, InfrastructureFault)
        return str(found)

    nobody = "http://127.0.0.1:9/v1"
    assert fault(base_url=nobody).endswith(f"(from {nobody}: check policy.base_url, and that a server answers there)")
    for reply in (rude.Reply(raw="<html>hello</html>"), rude.Reply(raw="", status=302)):
        rude.answer = lambda request, reply=reply: reply
        assert f"(from {rude.base_url}: check policy.base_url" in fault()
    assert fault(budget="0calls") == "the budget of 0calls is used up: raise policy.budget"


def test_a_long_wait_is_logged_when_it_begins(rude: Any, no_waiting: Any, caplog: pytest.LogCaptureFixture) -> None:
    asked = policy(rude, retries=1, concurrency=4)
    rude.answer = lambda request: rude.Reply(raw="busy", status=429, headers={"Retry-After": "100000"})
    asked.complete(talk(asked, 1), Sampling(0.0, 8, 0))
    (record,) = [record for record in caplog.records if record.name == "coevolve.endpoint"]
    assert record.levelname == "WARNING"
    assert re.fullmatch(r"coevolve: the endpoint gets the next request in 30\d s \(HTTP 429: busy\)", record.getMessage())


def test_a_short_wait_is_not_logged(rude: Any, no_waiting: Any, caplog: pytest.LogCaptureFixture) -> None:
    asked = policy(rude, retries=2)
    rude.answer = lambda request: rude.Reply(raw="busy", status=429, headers={"Retry-After": "2"})
    asked.complete(talk(asked, 1), Sampling(0.0, 8, 0))
    assert [record for record in caplog.records if record.name == "coevolve.endpoint"] == []


def test_waits_at_the_same_time_are_logged_once(no_waiting: Any, caplog: pytest.LogCaptureFixture) -> None:
    pace = Pace(0)
    for seconds in (300.0, 301.0, 9.0, 305.0):
        pace.warn(seconds, "HTTP 429")
    assert len(caplog.records) == 1
    no_waiting.time += 301
    pace.warn(300.0, "HTTP 429")
    assert len(caplog.records) == 2


def test_an_answer_is_reported_when_it_arrives(rude: Any) -> None:
    told: list[tuple[int, str]] = []
    first_is_there = threading.Event()

    def answer(request: Any) -> Any:
        return rude.Reply("slow", wait=first_is_there) if "more" not in str(request["messages"]) else "quick"

    rude.answer = answer
    asked = policy(rude)
    talks = talk(asked, 2)
    talks[1].observe([{"role": "user", "content": "more"}])

    def on_completion(n: int, text: str) -> None:
        told.append((n, text))
        assert talks[n].messages[-1]["content"] == text
        first_is_there.set()

    assert asked.complete_streaming(talks, Sampling(), on_completion) == ["slow", "quick"]
    assert told == [(1, "quick"), (0, "slow")]


def test_a_fault_is_not_reported_as_an_answer(rude: Any) -> None:
    rude.answer = lambda request: rude.Reply(status=500)
    told: list[int] = []
    (fault,) = policy(rude, retries=0).complete_streaming(talk(policy(rude)), Sampling(), lambda n, text: told.append(n))
    assert isinstance(fault, InfrastructureFault) and told == []
