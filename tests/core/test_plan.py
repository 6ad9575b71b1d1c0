"""A plan counts what a run would take, refuses what a run would refuse, and asks the components for their estimates."""

import json
import re
import shutil
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest

from coevolve import PlannedRun, UserError, hookimpl
from coevolve.core.cli.main import main
from coevolve.core.cli.plan import plan
from coevolve.core.registry import Registry, load_plugins
from coevolve.core.settings.config import load_config
from coevolve.plugins.policies import models
from coevolve.testing import Stockroom, TabularPolicy, TabularTrainer


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_plugins(only=["coevolve.*"])


@pytest.fixture
def unopened(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """BFCL without its data, whose tasks take seconds to read."""
    bfcl = registry.component("environment", "bfcl")
    monkeypatch.setattr(bfcl, "doctor", classmethod(lambda cls, thorough=True: ["no data"]))
    monkeypatch.setattr(bfcl, "tasks", lambda self, split: pytest.fail("it was opened"))


def made(registry: Registry, recipe: str, *sets: str) -> list[str]:
    return plan(load_config(registry, recipe, sets=sets), registry)


def line(found: list[str], begin: str) -> str:
    (one,) = [text for text in found if text.startswith(begin)]
    return one


def test_the_counts_of_the_default_run(registry: Registry) -> None:
    found = made(registry, "desk")
    assert line(found, "rollouts") == "rollouts: 7,680 (60 iterations x 16 tasks x K 8)"
    assert line(found, "initial tasks") == "initial tasks: 64"
    # Two evaluations of 400 tasks and two of 200, greedy and sampled; two attempts at 640 candidates, and at as many repaired ones.
    told = "environment episodes of rollouts, evaluations and attempts at the door: 10,080 to 12,640 (evaluations: 2,400)"
    assert line(found, "environment episodes") == told
    assert line(found, "evolutions") == "evolutions: 5, at most 80 new tasks of 640 candidates"
    explored = "exploration by programmatic: at most 20,000 environment calls, and 300 for each repair of a refused candidate"
    assert line(found, "exploration") == explored
    assert line(found, "teacher calls") == "teacher calls: none (no part asks a teacher)"


def test_a_refill_makes_the_counts_ranges(registry: Registry) -> None:
    found = made(registry, "desk", "refill=2")
    told = "rollouts: 7,680 to 23,040 (60 iterations x 16 tasks x K 8, and at most 2 times as many to refill batches)"
    assert line(found, "rollouts") == told
    assert line(found, "environment episodes").endswith(": 10,080 to 28,000 (evaluations: 2,400)")


def test_counts_follow_the_settings(registry: Registry) -> None:
    found = made(registry, "desk", "steps=0", "evaluation.final_tasks=10")
    assert line(found, "environment episodes").endswith(": 20 (evaluations: 20)") and line(found, "evolutions: none")
    found = made(registry, "desk", "synthesizer.name=none", "evaluation.every=0", "evaluation.final_tasks=0")
    assert line(found, "evolutions: none") and "evaluations: 3,200" in line(found, "environment episodes")
    assert line(made(registry, "desk", "steps=20"), "evolutions").startswith("evolutions: 1,")
    tried = made(registry, "desk", 'validators.names=["execution","blind_solve"]', "validators.blind_solve.attempts=3", "repairs=0")
    assert "at most 1,920 " in line(tried, "attempts at the door")
    tried = made(registry, "desk", 'validators.names=["execution","frontier"]', "validators.frontier.attempts=3", "repairs=0")
    assert "at most 1,920 " in line(tried, "attempts at the door")


def test_attempts_are_counted_once_where_validators_share_them(registry: Registry) -> None:
    both = ('validators.names=["frontier","blind_solve"]', "validators.frontier.attempts=4", "repairs=0", "evaluation.every=0")
    found = made(registry, "desk", *both, "validators.blind_solve.attempts=3")
    assert "at most 2,560 " in line(found, "attempts at the door")
    least, most = 7_680 + 1_600, 7_680 + 1_600 + 2_560
    assert f": {least:,} to {most:,} (" in line(found, "environment episodes")
    found = made(registry, "desk", *both, "validators.blind_solve.temperature=0.5")
    assert "at most 4,480 " in line(found, "attempts at the door"), "at another temperature they are others"
    found = made(registry, "desk", *both, "validators.blind_solve.policy=scripted", "validators.blind_solve.attempts=3")
    assert "at most 2,560 " in line(found, "attempts at the door")
    assert line(found, "attempts by a policy") == "attempts by a policy at candidates: at most 1,920"
    assert f" to {most + 1_920:,} (" in line(found, "environment episodes")
    found = made(registry, "desk", *both, "synthesizer.name=none")
    assert line(found, "environment episodes of rollouts and evaluations") and not [text for text in found if "attempts at" in text]


@pytest.mark.usefixtures("unopened")
def test_a_benchmark_without_its_data_is_planned_too(registry: Registry) -> None:
    found = made(registry, "paper-bfcl-qwen3-4b")
    assert line(found, "environment bfcl") == "environment bfcl: no data"
    assert line(found, "environment episodes").endswith("(evaluations: all tasks of the split each time)")
    assert line(found, "initial tasks") == "initial tasks: 100, made in the worlds of 100"


def test_the_plan_command(registry: Registry, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "desk", "--set", "max_concurrent_rollouts=32"]) == 0
    out = capsys.readouterr().out
    assert "(32 rows x 512 tokens)" in out and "one GPU, as set" in out and "an iteration at most: 65,536 tokens" in out


