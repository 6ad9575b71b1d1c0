"""How a run was launched: which launches are recognised, and which are refused in one line."""

from pathlib import Path

import pytest

from coevolve import UserError
from coevolve.plugins.trainers.grpo.launch import Launch, check_checkpoint, launch

VARIABLES = (
    "ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED", "ACCELERATE_DEEPSPEED_ZERO_STAGE", "FSDP_VERSION", "FSDP_OFFLOAD_PARAMS",
    "FSDP_ACTIVATION_CHECKPOINTING", "FSDP_STATE_DICT_TYPE", "FSDP_CPU_RAM_EFFICIENT_LOADING", "FSDP_AUTO_WRAP_POLICY",
)  # fmt: skip


@pytest.fixture(autouse=True)
def launcher(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment as it was before any launcher."""
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)
    return monkeypatch


def test_launches_are_recognised_by_their_variables(launcher: pytest.MonkeyPatch) -> None:
    assert launch("4bit", 2) is Launch.WHOLE
    launcher.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    launcher.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2")
    assert launch("4bit", 2) is Launch.ZERO
    launcher.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "3")
    assert launch("", 2) is Launch.ZERO3
    launcher.setenv("ACCELERATE_USE_DEEPSPEED", "false")
    launcher.setenv("ACCELERATE_USE_FSDP", "true")
    launcher.setenv("FSDP_VERSION", "2")
    assert launch("", 2) is Launch.FSDP2


@pytest.mark.parametrize(
    ("variables", "quantize", "processes", "words"),
    [
        ({"FSDP_VERSION": "1"}, "", 2, "--fsdp_version 2"),
        ({}, "", 1, "--num_processes 2"),
        ({}, "4bit", 2, "launch without FSDP2"),
        ({"FSDP_OFFLOAD_PARAMS": "true"}, "", 2, "--fsdp_offload_params true"),
        ({"FSDP_ACTIVATION_CHECKPOINTING": "True"}, "", 2, "--fsdp_activation_checkpointing true"),
    ],
)
def test_launches_that_cannot_be_trained_with_are_refused(
    variables: dict[str, str], quantize: str, processes: int, words: str, launcher: pytest.MonkeyPatch
) -> None:
    for name, value in ({"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2"} | variables).items():
        launcher.setenv(name, value)
    with pytest.raises(UserError, match=words):
        launch(quantize, processes)


def test_a_checkpoint_is_resumed_by_the_kind_of_launch_that_wrote_it(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "fsdp" / "pytorch_model_fsdp_0").mkdir(parents=True)
    (tmp_path / "zero" / "global_step2").mkdir(parents=True)
    readers = {"plain": {Launch.WHOLE}, "fsdp": {Launch.FSDP2}, "zero": {Launch.ZERO, Launch.ZERO3}}
    for name, able in readers.items():
        for now in Launch:
            if now in able:
                check_checkpoint(tmp_path / name, now)
            else:
                with pytest.raises(UserError, match="resume with the launch line"):
                    check_checkpoint(tmp_path / name, now)
