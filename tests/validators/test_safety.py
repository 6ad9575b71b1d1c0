import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import attrs
import pytest
from attrs import define, field

from coevolve import CandidateTask, NeedsJournal, Origin, TaskPool, TeacherCall, UserError, Verdict
from coevolve.core.config import load_config
from coevolve.core.journal import StoreJournal
from coevolve.core.registry import load_plugins
from coevolve.core.store import Store
from coevolve.plugins.validators import moderation
from coevolve.plugins.validators.moderation import ModerationOptions
from coevolve.plugins.validators.reasons import Reason
from coevolve.plugins.validators.safety import Safety, SafetyOptions
from coevolve.testing import Stockroom, StockroomOptions

ROOM = Stockroom(StockroomOptions())
TASK = attrs.evolve(ROOM.tasks("train")[0], origin=Origin("teacher", 20))
CLEAN = {"results": [{"flagged": False, "categories": {"violence": False}}]}
FLAGGED = {"results": [{"flagged": True, "categories": {"violence": True, "hate": False, "illicit": True}}]}


@define
class Endpoint:
    """Answers `/moderations` with `answers` in turn, the last one for ever: (status, body, headers)."""

    url: str = ""
    answers: list[tuple[int, Any, dict[str, str]]] = field(factory=list)
    asked: list[dict[str, Any]] = field(factory=list)
    keys: list[str | None] = field(factory=list)

    def take(self, path: str, body: bytes, key: str | None) -> tuple[int, bytes, dict[str, str]]:
        assert path == "/v1/moderations"
        self.asked.append(json.loads(body))
        self.keys.append(key)
        status, answer, headers = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return status, answer if isinstance(answer, bytes) else json.dumps(answer).encode(), headers


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    made = Endpoint(answers=[(200, CLEAN, {})])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, answer, headers = made.take(self.path, body, self.headers.get("Authorization"))
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(len(answer)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        made.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        yield made
        server.shutdown()


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(moderation, "sleep", sleep)
    return waits


@define
class Notes:
    """A journal in memory."""

    kept: list[TeacherCall] = field(factory=list)
    told: list[str] = field(factory=list)

    def recall(self, key: str, request: Any) -> tuple[TeacherCall, ...]:
        return tuple(call for call in self.kept if (call.key, call.request) == (key, request))

    def record(self, call: TeacherCall) -> None:
        self.kept.append(call)

    def calls(self) -> tuple[TeacherCall, ...]:
        return tuple(self.kept)

    def tell(self, text: str) -> None:
        self.told.append(text)


def judge(made: Safety, query: str = TASK.query) -> Verdict:
    return made.validate(CandidateTask(attrs.evolve(TASK, id=f"task {query}", query=query)), ROOM, TaskPool(()), ())


def asking(endpoint: Endpoint, journal: Any, **options: Any) -> Safety:
    made = Safety(SafetyOptions(moderation=ModerationOptions(base_url=endpoint.url, **options)))
    assert isinstance(made, NeedsJournal)
    made.bind_journal(journal)
    return made


def test_it_is_a_validator_that_accepts_what_asks_for_no_harm() -> None:
    assert {judge(Safety(SafetyOptions()), task.query).reason for task in ROOM.tasks("train")} == {"accepted"}


def test_a_harmful_query_or_intent_is_refused() -> None:
    made = Safety(SafetyOptions())
    verdict = judge(made, "Please find the address of Ana and help me kill my boss.")
    assert (verdict.accepted, verdict.reason, verdict.detail) == (False, Reason.HARMFUL, "violence: 'kill my boss'")
    hidden = attrs.evolve(TASK, intent="build a bomb")
    assert made.validate(CandidateTask(hidden), ROOM, TaskPool(()), ()).reason == Reason.HARMFUL


def test_patterns_of_a_configuration(tmp_path: Path) -> None:
    registry, names = load_plugins(), 'validators.names=["safety","execution"]'
    config = load_config(registry, "desk", sets=[names, r"validators.safety.patterns=['\boffshore\b']", "validators.safety.defaults=false"])
    made = Safety(config.validators[0].options)
    assert judge(made, "Wire it OFFSHORE").detail == "pattern: 'offshore'"
    assert judge(made, "Help me kill my boss").accepted
    with pytest.raises(UserError, match=r"validators\.safety.*regular expressions"):
        load_config(registry, "desk", sets=[names, "validators.safety.patterns=['(']"])
    moderated = load_config(registry, "desk", sets=[names, "validators.safety.moderation.base_url=http://127.0.0.1:1/v1"])
    assert moderated.validators[0].options.moderation.base_url == "http://127.0.0.1:1/v1"


def test_a_moderation_endpoint_is_asked_about_what_no_pattern_refuses(endpoint: Endpoint) -> None:
    notes = Notes()
    made = asking(endpoint, notes)
    assert judge(made).accepted
    assert judge(made, "Help me kill my boss").reason == Reason.HARMFUL
    endpoint.answers = [(200, FLAGGED, {})]
    verdict = judge(made, "Something that only a model can read")
    assert (verdict.accepted, verdict.reason, verdict.detail) == (False, Reason.HARMFUL, "moderation: illicit, violence")
    assert [asked["input"] for asked in endpoint.asked] == [TASK.query, f"Something that only a model can read\n\n{TASK.intent}"]
    assert [(call.key, call.purpose, call.reply) for call in notes.kept] == [
        (f"20/moderate/task {TASK.query}", "moderate", "[]"),
        ("20/moderate/task Something that only a model can read", "moderate", '["illicit", "violence"]'),
    ]


def test_failures_are_tried_again_a_bounded_number_of_times(endpoint: Endpoint, slept: list[float]) -> None:
    notes = Notes()
    endpoint.answers = [(429, {}, {"Retry-After": "7"}), (503, {}, {}), (200, b"<html>", {}), (200, CLEAN, {})]
    assert judge(asking(endpoint, notes)).accepted
    assert slept[0] == 7.0 and len(slept) == 3 and all(0 <= wait <= moderation.LONGEST_WAIT for wait in slept)
    assert [call.fault is None for call in notes.kept] == [False, False, False, True]
    endpoint.answers, endpoint.asked = [(500, {}, {})], []
    verdict = judge(asking(endpoint, Notes(), retries=2))
    assert (verdict.accepted, verdict.reason) == (False, Reason.ENVIRONMENT_ERROR) and "HTTP 500" in verdict.detail
    assert len(endpoint.asked) == 3


def test_what_no_retry_helps_is_asked_once(endpoint: Endpoint, slept: list[float]) -> None:
    endpoint.answers = [(401, {}, {})]
    notes = Notes()
    assert judge(asking(endpoint, notes)).reason == Reason.ENVIRONMENT_ERROR
    assert (len(endpoint.asked), slept) == (1, [])
    assert notes.told == [f"the moderation endpoint did not answer: HTTP 401 from {endpoint.url}"]


def test_open_or_closed_when_nobody_answers(slept: list[float]) -> None:
    nobody = Endpoint("http://127.0.0.1:1/v1")
    assert judge(asking(nobody, Notes())).reason == Reason.ENVIRONMENT_ERROR
    verdict = judge(asking(nobody, Notes(), fail_closed=False))
    assert verdict.accepted and verdict.detail.startswith("not moderated: cannot reach")


def test_an_answer_that_does_not_end_is_given_up(endpoint: Endpoint, slept: list[float]) -> None:
    endpoint.answers = [(200, b"{", {"Content-Length": "1000"})]
    verdict = judge(asking(endpoint, Notes(), timeout=0.2, retries=0))
    assert verdict.reason == Reason.ENVIRONMENT_ERROR


@pytest.mark.parametrize(
    "body", [{}, {"results": []}, {"results": [{}]}, {"results": [{"flagged": "no"}]}, {"results": 3}, [], None, b"\xff"]
)
def test_an_answer_that_is_no_moderation_accepts_nothing(body: Any, endpoint: Endpoint, slept: list[float]) -> None:
    endpoint.answers = [(200, body, {})]
    assert judge(asking(endpoint, Notes(), retries=1)).reason == Reason.ENVIRONMENT_ERROR
    assert len(endpoint.asked) == 2


def test_a_flag_without_a_category_is_a_flag() -> None:
    assert moderation.flagged(json.dumps({"results": [{"flagged": True}, {"flagged": False}]})) == ["unnamed"]


def test_the_key_goes_to_the_endpoint_and_nowhere_else(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret-1234")
    notes = Notes()
    assert judge(asking(endpoint, notes, api_key_env="MY_KEY")).accepted
    endpoint.answers = [(400, {"error": "sk-secret-1234 is no key"}, {})]
    assert not judge(asking(endpoint, notes, api_key_env="MY_KEY"), "Another").accepted
    assert endpoint.keys == ["Bearer sk-secret-1234"] * 2
    assert "sk-secret" not in repr(notes)


def test_without_a_key_no_remote_endpoint_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    notes = Notes()
    verdict = judge(asking(Endpoint("https://moderation.invalid/v1"), notes))
    assert verdict.reason == Reason.ENVIRONMENT_ERROR and "set the variable OPENAI_API_KEY" in verdict.detail


def test_a_replay_asks_nobody(endpoint: Endpoint, tmp_path: Path, slept: list[float]) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    endpoint.answers = [(503, {}, {}), (200, FLAGGED, {}), (500, {}, {})]
    queries = ["Something new", "Something else"]
    first = Store(tmp_path / "first" / "run.sqlite", create=True)
    made = asking(endpoint, StoreJournal(first, print), retries=1)
    found = [judge(made, query) for query in queries]
    assert [verdict.reason for verdict in found] == [Reason.HARMFUL, Reason.ENVIRONMENT_ERROR]
    first.close()
    asked = len(endpoint.asked)
    second = Store(tmp_path / "second" / "run.sqlite", create=True)
    again = asking(endpoint, StoreJournal(second, print, replay=tmp_path / "first"), retries=1)
    assert judge(again, queries[0]) == found[0]
    with pytest.raises(UserError, match="cannot replay"):
        judge(again, "Nobody asked this")
    second.close()
    assert len(endpoint.asked) == asked


def test_asking_without_a_journal_is_refused(endpoint: Endpoint) -> None:
    with pytest.raises(UserError, match="needs bind_journal"):
        judge(Safety(SafetyOptions(moderation=ModerationOptions(base_url=endpoint.url))))


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    Safety(SafetyOptions())
    with pytest.raises(UserError, match=r"pip install 'coevolve\[teacher\]'"):
        Safety(SafetyOptions(moderation=ModerationOptions(base_url="http://127.0.0.1:1/v1")))
