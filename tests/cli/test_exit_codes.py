"""What stops a run: a fault (3), the user (130), a defect of ours (traceback)."""

import errno
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coevolve import CoevolveError, InfrastructureFault, TooManyFaults, UserError

Call = Callable[..., int]
RUN = ("run", "--config", "fast.toml", "--out", "mine")


def raising(error: BaseException) -> Callable[..., Any]:
    def function(*_: Any, **__: Any) -> None:
        raise error

    return function


@pytest.mark.parametrize("error", [TooManyFaults("9 of 16 rollouts failed"), InfrastructureFault("9 of 16 rollouts failed")])
def test_a_fault_names_the_command_that_goes_on(
    error: CoevolveError, call: Call, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coevolve.core.run.drive.drive", raising(error))
    assert call(*RUN) == 3
    assert capfd.readouterr().err == "coevolve: 9 of 16 rollouts failed; go on with: coevolve resume mine\n"


def test_a_fault_that_a_setting_cures_names_the_setting(
    call: Call, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coevolve.core.run.drive.drive", raising(CoevolveError("no room", change="policy.max_context=LARGER")))
    assert call(*RUN) == 3
    assert capfd.readouterr().err == "coevolve: no room; go on with: coevolve resume mine --set policy.max_context=LARGER\n"


def test_the_same_while_resuming(call: Call, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(*RUN, "--steps", "1") == 0
    monkeypatch.setattr("coevolve.core.run.drive.resume_from", raising(TooManyFaults("9 of 16")))
    capfd.readouterr()
    assert call("resume", "mine") == 3
    assert capfd.readouterr().err == "coevolve: 9 of 16; go on with: coevolve resume mine\n"


def test_an_interrupt_names_the_command_that_goes_on(
    call: Call, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coevolve.core.run.drive.drive", raising(KeyboardInterrupt()))
    assert call(*RUN) == 130
    assert capfd.readouterr().err == "coevolve: stopped; go on with: coevolve resume mine\n"


def test_an_interrupted_run_can_be_resumed(
    call: Call, here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("coevolve.testing.TabularTrainer._update", raising(KeyboardInterrupt()))
        assert call(*RUN) == 130
    assert capfd.readouterr().err.endswith("stopped; go on with: coevolve resume mine\n")
    assert call("resume", "mine") == 0
    assert (here / "mine" / "summary.json").is_file()


def test_a_scheduler_that_ends_the_run_leaves_the_line_that_goes_on(
    call: Call, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def ended(*_: Any, **__: Any) -> None:
        signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr("coevolve.testing.TabularTrainer._update", ended)
        assert call(*RUN) == 143
    assert capfd.readouterr().err.endswith("stopped; go on with: coevolve resume mine\n")
    assert signal.getsignal(signal.SIGTERM) is before
    assert call("resume", "mine") == 0


def test_a_fault_outside_of_a_run(call: Call, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coevolve.core.cli.evaluate.run_eval", raising(InfrastructureFault("the service is down")))
    assert call("eval", "--config", "fast.toml") == 3
    assert capfd.readouterr().err == "coevolve: the service is down\n"


def test_an_interrupt_outside_of_a_run(call: Call, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coevolve.core.cli.evaluate.run_eval", raising(KeyboardInterrupt()))
    assert call("eval", "--config", "fast.toml") == 130
    assert capfd.readouterr().err == "coevolve: stopped\n"


def test_a_user_error_in_a_run_is_no_fault(call: Call, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coevolve.core.run.drive.start", raising(UserError("first line\nand second; do this")))
    assert call(*RUN) == 2
    assert capfd.readouterr().err == "coevolve: first line and second; do this\n"


@pytest.mark.parametrize("error", [ZeroDivisionError("ours"), KeyError("x"), OSError(errno.EIO, "ours")])
def test_a_defect_keeps_its_traceback(error: Exception, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coevolve.core.run.drive.start", raising(error))
    with pytest.raises(type(error)) as caught:
        call(*RUN)
    assert caught.value is error


def test_what_stops_before_anything_is_written_names_no_run_to_go_on_with(
    call: Call, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coevolve.core.run.drive.build", raising(InfrastructureFault("the service is down")))
    assert call(*RUN) == 3
    monkeypatch.setattr("coevolve.core.run.drive.build", raising(KeyboardInterrupt()))
    assert call(*RUN) == 130
    assert capfd.readouterr().err == "coevolve: the service is down\ncoevolve: stopped\n"


def test_of_several_processes_on_a_machine_one_says_what_the_user_can_mend(
    call: Call, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("WORLD_SIZE", "2"), ("RANK", "1"), ("LOCAL_RANK", "1"), ("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))):
        monkeypatch.setenv(name, value)
    assert call(*RUN, "--set", "stpes=3") == 2
    assert capfd.readouterr() == ("", "")
    line = "coevolve: --set: unknown key 'stpes' (did you mean 'steps'?)"
    assert json.loads((tmp_path / "error.json").read_text())["message"]["message"] == line, "what torchrun shows at its end"
    monkeypatch.setenv("LOCAL_RANK", "0")  # the first on another machine, whose files may be others
    assert call(*RUN, "--set", "stpes=3") == 2
    assert capfd.readouterr().err == f"{line}\n"


@pytest.mark.parametrize(
    "variables", [{"WORLD_SIZE": "2"}, {"WORLD_SIZE": "2", "RANK": "1"}, {"WORLD_SIZE": "auto"}, {"LOCAL_RANK": "0"}], ids=str
)
def test_variables_of_no_launcher_stop_a_run_at_once_and_nothing_else(
    call: Call, here: Path, variables: dict[str, str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert call(*RUN, "--out", "made") == 0
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    capfd.readouterr()
    for command in ([*RUN, "--out", "other"], [*RUN, "--out", "other", "--dry-run"], ["resume", "made", "--set", "steps=9"]):
        assert call(*command) == 2
        err = capfd.readouterr().err
        assert err.startswith("coevolve: ") and err.count("\n") == 1 and "unset" in err
    assert not (here / "other").exists()
    assert call("show", "made") == 0 and "success" in capfd.readouterr().out
    assert call("recipes") == 0 and "desk" in capfd.readouterr().out
