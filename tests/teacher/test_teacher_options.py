"""The teacher's options: the errors of refused values, and the estimate of a dry run."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve.endpoint import is_local, read_budget, tokens_of, waiting
from coevolve.synthesizers.teacher.options import TeacherOptions, call_cap, estimate


@pytest.mark.parametrize("text", ["200", "calls", "-1calls", "1e999calls", "5 dollars", "1,000calls", "nancalls", "infcost", "١calls" * 2])
def test_an_invalid_budget_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="200calls, 1e6tokens or 5cost"):
        TeacherOptions(budget=text)


@pytest.mark.parametrize(
    ("text", "read"),
    [("", None), ("200calls", (200, "calls")), ("1e6 tokens", (1e6, "tokens")), ("2.5COST", (2.5, "cost")), ("0calls", (0, "calls"))],
)
def test_budgets(text: str, read: Any) -> None:
    assert read_budget(text) == read


@pytest.mark.parametrize("text", ["5cost", "5COST", "5Cost", "5cost ", " 5 cost", "5e-1cost"])
def test_a_budget_in_money_needs_prices(text: str) -> None:
    with pytest.raises(ValueError, match="must be in calls or tokens where input_price and output_price are 0"):
        TeacherOptions(budget=text)
    TeacherOptions(budget=text, output_price=1.0)


def test_the_cap_in_calls() -> None:
    assert [call_cap(TeacherOptions(budget=text)) for text in ("", "7calls", "7tokens")] == [None, 7, None]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com/v1",
        "ftp://x/v1",
        "http://",
        "http://x:port/v1",
        "https://me:secret@x/v1",
        "https://x/v1?key=secret",
        "http://[x/v1",
    ],
)
def test_an_invalid_address_or_one_with_a_secret_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="base_url") as caught:
        TeacherOptions(base_url=url)
    assert "secret" not in str(caught.value)


def test_a_key_in_the_place_of_its_variable_is_refused_without_repeating_it() -> None:
    with pytest.raises(ValueError, match="never the key itself") as caught:
        TeacherOptions(api_key_env="sk-1234567890")
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:8/v1", True),
        ("https://x.org/v1", False),
        ("http://10.0.0.1/v1", False),
    ],
)
def test_addresses_on_this_machine(url: str, local: bool) -> None:
    assert is_local(url) is local


def test_the_estimate_counts_requests_tokens_and_cost() -> None:
    options = TeacherOptions(
        explorations=2, rounds=1, steps=3, reasks=1, context_chars=6000, max_tokens=100, input_price=1.0, output_price=10.0, repair=False
    )
    text = estimate(options, 3)
    assert text.startswith(
        "at most 60 calls, 132,000 tokens, cost 0.24 (30 requests,"
    )  # 3 * 2 * (2 + 3) * (1 + 1) calls of 1000 + 200 tokens


def test_the_defaults_cost_what_the_page_says() -> None:
    assert "(144 requests," in estimate(TeacherOptions(), 1)


@pytest.mark.parametrize(("repair", "repairs", "calls"), [(True, 0, 60), (True, 1, 78), (True, 3, 114), (False, 3, 60)])
def test_the_estimate_counts_a_call_for_each_repair_that_the_setting_allows(repair: bool, repairs: int, calls: int) -> None:
    options = TeacherOptions(explorations=2, rounds=1, steps=3, reasks=1, candidates=3, repair=repair)
    assert estimate(options, 3, repairs=repairs).startswith(f"at most {calls} calls")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"budget": "7calls"}, "at most 7 calls"),
        ({"budget": "900tokens"}, " 900 tokens"),
        ({"budget": "2cost", "input_price": 9.0}, "cost 2.00"),
        ({"calls_per_evolution": 5}, "at most 10 calls"),
        ({}, "cost unknown"),
        ({"provider": "policy"}, "of the policy in training"),
    ],
)
def test_the_estimate_respects_the_caps(settings: dict[str, Any], said: str) -> None:
    assert said in estimate(TeacherOptions(**settings), 2)


@given(st.text())
def test_tokens_are_estimated_for_any_text(text: str) -> None:
    assert len(text) / 3 <= tokens_of(text) <= len(text) * 4 / 3 + 1


@given(st.text(max_size=20))
def test_any_retry_after_is_read_within_bounds(text: str) -> None:
    found = waiting.retry_after({"retry-after": text})
    assert found is None or 0.0 <= found <= waiting.LONGEST_ASKED


def test_retry_after_as_a_date() -> None:
    when = datetime.now(UTC) + timedelta(seconds=100)
    assert 90 < (waiting.retry_after({"retry-after": format_datetime(when, usegmt=True)}) or 0) <= 100


@given(st.integers(0, 10_000))
def test_growing_waits_are_bounded(failures: int) -> None:
    assert 0.5 <= waiting.growing(failures) <= waiting.LONGEST


def test_listing_plugins_imports_no_teacher_library() -> None:
    code = (
        "import contextlib, io, json, sys\nfrom coevolve.core.cli.main import main\nout = io.StringIO()\n"
        "with contextlib.redirect_stdout(out):\n    code = main(['plugins'])\n"
        "names = ('openai', 'httpx2', 'jsonschema')\n"
        "print(json.dumps([code, 'coevolve.synthesizers.teacher' in sys.modules, [n for n in names if n in sys.modules]]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [0, True, []]
