"""A provider's failure inside an answer with status 200 is an infrastructure fault that shows its text, never the model's answer."""

import json
from typing import Any

import pytest

from coevolve import InfrastructureFault, Sampling, Task, UserError
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.endpoint import Failed, read_answer
from coevolve.plugins.policies.openai import OpenAIOptions, OpenAIPolicy
from coevolve.plugins.validators.moderation import flagged
from coevolve.testing import Stockroom

pytestmark = pytest.mark.usefixtures("no_proxy")


def choice(content: Any, finish: str | None = "stop", **fields: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": finish, "message": {"role": "assistant", "content": content}, **fields}]}


# The body, a part of the fault's text, and how often it is asked: once where the same request would fail again.
ERRORS: dict[str, tuple[dict[str, Any], str, int]] = {
    "an ending": (choice("Error: upstream request timeout", "error"), "Error: upstream request timeout", 3),
    "an ending after a part": (choice("take(", "error"), "take(", 3),
    "an error in a choice": (choice("Error", "error", error={"code": 504, "message": "upstream timed out"}), "504): upstream timed out", 3),
    "an error beside an answer": (choice("half an ans", "stop", error={"code": 502, "message": "stream broke"}), "502): stream broke", 3),
    "an error in a message": ({"choices": [{"message": {"content": "x", "error": {"message": "lost"}}}]}, "lost", 3),
    "an error at the top": ({"error": {"message": "no capacity", "code": 503}}, "503): no capacity", 3),
    "an error at the top as text": ({"error": "model is loading"}, "model is loading", 3),
    "an error at the top beside an answer": (choice("x") | {"error": {"message": "provider down"}}, "provider down", 3),
    "a rate limit": ({"error": {"message": "slow down", "code": 429}}, "429): slow down", 3),
    "no quota": ({"error": {"message": "pay", "code": "insufficient_quota"}}, "insufficient_quota): pay", 1),
    "a refused prompt": ({"error": {"message": "inappropriate", "code": "data_inspection_failed"}}, "refused (data_inspection_failed)", 1),
    "another form of error": ({"detail": "worker died"}, "worker died", 3),
    "no choices": ({"choices": []}, '{"choices": []}', 3),
    "null choices": ({"choices": None, "message": "overloaded"}, "overloaded", 3),
    "no message": ({"choices": [{"finish_reason": "stop"}]}, "finish_reason", 3),
    "null content": (choice(None), "no token was made", 3),
    "null content and no ending": (choice(None, None), "no token was made", 3),
    "a filter": (choice("", "content_filter"), "the endpoint filtered the reply", 1),
    "a filter after a part": (choice("half", "content_filter"), "the endpoint filtered the reply (content_filter): half", 1),
    "another filter": (choice("", "sensitive"), "the endpoint filtered the reply", 1),
    "an abort": (choice("ha", "abort"), "(abort)", 3),
    "no resources": (choice("ha", "insufficient_system_resource"), "(insufficient_system_resource)", 3),
}


def policy(rude: Any, **settings: Any) -> OpenAIPolicy:
    return OpenAIPolicy(OpenAIOptions(**{"model": "m", "base_url": rude.base_url, "api_key_env": "", "retries": 2, **settings}))


def answer_of(asked: OpenAIPolicy) -> Any:
    (found,) = asked.complete([asked.begin(Task("t", "none", "q"), [{"role": "user", "content": "q"}], None, 0)], Sampling())
    return found


@pytest.mark.parametrize("kind", ERRORS)
def test_it_is_a_fault_with_its_text(kind: str, rude: Any, no_waiting: Any) -> None:
    body, text, times = ERRORS[kind]
    rude.answer = lambda request: rude.Reply(raw=json.dumps(body))
    asked = policy(rude)
    found = answer_of(asked)
    assert isinstance(found, InfrastructureFault) and text in str(found) and "\n" not in str(found)
    assert len(rude.requests) == asked.spent.failed == times
    assert "base_url, and that a server answers" not in str(found) or "error" not in body


def test_it_is_not_asked_in_vain(rude: Any, no_waiting: Any) -> None:
    rude.script(rude.Reply(raw=json.dumps(choice("Error", "error"))), rude.Reply(raw=json.dumps(choice(None))), "at last")
    assert answer_of(policy(rude)) == "at last"


def test_denied_access_stops_at_once(rude: Any) -> None:
    for code in (401, 403, 404):
        rude.answer = lambda request, code=code: rude.Reply(raw=json.dumps({"error": {"code": code, "message": "no such key"}}))
        with pytest.raises(UserError, match=rf"{code}\), check the model, the address and the key \(no such key\)"):
            answer_of(policy(rude))


def test_a_prompt_that_is_too_long_is_told_apart(rude: Any) -> None:
    rude.answer = lambda request: rude.Reply(raw=json.dumps({"error": {"code": 400, "message": "the maximum context length is 9 tokens"}}))
    assert answer_of(policy(rude)) is None


def test_an_empty_field_for_errors_is_no_error() -> None:
    empty: list[Any] = [None, "", {}, False]
    for nothing in empty:
        body = choice("fine", error=nothing) | {"error": nothing}
        assert read_answer(json.dumps(body), "application/json").text == "fine"


@pytest.mark.parametrize(
    "body", [choice(""), choice(None, "length"), choice(None) | {"usage": {"prompt_tokens": 3, "completion_tokens": 9}}], ids=str
)
def test_what_the_model_did_is_its_answer(body: dict[str, Any], rude: Any) -> None:
    """It ended at once, reached the limit, or thought and said nothing."""
    rude.answer = lambda request: rude.Reply(raw=json.dumps(body))
    asked = policy(rude)
    assert answer_of(asked) == "" and asked.spent.failed == 0


def test_rollouts_with_it_have_no_score(rude: Any, no_waiting: Any) -> None:
    rude.answer = lambda request: rude.Reply(raw=json.dumps(choice("Error: upstream request timeout", "error", error={"code": 504})))
    room = Stockroom(Stockroom.Options())
    runner = RolloutRunner(room, RolloutLimits(), Clock())
    (group,) = runner.run(policy(rude, retries=0), room.tasks("test")[:1], 2, Sampling(), 0)
    runner.close()
    assert group.mean is None and group.scores == ()
    assert all("the endpoint answered with an error (504)" in (t.fault or "") for t in group.trajectories)


def test_a_moderation_answer_with_an_error() -> None:
    with pytest.raises(Failed, match="answered with an error: busy"):
        flagged('{"error": {"message": "busy"}}')
    with pytest.raises(Failed, match=r"not a moderation result.*worker died"):
        flagged('{"detail": "worker died"}')
