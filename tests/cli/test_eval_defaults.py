"""What an evaluation begins with, and what it says about it: no number of another environment's recipe, and how many answers were cut."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coevolve import hookimpl
from coevolve.core.cli import evaluate as evaluation
from coevolve.core.cli.main import main
from coevolve.core.registry import load_plugins
from coevolve.core.run.drive import start
from coevolve.core.settings.config import load_config

Read = pytest.CaptureFixture[str]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The configurations that are evaluated; the evaluation itself is not done."""
    seen: list[Any] = []

    class Ended(Exception):
        pass

    def run_eval(config: Any, registry: Any, **settings: Any) -> Any:
        seen.append(config)
        raise Ended

    def ended(arguments: list[str]) -> None:
        with pytest.raises(Ended):
            main(arguments)

    monkeypatch.setattr(evaluation, "run_eval", run_eval)
    monkeypatch.setattr(evaluation, "ended", ended, raising=False)
    return seen


def budget(asked: list[Any], *arguments: str) -> int:
    evaluation.ended(["eval", *arguments])  # type: ignore[attr-defined]  # set by the fixture
    return int(asked[-1].max_new_tokens)


BFCL = ("--env", "bfcl", "--policy", "scripted")


@pytest.mark.parametrize(
    ("arguments", "tokens"),
    [
        (BFCL, 1024),
        ((*BFCL, "--set", "environment.category=long_context"), 2048),
        ((*BFCL, "--set", "environment.category=all"), 2048),
        ((*BFCL, "--set", "max_new_tokens=77"), 77),
        (("--set", "environment.name=bfcl", "--policy", "scripted"), 1024),
        (("--env", "appworld", "--policy", "scripted"), 1024),
        (("--env", "desk", "--policy", "scripted"), 48),
        (("--policy", "scripted"), 48),
        (("--recipe", "bfcl-smoke", "--policy", "scripted"), 48),
        (("--recipe", "bfcl-smoke", "--env", "appworld", "--policy", "scripted"), 1024),
    ],
)
def test_an_evaluation_takes_no_budget_of_another_environment(asked: list[Any], arguments: tuple[str, ...], tokens: int) -> None:
    assert budget(asked, *arguments) == tokens


def test_neither_does_the_configuration_of_a_run_on_another_environment(asked: list[Any], capfd: Read, tmp_path: Path) -> None:
    assert main(["config"]) == 0
    (tmp_path / "desk.toml").write_text(capfd.readouterr().out)
    assert "max_new_tokens = 48" in (tmp_path / "desk.toml").read_text()
    file = ("--config", str(tmp_path / "desk.toml"), "--policy", "scripted")
    assert budget(asked, *file) == 48
    assert budget(asked, *file, "--env", "bfcl") == 1024
    assert budget(asked, *file, "--env", "bfcl", "--set", "max_new_tokens=99") == 99


def test_the_policy_of_another_environment_must_be_named(capfd: Read) -> None:
    assert main(["eval", "--env", "bfcl"]) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("coevolve: which policy is to be evaluated on bfcl?") and err.count("\n") == 1


def test_the_result_says_what_no_setting_said(capfd: Read) -> None:
    arguments = ["eval", *BFCL, "--tasks", "2"]
    assert main(arguments) == 0
    assert "assumed: answers of at most 1024 tokens, the default for bfcl; max_new_tokens changes it" in " ".join(
        capfd.readouterr().out.split()
    )
    assert main([*arguments, "--set", "max_new_tokens=600", "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["assumed"] == "" and told["sampling"]["max_new_tokens"] == 600
    assert told["provenance"]["split_seed"] == 0 and told["provenance"]["tasks"]["test"] == 80


def test_answers_cut_by_their_length_are_counted(capfd: Read, call: Callable[..., int]) -> None:
    arguments = ["eval", "--tasks", "4", "--samples", "2", "--mode", "sampled"]
    assert main([*arguments, "--set", "max_new_tokens=3", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["cut"] == 8
    assert main([*arguments, "--set", "max_new_tokens=3"]) == 0
    assert "8 of 8 rollouts on test (sampled) had an answer cut at 3 tokens" in " ".join(capfd.readouterr().out.split())
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["cut"] == 0
    assert call("eval", "--config", "fast.toml", "--tasks", "2", "--json") == 0
    assert json.loads(capfd.readouterr().out)["cut"] == 0, "a policy without tokens cannot tell"


def test_a_runs_evaluations_say_how_many_answers_were_cut(tmp_path: Path) -> None:
    said: list[str] = []

    class Listener:
        @hookimpl
        def coevolve_diagnosed(self, text: str) -> None:
            said.append(text)

    registry = load_plugins(block=["coevolve.plugins.reporters.*"], extra=[Listener()])
    small = ["steps=0", "max_new_tokens=3", "evaluation.final_tasks=3", 'evaluation.modes=["greedy"]', "synthesizer.name=none"]
    summary = start(load_config(registry, sets=[*small, "signals.names=[]", "validators.names=[]"]), registry, tmp_path / "run")
    assert "3 of 3 rollouts on test (greedy) had an answer cut at 3 tokens: see max_new_tokens" in said
    assert (summary["provenance"]["max_new_tokens"], summary["provenance"]["split"]) == (3, "test")
