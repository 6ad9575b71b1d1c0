import json
import re
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import UserError
from coevolve.core.cli import plan as planning
from coevolve.core.cli.main import main
from coevolve.core.cli.plan import Machine, Plan, plan, shape
from coevolve.core.cost import step
from coevolve.core.memory import BFLOAT16, Shape, Workload, estimate
from coevolve.core.registry import Registry, load_plugins
from coevolve.core.settings.config import load_config
from coevolve.plugins.policies import models

HERE = Machine("no GPU, main memory", 25 * 10**9)


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_plugins(only=["coevolve.*"])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Machine]:
    """The machine, which a test may exchange."""
    found = [HERE]
    monkeypatch.setattr(planning, "machine", lambda device: found[0])
    return found


@pytest.fixture
def unopened(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """BFCL without its data, whose tasks take seconds to read."""
    bfcl = registry.component("environment", "bfcl")
    monkeypatch.setattr(bfcl, "doctor", classmethod(lambda cls, thorough=True: ["no data"]))
    monkeypatch.setattr(bfcl, "tasks", lambda self, split: pytest.fail("it was opened"))


def made(registry: Registry, recipe: str, *sets: str) -> Plan:
    return plan(load_config(registry, recipe, sets=sets), registry)


def line(found: Plan, begin: str) -> str:
    (one,) = [text for text in found.lines if text.startswith(begin)]
    return one


def test_the_counts_of_the_default_run(registry: Registry, here: list[Machine]) -> None:
    found = made(registry, "desk")
    assert found.rollouts == 60 * 16 * 8
    assert line(found, "initial tasks") == "initial tasks: 64"
    # Two evaluations of 400 tasks and two of 200, greedy and sampled.
    assert line(found, "environment episodes").endswith(": 10,080 (evaluations: 2,400)")
    assert line(found, "evolutions").startswith(
        "evolutions: 5, at most 80 new tasks of 640 candidates; exploration by programmatic: at most 20,000"
    )
    assert line(found, "teacher calls") == "teacher calls: none (no part asks a teacher)"


def test_counts_follow_the_settings(registry: Registry, here: list[Machine]) -> None:
    found = made(registry, "desk", "steps=0", "evaluation.final_tasks=10")
    assert line(found, "environment episodes").endswith(": 20 (evaluations: 20)") and line(found, "evolutions: none")
    found = made(registry, "desk", "synthesizer.name=none", "evaluation.every=0", "evaluation.final_tasks=0")
    assert line(found, "evolutions: none") and "evaluations: 3,200" in line(found, "environment episodes")
    assert line(made(registry, "desk", "steps=20"), "evolutions").startswith("evolutions: 1,")
    tried = made(registry, "desk", 'validators.names=["execution","solvable"]', "validators.solvable.attempts=3")
    assert line(tried, "attempts by a policy") == "attempts by a policy at candidates: at most 1,920"


@pytest.mark.usefixtures("unopened")
def test_a_benchmark_without_its_data_is_planned_too(registry: Registry, here: list[Machine]) -> None:
    found = made(registry, "paper-bfcl-qwen3-4b")
    assert line(found, "environment bfcl") == "environment bfcl: no data"
    assert line(found, "environment episodes").endswith("(evaluations: all tasks of the split each time)")
    assert line(found, "initial tasks") == "initial tasks: 100"


@pytest.mark.usefixtures("unopened")
@pytest.mark.parametrize(
    ("recipe", "weights", "cache"),
    [
        ("paper-bfcl-qwen2.5-7b", 30.5, 240.5),
        ("paper-bfcl-qwen3-4b", 16.1, 618.5),
        ("paper-bfcl-qwen3-30b-a3b", 122.1, 412.3),
    ],
)
def test_the_memory_of_the_papers_runs(recipe: str, weights: float, cache: float, registry: Registry, here: list[Machine]) -> None:
    found = made(registry, recipe)
    memory = found.memory
    assert memory is not None
    assert (memory.rows, memory.context) == (256, 16_384)
    assert round(memory.weights / 1e9, 1) == round(memory.gradients / 1e9, 1) == round(memory.reference / 1e9, 1) == weights
    assert memory.optimiser == 2 * memory.weights
    assert round(memory.cache / 1e9, 1) == cache
    assert memory.needed == memory.sampling > memory.kept + memory.cache
    assert memory.update > memory.kept + memory.gradients + memory.activations, "micro-batches hold both"
    assert "an estimate" in line(found, "memory") and "fills the context" in line(found, "needed at once")
    assert line(found, "this machine").endswith("25.0 GB: not enough: it is less than that")
    here[0] = Machine("a large one", 2 * 10**12)
    assert "it may do" in line(made(registry, recipe), "this machine: a large one, 2000.0 GB")


@pytest.mark.usefixtures("unopened")
def test_what_the_memory_depends_on(registry: Registry, here: list[Machine]) -> None:
    def memory(*sets: str) -> Any:
        return made(registry, "paper-bfcl-qwen3-4b", *sets).memory

    plain = memory()
    assert memory("trainer.beta=0").reference == 0
    assert memory("policy.max_context=8192").cache * 2 == memory("rollouts=4").cache * 2 == memory("wave=128").cache * 2 == plain.cache
    assert memory("policy.max_context=0").context == 262_144
    assert memory("policy.dtype=float32").cache == 2 * plain.cache == memory("policy.dtype=auto").cache
    adapted = memory("trainer.lora_rank=8")
    adapters = adapted.gradients
    # q 2560 + 4096, k and v 2560 + 1024, o 4096 + 2560, gate and up 2560 + 9728, down the same: a row and a column for each of 8 ranks
    assert adapters == 4 * 36 * 8 * (2 * (2560 + 4096) + 2 * (2560 + 1024) + 3 * (2560 + 9728))
    assert (2 * (adapted.weights - adapters), adapted.optimiser, adapted.reference) == (plain.weights, 2 * adapters, 0)
    assert memory("trainer.lora_rank=8", 'trainer.quantize="4bit"').weights < 0.3 * adapted.weights + adapters
    assert memory("trainer.gradient_checkpointing=false").activations > 5 * plain.activations
    assert memory("trainer.micro_batch=8").activations > plain.activations
    here[0] = Machine("a GPU", 10**11)
    assert memory("policy.dtype=auto").cache == plain.cache


@pytest.mark.usefixtures("unopened")
def test_which_gpus_hold_a_run(registry: Registry, here: list[Machine]) -> None:
    small = made(registry, "desk").others
    assert all("RTX 4090 (24 GB)" in text for text in small)
    large = made(registry, "paper-bfcl-qwen3-4b").others
    assert large[0].startswith("one GPU, as set") and large[0].endswith("none of 24, 40, 48, 80, 141 GB")
    (lora,) = [text for text in large if text.startswith("one GPU, with these and lora_rank=16")]
    assert "H100 (80 GB)" in lora and "RTX 4090" not in lora
    assert len(large) == 4 + 7 and all(text.startswith("each of 8 GPUs") for text in large[4:])


@pytest.mark.usefixtures("unopened")
def test_what_holds_weights_that_no_gpu_holds_alone(registry: Registry, here: list[Machine]) -> None:
    found = plan(load_config(registry, "paper-bfcl-qwen3-30b-a3b"), registry, processes=16).others
    split = [text for text in found if text.startswith("each of 16 GPUs, weights split")]
    assert len(split) == 3 and "none" not in "".join(split)
    assert all("none" in text for text in found if "GPUs, as set" in text or "GPUs, with micro_batch" in text)


def test_what_splitting_the_weights_divides() -> None:
    """By hand: 1,000 weights, 4 layers of them and a head that is not tied to the embedding, 50 weights each."""
    found = Shape(1_000, 4, 1, 4, 99, hidden=5, heads=3, intermediate=1, vocabulary=10, tied=False)
    work = Workload(rows=8, at_once=2, prompts=1, context=8, micro_batch=2, compute=BFLOAT16, cpu=False)
    whole, parts = estimate(found, work), estimate(found, attrs.evolve(work, split=4))
    for part in ("weights", "gradients", "optimiser", "step"):
        assert getattr(whole, part) == 4 * getattr(parts, part) > 0
    assert (whole.reference, parts.reference) == (4_000, 2 * 1_000 / 4), "it is kept in the policy's dtype"
    layer = (1_000 - 100) / 4
    assert (whole.copy, whole.gathered) == (0, 0) and (parts.copy, parts.gathered) == (2_000, 2 * (2 * layer + 100) + 4 * layer)
    assert parts.sampling == parts.kept + 2_000 + parts.cache + max(parts.prefill, parts.drawing)
    busy = parts.gradients + parts.activations + max(parts.head, parts.backward) + parts.gathered
    assert parts.update == parts.kept + max(busy, parts.gradients + parts.step)


def test_what_an_iteration_costs() -> None:
    """By hand: 10 weights that act, 2 layers of 3 heads of size 4, 8 tokens in each of 2 rows of one prompt."""
    found = Shape(10, 2, 1, 4, 99, hidden=1, heads=3, intermediate=1, vocabulary=1)
    once = 2 * 10 + 4 * 2 * 12 * 8 / 2
    work = Workload(rows=2, at_once=2, prompts=1, context=8)
    cost = step(found, work)
    assert (cost.tokens, cost.written) == (16, 4)
    assert cost.training == 4 * once * 16 and cost.sampling == once * (16 * 1.25 / 2 + 8 * 0.75 / 2)
    assert step(found, attrs.evolve(work, reference=False, checkpointing=True)).training == 4 * once * 16
    assert step(found, attrs.evolve(work, reference=False)).training == 3 * once * 16


def test_the_plan_command(registry: Registry, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "desk", "--set", "wave=32"]) == 0
    out = capsys.readouterr().out
    assert "(32 rows x 512 tokens)" in out and "one GPU, as set" in out and "an iteration at most: 65,536 tokens" in out


