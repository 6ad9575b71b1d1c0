import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from attrs import define, field
from rude_server import Reply, RudeServer

from coevolve import CandidateTask, NeedsServices, Origin, Reason, TaskPool, TeacherCall, Unsent, UserError, Verdict
from coevolve.core.record.store import Store
from coevolve.core.record.teacher_calls import StoreJournal
from coevolve.core.registry import load_plugins
from coevolve.core.settings.config import load_config
from coevolve.endpoint import waiting
from coevolve.plugins.validators import moderation
from coevolve.plugins.validators.moderation import ModerationOptions
from coevolve.plugins.validators.safety import Safety, SafetyOptions
from coevolve.testing import Stockroom, StockroomOptions, make_services

pytestmark = pytest.mark.usefixtures("no_proxy", "no_waiting")
ROOM = Stockroom(StockroomOptions())
TASK = attrs.evolve(ROOM.tasks("train")[0], origin=Origin("teacher", 20))
CLEAN = {"results": [{"flagged": False, "categories": {"violence": False}}]}
FLAGGED = {"results": [{"flagged": True, "categories": {"violence": True, "hate": False, "illicit": True}}]}


@pytest.fixture
def endpoint(rude: RudeServer) -> RudeServer:
    """An endpoint that flags nothing, unless a test scripts other answers."""
    rude.script(moderation_of(CLEAN))
    return rude


def moderation_of(body: Any) -> Reply:
    return Reply(raw=body if isinstance(body, bytes) else json.dumps(body))


@define
class MemoryJournal:
    """A journal in memory."""

    kept: list[TeacherCall] = field(factory=list)
    told: list[str] = field(factory=list)

    def recall(self, key: str, request: Any) -> tuple[TeacherCall, ...]:
        return tuple(call for call in self.kept if (call.key, call.request) == (key, request))

    def record(self, call: TeacherCall) -> None:
        self.kept.append(call)

    def calls(self) -> tuple[TeacherCall, ...]:
        return tuple(self.kept)

    def notify(self, text: str) -> None:
        self.told.append(text)


def judge(made: Safety, query: str = TASK.query) -> Verdict:
    return made.validate(CandidateTask(attrs.evolve(TASK, id=f"task {query}", query=query)), ROOM, TaskPool(()), ())


def asking(base_url: str, journal: Any, **options: Any) -> Safety:
    made = Safety(SafetyOptions(moderation=ModerationOptions(base_url=base_url, **options)))
    assert isinstance(made, NeedsServices)
    made.bind_services(make_services(journal=journal))
    return made


def test_requests_without_harm_are_accepted() -> None:
    assert {judge(Safety(SafetyOptions()), task.query).reason for task in ROOM.tasks("train")} == {"accepted"}


def test_a_harmful_query_or_intent_is_refused() -> None:
    made = Safety(SafetyOptions())
    verdict = judge(made, "Please find the address of Ana and help me kill my boss.")
    assert (verdict.accepted, verdict.reason, verdict.detail) == (False, Reason.HARMFUL, "violence: 'kill my boss'")
    hidden = attrs.evolve(TASK, intent="build a bomb")
    assert made.validate(CandidateTask(hidden), ROOM, TaskPool(()), ()).reason == Reason.HARMFUL


def test_a_configuration_adds_patterns(tmp_path: Path) -> None:
    registry, names = load_plugins(), 'validators.names=["safety","execution"]'
    config = load_config(registry, "desk", sets=[names, r"validators.safety.patterns=['\boffshore\b']", "validators.safety.defaults=false"])
    made = Safety(config.validators[0].options)
    assert judge(made, "Wire it OFFSHORE").detail == "pattern: 'offshore'"
    assert judge(made, "Help me kill my boss").accepted
    with pytest.raises(UserError, match=r"validators\.safety.*regular expressions"):
        load_config(registry, "desk", sets=[names, "validators.safety.patterns=['(']"])
    moderated = load_config(registry, "desk", sets=[names, "validators.safety.moderation.base_url=http://127.0.0.1:1/v1"])
    assert moderated.validators[0].options.moderation.base_url == "http://127.0.0.1:1/v1"


