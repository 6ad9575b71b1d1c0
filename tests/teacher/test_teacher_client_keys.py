"""The key is sent to the endpoint and to no other place; without a key nothing is sent."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from asked import KEY, faults, made, one

from coevolve import Unsent
from coevolve.core.record.teacher_calls import StoreJournal
from coevolve.synthesizers.teacher import options as options_module
from coevolve.synthesizers.teacher.faults import TeacherFault
from coevolve.synthesizers.teacher.options import TeacherOptions
from coevolve.synthesizers.teacher.teacher_client import TeacherClient


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_key_or_model_that_is_not_known_is_one_clear_line(
    rude: Any, open_journal: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    rude.answer = lambda request: rude.Reply(status=status, raw=json.dumps({"error": {"message": f"bad key {KEY}"}}))
    opened = open_journal()
    with pytest.raises(TeacherFault) as caught:
        one(TeacherClient(made(rude, api_key_env="MY_KEY"), opened.journal, None))
    text = str(caught.value)
    assert f"HTTP {status}" in text and "'m'" in text and rude.base_url in text and "MY_KEY" in text and "\n" not in text
    assert len(rude.requests) == 1


def test_the_key_is_sent_to_the_endpoint_and_nowhere_else(
    rude: Any,
    open_journal: Callable[..., Any],
    no_waiting: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Also where a server repeats it in a reply, an error, a header or half an answer."""
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-another-service")
    for name in ("openai", "httpx2", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name)
    opened = open_journal()
    rude.script(
        rude.Reply(status=500, raw=f"your key {KEY} is odd"),
        rude.Reply(raw=f"<p>{KEY}</p>", content_type="text/html"),
        rude.Reply(f"I know your key: {KEY}"),
    )
    assert one(TeacherClient(made(rude, api_key_env="MY_KEY"), opened.journal, None)) == "I know your key: [key]"
    rude.answer = lambda request: rude.Reply(status=401, raw=json.dumps({"error": {"message": KEY, "code": KEY}}))
    with pytest.raises(TeacherFault) as caught:
        one(TeacherClient(made(rude, api_key_env="MY_KEY"), opened.journal, None), "1/a/9")
    assert [headers["authorization"] for headers in rude.headers] == [f"Bearer {KEY}"] * 4
    assert not any("openai-organization" in headers for headers in rude.headers)
    opened.store.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"I know your key: [key]" in stored
    said = [caplog.text, str(caught.value), *opened.told, *capfd.readouterr()]
    assert caplog.records and KEY not in "".join(said) and KEY.encode() not in stored


def test_the_key_comes_from_a_file_where_the_variable_is_not_set(rude: Any, journal: StoreJournal, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    one(TeacherClient(made(rude, api_key_env="NOT_SET", api_key_file=str(tmp_path / "key")), journal, None))
    assert rude.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("content", "said"), [("two words", "is not a key"), ("schlüssel", "is not a key"), (None, "cannot read api_key_file")]
)
def test_a_file_without_a_key_is_one_line_and_nothing_is_sent(
    rude: Any, journal: StoreJournal, tmp_path: Path, content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "key").write_text(content, "utf-8")
    with pytest.raises(TeacherFault, match=said) as caught:
        one(TeacherClient(made(rude, api_key_file=str(tmp_path / "key")), journal, None))
    assert content is None or content not in str(caught.value)
    assert not rude.requests and journal.calls()[0].unsent is Unsent.NO_KEY and said in faults(journal)[0]


def test_without_a_key_no_request_goes_to_another_machine(journal: StoreJournal) -> None:
    options = TeacherOptions()
    line = options_module.missing_key(options)
    assert line is not None and "DASHSCOPE_API_KEY" in line
    with pytest.raises(TeacherFault, match="set the variable DASHSCOPE_API_KEY"):
        one(TeacherClient(options, journal, None))
    assert options_module.missing_key(attrs.evolve(options, api_key_env="")) is None


def test_a_redirect_is_not_followed(rude: Any, journal: StoreJournal) -> None:
    rude.answer = lambda request: rude.Reply(status=307, headers={"Location": "http://127.0.0.1:9/elsewhere"})
    with pytest.raises(TeacherFault, match="HTTP 307"):
        one(TeacherClient(made(rude), journal, None))
    assert len(rude.requests) == 1