def test_a_model_that_is_not_here_is_not_looked_at(registry: Registry) -> None:
    found = made(registry, "desk", "policy.model=some/model")
    assert line(found, "memory: not estimated")
    assert line(found, "model some/model").endswith("not on this machine, so its files were not looked at")


def folder_of(tmp_path: Path, *, without: str = "", **texts: str) -> Path:
    """A copy of the desk's model with some files spoilt."""
    folder = tmp_path / "model"
    shutil.copytree(desk_policy(), folder)
    if without:
        (folder / without).unlink()
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def desk_policy() -> Path:
    return Path(str(files("coevolve.environments.desk"))) / "policy"


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (["trainer.micro_batch=7"], "trainer.micro_batch 7 does not divide the 128 rows"),
        (['trainer.quantize="4bit"'], "set trainer.lora_rank, such as 16"),
        (["trainer.lora_rank=100000"], "trainer.lora_rank is 100000, above the model's width"),
        (["trainer.lora_rank=2", 'trainer.lora_targets=["nope"]'], r"trainer.lora_targets ['nope'] do not fit the model"),
        (["trainer.lora_rank=2", 'trainer.lora_targets=["norm"]'], r"trainer.lora_targets ['norm'] do not fit the model"),
        (["trainer.lora_rank=2", 'trainer.lora_targets=["lm_head"]'], "trainer.lora_targets names 'lm_head', the model's head"),
        (['trainer.lora_targets=["q_proj"]'], "trainer.lora_rank is 0"),
        (["policy.name=openai"], "policy 'openai' cannot be trained"),
        (["policy.name=scripted"], "policy 'scripted' cannot be trained"),
        (["policy.model=/nope"], "there is no model folder '/nope'"),
        (["policy.device=foo"], "policy.device 'foo' cannot be used"),
    ],
)
def test_what_a_run_refuses_a_plan_refuses(registry: Registry, sets: list[str], words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)) as caught:
        made(registry, "desk", *sets)
    assert "\n" not in str(caught.value)


def test_a_plan_may_be_for_another_machine_a_run_is_on_this_one(registry: Registry) -> None:
    config = load_config(registry, "desk", sets=['trainer.quantize="4bit"', "trainer.lora_rank=8", "policy.device=cpu"])
    assert line(plan(config, registry), "needed at once")
    with pytest.raises(UserError, match="needs a GPU"):
        plan(config, registry, here=True)


@pytest.mark.parametrize("sets", [["trainer.micro_batch=7"], ['trainer.quantize="4bit"'], ['trainer.lora_targets=["q_proj"]']])
def test_numbers_that_do_not_fit_are_refused_for_a_model_elsewhere_too(registry: Registry, sets: list[str]) -> None:
    with pytest.raises(UserError):
        made(registry, "desk", "policy.model=some/model", *sets)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ({"without": "model.safetensors"}, r"holds no \*\.safetensors"),
        ({"model__safetensors": ""}, r"model\.safetensors cannot be read"),
        ({"model__safetensors": "cut"}, r"model\.safetensors cannot be read"),
        ({"tokenizer__json": "{"}, r"model '.*' cannot be read"),
        ({"config__json": "{}"}, r"cannot be read"),
    ],
)
def test_a_spoilt_model_folder_is_refused(registry: Registry, tmp_path: Path, spoil: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        made(registry, "desk", f"policy.model={folder_of(tmp_path, **spoil)}")


def test_a_tokenizer_with_more_ids_than_the_model_is_refused(registry: Registry, tmp_path: Path) -> None:
    config = json.loads((desk_policy() / "config.json").read_text()) | {"vocab_size": 100}
    folder = folder_of(tmp_path, config__json=json.dumps(config))
    with pytest.raises(UserError, match=r"the tokenizer of model '.*' has ids up to \d+, but the model has only 100 embeddings"):
        made(registry, "desk", f"policy.model={folder}")


def test_a_dry_run_looks_at_the_model_whatever_its_name(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_on_the_hub", lambda name: (_ for _ in ()).throw(UserError(f"{name} is nowhere")))
    assert main(["run", "--dry-run", "--set", "policy.model=some/model"]) == 2
    assert capfd.readouterr() == ("", "coevolve: some/model is nowhere\n")


def test_bad_settings_are_found_without_a_model(registry: Registry) -> None:
    with pytest.raises(UserError, match=r"no split 'trian'"):
        made(registry, "desk", "train_split=trian")
    with pytest.raises(UserError, match=r"unknown policy 'nobody'"):
        made(registry, "desk", 'validators.names=["blind_solve"]', "validators.blind_solve.policy=nobody")
    with pytest.raises(UserError, match="schedule"):
        made(registry, "desk", "trainer.schedule=zigzag")


class Thrifty(TabularTrainer):
    """A trainer that estimates."""

    def estimate(self, plan: PlannedRun) -> Sequence[str]:
        return [f"{plan.steps} x {plan.batch} x {plan.rollouts} for {plan.policy.name}, {plan.evolutions} x {plan.wanted}, {plan.here}"]


class Plugin:
    @hookimpl
    def coevolve_trainers(self) -> list[type]:
        return [Thrifty]

    @hookimpl
    def coevolve_policies(self) -> list[type]:
        return [TabularPolicy]

    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return [Stockroom]


def test_a_trainer_estimates_the_planned_run() -> None:
    registry = load_plugins(block=["coevolve.plugins.trainers.grpo"], extra=[Plugin()])
    sets = ["trainer.name=tabular", "policy.name=tabular", "environment.name=stockroom", "steps=21"]
    config = load_config(registry, "desk", sets=sets)
    assert line(plan(config, registry), "21 x") == "21 x 16 x 8 for tabular, 2 x 16, False"
    assert line(plan(config, registry, here=True), "21 x").endswith("True")