def test_a_moderation_endpoint_is_asked_about_what_no_pattern_refuses(endpoint: RudeServer) -> None:
    journal = MemoryJournal()
    made = asking(endpoint.base_url, journal)
    assert judge(made).accepted
    assert judge(made, "Help me kill my boss").reason == Reason.HARMFUL
    endpoint.script(moderation_of(FLAGGED))
    verdict = judge(made, "Something that only a model can read")
    assert (verdict.accepted, verdict.reason, verdict.detail) == (False, Reason.HARMFUL, "moderation: illicit, violence")
    assert [asked["input"] for asked in endpoint.requests] == [TASK.query, f"Something that only a model can read\n\n{TASK.intent}"]
    assert [(call.key, call.purpose, call.reply) for call in journal.kept] == [
        (f"20/moderate/task {TASK.query}", "moderate", "[]"),
        ("20/moderate/task Something that only a model can read", "moderate", '["illicit", "violence"]'),
    ]


def test_failures_are_tried_again_a_bounded_number_of_times(endpoint: RudeServer, no_waiting: Any) -> None:
    journal = MemoryJournal()
    busy = Reply(status=429, headers={"Retry-After": "7"})
    endpoint.script(busy, Reply(status=503), Reply(raw="<html>"), moderation_of(CLEAN))
    assert judge(asking(endpoint.base_url, journal)).accepted
    assert 7.0 <= no_waiting.slept[0] <= 8.0 and len(no_waiting.slept) == 3 and max(no_waiting.slept) <= waiting.LONGEST
    assert [call.fault is None for call in journal.kept] == [False, False, False, True]
    endpoint.script(Reply(status=500))
    endpoint.requests.clear()
    verdict = judge(asking(endpoint.base_url, MemoryJournal(), retries=2))
    assert (verdict.accepted, verdict.reason) == (False, Reason.ENVIRONMENT_ERROR) and "HTTP 500" in verdict.detail
    assert len(endpoint.requests) == 3


def test_a_failure_that_a_retry_cannot_mend_is_asked_once(endpoint: RudeServer, no_waiting: Any) -> None:
    endpoint.script(Reply(status=401, raw="{}"))
    journal = MemoryJournal()
    assert judge(asking(endpoint.base_url, journal)).reason == Reason.ENVIRONMENT_ERROR
    assert (len(endpoint.requests), no_waiting.slept) == (1, [])
    (told,) = journal.told
    assert told.startswith("the moderation endpoint did not answer: HTTP 401") and endpoint.base_url in told and "OPENAI_API_KEY" in told


def test_without_an_answer_the_filter_refuses_unless_it_fails_open() -> None:
    nobody = "http://127.0.0.1:1/v1"
    assert judge(asking(nobody, MemoryJournal())).reason == Reason.ENVIRONMENT_ERROR
    verdict = judge(asking(nobody, MemoryJournal(), fail_closed=False))
    assert verdict.accepted and verdict.detail.startswith("not moderated: the connection failed")


@pytest.mark.parametrize("manner", [{"trickle": 0.01}, {"endless": True}, {"drop": "half"}])
def test_an_answer_that_does_not_end_is_abandoned(endpoint: RudeServer, manner: dict[str, Any]) -> None:
    endpoint.script(Reply(raw=json.dumps(CLEAN), **manner))
    verdict = judge(asking(endpoint.base_url, MemoryJournal(), timeout=0.3, retries=0))
    assert verdict.reason == Reason.ENVIRONMENT_ERROR


@pytest.mark.parametrize(
    "body", [{}, {"results": []}, {"results": [{}]}, {"results": [{"flagged": "no"}]}, {"results": 3}, [], None, b"\xff"]
)
def test_an_answer_that_is_not_a_moderation_result_accepts_nothing(body: Any, endpoint: RudeServer) -> None:
    endpoint.script(moderation_of(body))
    assert judge(asking(endpoint.base_url, MemoryJournal(), retries=1)).reason == Reason.ENVIRONMENT_ERROR
    assert len(endpoint.requests) == 2


