"""How a run was launched: which launches are recognised, and which are refused in one line."""

from pathlib import Path

import pytest

from coevolve import UserError
from coevolve.plugins.trainers.grpo.launch import FOREIGN, UNUSED, Launch, check_checkpoint, check_variables, launch

VARIABLES = (
    "ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED", "ACCELERATE_DEEPSPEED_ZERO_STAGE", "FSDP_VERSION", "FSDP_OFFLOAD_PARAMS",
    "FSDP_ACTIVATION_CHECKPOINTING", "FSDP_STATE_DICT_TYPE", "FSDP_CPU_RAM_EFFICIENT_LOADING", "FSDP_AUTO_WRAP_POLICY",
    "ACCELERATE_MIXED_PRECISION", "ACCELERATE_DYNAMO_BACKEND", "ACCELERATE_TORCH_DEVICE", *FOREIGN, *UNUSED,
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


@pytest.mark.parametrize("variable", FOREIGN)
def test_a_count_of_processes_by_another_launcher_is_refused(variable: str, launcher: pytest.MonkeyPatch) -> None:
    for harmless in ("", "0", "1"):
        launcher.setenv(variable, harmless)
        assert launch("", 1) is Launch.WHOLE
    for count in ("2", "auto"):
        launcher.setenv(variable, count)
        with pytest.raises(UserError, match=f"{variable} is {count}.*unset it"):
            launch("", 1)
        assert launch("", 2) is Launch.WHOLE, "a launcher of ours told its own count"


@pytest.mark.parametrize(
    ("half", "variable", "value", "words"),
    [
        (False, "ACCELERATE_MIXED_PRECISION", "bf16", 'set policy.dtype="bfloat16"'),
        (False, "ACCELERATE_MIXED_PRECISION", "fp16", "--mixed_precision no"),
        (True, "ACCELERATE_MIXED_PRECISION", "fp8", "--mixed_precision bf16"),
        (False, "ACCELERATE_DYNAMO_BACKEND", "inductor", "does not compile"),
        (False, "ACCELERATE_TORCH_DEVICE", "cuda:1", "the policy is on cpu"),
        *((False, variable, "true", variable) for variable in UNUSED),
    ],
)
def test_variables_that_would_change_what_is_computed_are_refused(
    half: bool, variable: str, value: str, words: str, launcher: pytest.MonkeyPatch
) -> None:
    for harmless in ({}, {"ACCELERATE_MIXED_PRECISION": "no", "ACCELERATE_DYNAMO_BACKEND": "no", "ACCELERATE_TORCH_DEVICE": "cpu"}):
        for name, found in harmless.items():
            launcher.setenv(name, found)
        check_variables("cpu", half)
    launcher.setenv("ACCELERATE_MIXED_PRECISION", "bf16" if half else "no")
    check_variables("cpu", half)
    launcher.setenv(variable, value)
    with pytest.raises(UserError) as caught:
        check_variables("cpu", half)
    assert words in str(caught.value) and "\n" not in str(caught.value)
