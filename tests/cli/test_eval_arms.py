"""Several policies in one evaluation: all are checked before the first takes its time, and what is done is shown whatever becomes of the
rest; of several processes only the first one works."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coevolve import InfrastructureFault, UserError
from coevolve.core.cli import evaluate as evaluation

Call = Callable[..., int]
Read = pytest.CaptureFixture[str]
FAST = ("eval", "--config", "fast.toml", "--tasks", "4")


@pytest.fixture
def models(here: Path) -> list[str]:
    """Folders that the tabular policy takes."""
    for name in ("a", "b"):
        Path(name).mkdir()
        Path(name, "table.json").write_text("{}")
    return ["a", "b"]


def test_every_arm_is_checked_before_the_first_is_evaluated(call: Call, here: Path, capfd: Read, models: list[str]) -> None:
    assert call(*FAST, "--model", "a", "--model", "gone") == 2
    out, err = capfd.readouterr()
    assert out == "" and err == "coevolve: gone holds no table.json; name a folder that the tabular trainer saved\n"


def test_weights_are_checked_too(call: Call, here: Path, capfd: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad").mkdir()
    Path("bad", "config.json").write_text("{}")
    Path("bad", "model.safetensors").write_bytes(b"cut")
    monkeypatch.setattr(evaluation, "run_eval", lambda *_, **__: pytest.fail("nothing is evaluated yet"))
    good = "pkg:coevolve.environments.desk/policy"
    assert call("eval", "--model", good, "--model", "bad") == 2
    err = capfd.readouterr().err
    assert err.startswith("coevolve: bad/model.safetensors cannot be read") and err.count("\n") == 1


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """The policy in folder b fails while it is evaluated."""
    whole = evaluation.run_eval

    def run_eval(config: Any, registry: Any, **settings: Any) -> Any:
        if config.policy.options.model == "b":
            raise error
        return whole(config, registry, **settings)

    monkeypatch.setattr(evaluation, "run_eval", run_eval)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (InfrastructureFault("the endpoint is down"), 3, "the endpoint is down"),
        (UserError("no key"), 2, "no key"),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_what_is_done_is_shown(
    call: Call, capfd: Read, models: list[str], monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, text: str, as_json: bool
) -> None:
    failing(monkeypatch, error)
    assert call(*FAST, "--model", "a", "--model", "b", *(["--json"] if as_json else [])) == code
    out, err = capfd.readouterr()
    assert err == f"coevolve: {text}\n"
    if as_json:
        (row,) = json.loads(out)["evaluations"]
        assert row["model"] == "a" and row["tasks"] == 4
    else:
        assert "stockroom test, greedy: 4 tasks" in out and "avg@1" in out


def test_a_single_policy_that_fails_shows_nothing(call: Call, capfd: Read, models: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, InfrastructureFault("down"))
    assert call(*FAST, "--model", "b", "--json") == 3
    assert capfd.readouterr() == ("", "coevolve: down\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('policy = ["name"]', "must hold one table [[policy]]"),
        ("policy = [1]", "must hold one table [[policy]]"),
        ('[[policy]]\nname = "tabular"\nmodel = 2026-11-29', "arms.toml, policy 1: policy.model: expected text, found 2026-11-29"),
        ('[[policy]]\nname = "tabular"\n[policy.sub]\nx = 1', "arms.toml, policy 1: unknown key 'policy.sub'"),
        ('[[policy]]\nname = "tabular"\n[[policy]]\nname = "tabuar"', "arms.toml, policy 2: policy.name: unknown policy 'tabuar'"),
    ],
)
def test_a_bad_file_of_policies_is_named_with_the_policy(call: Call, here: Path, capfd: Read, text: str, words: str) -> None:
    Path("arms.toml").write_text(text)
    assert call(*FAST, "--from", "arms.toml") == 2
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("coevolve: arms.toml") and words in err and err.count("\n") == 1


def test_no_such_file_of_policies(call: Call, here: Path, capfd: Read) -> None:
    assert call(*FAST, "--from", "nope.toml") == 2
    assert capfd.readouterr().err == "coevolve: cannot read nope.toml: No such file or directory; name an existing TOML file\n"


@pytest.mark.parametrize("command", [FAST, ("run", "--config", "fast.toml", "--dry-run"), ("plan", "--config", "fast.toml"), ("recipes",)])
def test_what_is_no_run_the_first_process_does_alone(
    call: Call, here: Path, capfd: Read, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name, value in (("RANK", "1"), ("LOCAL_RANK", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29500")):
        monkeypatch.setenv(name, value)
    assert call(*command) == 0
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("RANK", "0")
    assert call(*command) == 0
    assert capfd.readouterr().out != ""