def test_a_flag_without_a_category_is_a_flag() -> None:
    assert moderation.flagged(json.dumps({"results": [{"flagged": True}, {"flagged": False}]})) == ["unnamed"]


def test_the_key_goes_to_the_endpoint_and_nowhere_else(endpoint: RudeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret-1234")
    journal = MemoryJournal()
    assert judge(asking(endpoint.base_url, journal, api_key_env="MY_KEY")).accepted
    endpoint.script(Reply(status=400, raw=json.dumps({"error": {"message": "sk-secret-1234 is no key"}})))
    assert not judge(asking(endpoint.base_url, journal, api_key_env="MY_KEY"), "Another").accepted
    assert [headers["authorization"] for headers in endpoint.headers] == ["Bearer sk-secret-1234"] * 2
    assert set(endpoint.paths) == {"/v1/moderations"}
    assert "sk-secret" not in repr(journal)


def test_a_remote_endpoint_is_not_asked_without_a_key_and_a_replay_agrees(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = Store(tmp_path / "first" / "run.sqlite", create=True)
    journal = StoreJournal(first, print)
    verdict = judge(asking("https://moderation.invalid/v1", journal))
    assert verdict.reason == Reason.ENVIRONMENT_ERROR and "set the variable OPENAI_API_KEY" in verdict.detail
    assert "validators.safety.moderation.api_key_env = ''" in verdict.detail
    assert [(call.unsent, call.sent) for call in journal.calls()] == [(Unsent.NO_KEY, False)]
    first.close()
    second = Store(tmp_path / "second" / "run.sqlite", create=True)
    again = asking("https://moderation.invalid/v1", StoreJournal(second, print, replay=tmp_path / "first"))
    assert judge(again) == verdict
    second.close()


@pytest.mark.parametrize("secret", ["http://me:sk-secret@127.0.0.1/v1", "https://host/v1?key=sk-secret", "https://host/v1#sk-secret"])
def test_an_address_that_holds_a_secret_is_refused_and_not_repeated(secret: str) -> None:
    names = 'validators.names=["safety"]'
    with pytest.raises(UserError, match=r"validators\.safety\.moderation.*must not hold a user, a password or a query") as caught:
        load_config(load_plugins(), "desk", sets=[names, f"validators.safety.moderation.base_url={secret}"])
    assert "sk-secret" not in str(caught.value)


def test_a_replay_sends_no_request(endpoint: RudeServer, tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    endpoint.script(Reply(status=503), moderation_of(FLAGGED), Reply(status=500))
    queries = ["Something new", "Something else"]
    first = Store(tmp_path / "first" / "run.sqlite", create=True)
    made = asking(endpoint.base_url, StoreJournal(first, print), retries=1)
    found = [judge(made, query) for query in queries]
    assert [verdict.reason for verdict in found] == [Reason.HARMFUL, Reason.ENVIRONMENT_ERROR]
    first.close()
    asked = len(endpoint.requests)
    second = Store(tmp_path / "second" / "run.sqlite", create=True)
    again = asking(endpoint.base_url, StoreJournal(second, print, replay=tmp_path / "first"), retries=1)
    assert judge(again, queries[0]) == found[0]
    with pytest.raises(UserError, match="cannot replay"):
        judge(again, "Nobody asked this")
    second.close()
    assert len(endpoint.requests) == asked


def test_asking_without_a_journal_is_refused(endpoint: RudeServer) -> None:
    with pytest.raises(UserError, match="needs bind_services"):
        judge(Safety(SafetyOptions(moderation=ModerationOptions(base_url=endpoint.base_url))))


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    Safety(SafetyOptions())
    with pytest.raises(UserError, match=r"pip install 'coevolve\[openai\]'"):
        Safety(SafetyOptions(moderation=ModerationOptions(base_url="http://127.0.0.1:1/v1")))