def test_a_model_that_is_not_here_is_not_looked_at(registry: Registry, here: list[Machine]) -> None:
    found = made(registry, "desk", "policy.model=some/model")
    assert found.memory is None and line(found, "memory: not estimated")
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
def test_what_a_run_refuses_a_plan_refuses(registry: Registry, here: list[Machine], sets: list[str], words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)) as caught:
        made(registry, "desk", *sets)
    assert "\n" not in str(caught.value)


def test_a_plan_may_be_for_another_machine_a_run_is_on_this_one(registry: Registry, here: list[Machine]) -> None:
    config = load_config(registry, "desk", sets=['trainer.quantize="4bit"', "trainer.lora_rank=8", "policy.device=cpu"])
    assert plan(config, registry).memory is not None
    with pytest.raises(UserError, match="needs a GPU"):
        plan(config, registry, here=True)


@pytest.mark.parametrize("sets", [["trainer.micro_batch=7"], ['trainer.quantize="4bit"'], ['trainer.lora_targets=["q_proj"]']])
def test_numbers_that_do_not_fit_are_refused_for_a_model_elsewhere_too(registry: Registry, here: list[Machine], sets: list[str]) -> None:
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
def test_a_spoilt_model_folder_is_refused(
    registry: Registry, here: list[Machine], tmp_path: Path, spoil: dict[str, str], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        made(registry, "desk", f"policy.model={folder_of(tmp_path, **spoil)}")


def test_a_tokenizer_with_more_ids_than_the_model_is_refused(registry: Registry, here: list[Machine], tmp_path: Path) -> None:
    config = json.loads((desk_policy() / "config.json").read_text()) | {"vocab_size": 100}
    folder = folder_of(tmp_path, config__json=json.dumps(config))
    with pytest.raises(UserError, match=r"the tokenizer of model '.*' has ids up to \d+, the model only 100"):
        made(registry, "desk", f"policy.model={folder}")


def test_a_dry_run_looks_at_the_model_whatever_its_name(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_on_the_hub", lambda name: (_ for _ in ()).throw(UserError(f"{name} is nowhere")))
    assert main(["run", "--dry-run", "--set", "policy.model=some/model"]) == 2
    assert capfd.readouterr() == ("", "coevolve: some/model is nowhere\n")


def test_shapes_are_read_off_the_config_alone(tmp_path: Path) -> None:
    """The desk's policy has a file of weights to count; a copy of its config without them gives the same."""
    from safetensors import safe_open

    package = Path(planning.__file__).parents[2] / "environments" / "desk" / "policy"
    with safe_open(package / "model.safetensors", framework="np") as file:
        weights = sum(file.get_tensor(name).size for name in file.keys())  # noqa: SIM118 - it is no mapping
    config = (package / "config.json").read_text()
    (tmp_path / "config.json").write_text(config)
    asked = json.loads(config)
    names = {
        "layers": "num_hidden_layers", "kv_heads": "num_key_value_heads", "head_dim": "head_dim", "context": "max_position_embeddings",
        "hidden": "hidden_size", "heads": "num_attention_heads", "intermediate": "intermediate_size", "vocabulary": "vocab_size",
        "tied": "tie_word_embeddings",
    }  # fmt: skip
    expected = Shape(parameters=weights, **{field: asked[name] for field, name in names.items()})
    assert shape("pkg:coevolve.environments.desk/policy") == shape(str(tmp_path)) == expected


@pytest.mark.parametrize("name", ["", "no/such", "a b c", "pkg:no.such/x", "pkg:coevolve/nowhere", "no/such/thing/here"])
def test_an_unknown_model_has_no_shape(name: str) -> None:
    assert shape(name) is None


@pytest.mark.parametrize(("text", "known"), [("[1]", True), ("{", True), ('{"model_type": "nonsense"}', False)])
def test_a_config_that_is_none(text: str, known: bool, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    if known:
        assert shape(str(tmp_path)) is None
    else:
        with pytest.raises(UserError, match=r"cannot be read as a model's config"):
            shape(str(tmp_path))


@given(rows=st.integers(1, 512), context=st.integers(1, 10**5), size=st.sampled_from([2, 4]))
def test_the_cache_grows_with_rows_and_context(rows: int, context: int, size: int) -> None:
    """Keys and values of each layer and head, for each token of each row."""
    found = Shape(10, 3, 2, 5, 99)
    one = found.cache(1, 1, 1)
    assert one == 3 * 2 * 5 * 2
    assert found.cache(rows, context, size) == one * rows * context * size


def test_bad_settings_are_found_without_a_model(registry: Registry, here: list[Machine]) -> None:
    with pytest.raises(UserError, match=r"no split 'trian'"):
        made(registry, "desk", "train_split=trian")
    with pytest.raises(UserError, match=r"unknown policy 'nobody'"):
        made(registry, "desk", 'validators.names=["solvable"]', "validators.solvable.policy=nobody")
    with pytest.raises(UserError, match="schedule"):
        made(registry, "desk", "trainer.schedule=zigzag")


def test_the_machines_memory_is_read() -> None:
    found = planning.machine("cpu")
    assert found.name == "no GPU, main memory" and found.memory > 10**8
