"""The estimate of trainer "grpo": memory by part, the cost of an iteration, the shapes of models."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import PlannedRun, UserError
from coevolve.core.cli.plan import plan
from coevolve.core.registry import Registry, load_plugins
from coevolve.core.settings.config import load_config, recipes
from coevolve.plugins.policies.models import config_file
from coevolve.plugins.trainers.grpo import resource_estimate
from coevolve.plugins.trainers.grpo.gpu_memory import BFLOAT16, Memory, Workload, estimate
from coevolve.plugins.trainers.grpo.model_shapes import Shape, shape_of
from coevolve.plugins.trainers.grpo.resource_estimate import Machine, machine, workload
from coevolve.plugins.trainers.grpo.step_cost import step

QWEN = "Qwen/Qwen3-4B-Instruct-2507"
HERE = Machine("no GPU, main memory", 25 * 10**9)


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_plugins(only=["coevolve.*"])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Machine]:
    """The machine, which a test may exchange."""
    found = [HERE]
    monkeypatch.setattr(resource_estimate, "machine", lambda device: found[0])
    return found


@pytest.fixture
def unopened(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """BFCL without its data, whose tasks take seconds to read."""
    bfcl = registry.component("environment", "bfcl")
    monkeypatch.setattr(bfcl, "doctor", classmethod(lambda cls, thorough=True: ["no data"]))
    monkeypatch.setattr(bfcl, "tasks", lambda self, split: pytest.fail("it was opened"))


WHOLE = (
    "policy.name=transformers",
    'policy.dtype="bfloat16"',
    "policy.max_context=16384",
    "trainer.micro_batch=4",
    "max_concurrent_rollouts=0",
)
"""All rollouts at once, sampled from the live model: what no GPU holds."""


def made(registry: Registry, recipe: str, *sets: str, processes: int = 8) -> list[str]:
    return plan(load_config(registry, recipe, sets=sets), registry, processes)


def gpus(registry: Registry, recipe: str, *sets: str, processes: int = 8) -> list[str]:
    """The lines on what holds the run."""
    return [text for text in made(registry, recipe, *sets, processes=processes) if text.startswith(("one GPU", "each of"))]


def memory_of(registry: Registry, recipe: str, *sets: str, here: Machine = HERE) -> Memory:
    config = load_config(registry, recipe, sets=sets)
    policy = registry.make("policy", config.policy)
    planned = PlannedRun(config.steps, config.batch, config.rollouts, config.max_concurrent_rollouts, 0, 0, 0, policy)
    shape = shape_of(policy.model_settings.model, policy.config_file())
    assert shape is not None
    return estimate(shape, workload(config.trainer.options, planned, shape, here))


def line(found: list[str], begin: str) -> str:
    (one,) = [text for text in found if text.startswith(begin)]
    return one


@pytest.mark.usefixtures("unopened")
@pytest.mark.parametrize(
    ("recipe", "model", "weights", "cache"),
    [
        ("paper-bfcl-qwen2.5-7b", "Qwen/Qwen2.5-7B-Instruct", 30.5, 240.5),
        ("paper-bfcl-qwen3-4b", "Qwen/Qwen3-4B-Instruct-2507", 16.1, 618.5),
        ("paper-bfcl-qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B-Instruct-2507", 122.1, 412.3),
    ],
)
def test_the_memory_of_the_papers_models(
    recipe: str, model: str, weights: float, cache: float, registry: Registry, here: list[Machine]
) -> None:
    whole = (*WHOLE, f"policy.model={model}")
    found = made(registry, recipe, *whole)
    memory = memory_of(registry, recipe, *whole)
    assert (memory.rows, memory.context) == (256, 16_384)
    assert round(memory.weights / 1e9, 1) == round(memory.gradients / 1e9, 1) == round(memory.reference / 1e9, 1) == weights
    assert memory.optimiser == 2 * memory.weights
    assert round(memory.cache / 1e9, 1) == cache
    assert memory.needed == memory.sampling > memory.kept + memory.cache
    assert memory.update > memory.kept + memory.gradients + memory.activations, "micro-batches hold both"
    assert "an estimate" in line(found, "memory") and "fills the context" in line(found, "needed at once")
    assert line(found, "this machine").endswith("25.0 GB: not enough: it is less than that")
    here[0] = Machine("a large one", 2 * 10**12)
    assert "it may be enough" in line(made(registry, recipe, *whole), "this machine: a large one, 2000.0 GB")


@pytest.mark.usefixtures("unopened")
def test_what_the_memory_depends_on(registry: Registry, here: list[Machine]) -> None:
    def memory(*sets: str) -> Any:
        return memory_of(registry, "paper-bfcl-qwen3-4b", *WHOLE, f"policy.model={QWEN}", *sets, here=here[0])

    plain = memory()
    assert memory("trainer.beta=0").reference == 0
    assert (
        memory("policy.max_context=8192").cache * 2
        == memory("rollouts=4").cache * 2
        == memory("max_concurrent_rollouts=128").cache * 2
        == plain.cache
    )
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
    small = gpus(registry, "desk")
    assert all("RTX 4090 (24 GB)" in text for text in small)
    large = gpus(registry, "paper-bfcl-qwen3-4b", *WHOLE, f"policy.model={QWEN}")
    assert large[0].startswith("one GPU, as set") and large[0].endswith("none of 24, 40, 48, 80, 141 GB")
    (lora,) = [text for text in large if text.startswith("one GPU, with these and lora_rank=16")]
    assert "H100 (80 GB)" in lora and "RTX 4090" not in lora
    assert len(large) == 4 + 8 and all(text.startswith("each of 8 GPUs") for text in large[4:])


@pytest.mark.usefixtures("unopened")
def test_what_holds_weights_that_no_gpu_holds_alone(registry: Registry, here: list[Machine]) -> None:
    found = gpus(registry, "paper-bfcl-qwen3-30b-a3b", processes=16)
    split = [text for text in found if text.startswith("each of 16 GPUs, weights sharded")]
    assert len(split) == 4 and "none" not in "".join(split)
    assert all("none" in text for text in found if "GPUs, as set" in text or "GPUs, with micro_batch" in text)


@pytest.mark.usefixtures("unopened")
@pytest.mark.parametrize(
    ("model", "on", "gpu"),
    [
        ("qwen3-4b", "one GPU, as set", "H200 (141 GB)"),
        ("qwen2.5-7b", "each of 8 GPUs, weights sharded, as set", "H100 (80 GB)"),
        ("qwen3-30b-a3b", "each of 8 GPUs, weights sharded, as set", "H200 (141 GB)"),
    ],
)
@pytest.mark.parametrize("benchmark", ["bfcl", "appworld"])
def test_a_papers_recipe_fits_the_gpu_that_it_names(
    benchmark: str, model: str, on: str, gpu: str, registry: Registry, here: list[Machine]
) -> None:
    recipe = f"paper-{benchmark}-{model}"
    assert gpu in line(gpus(registry, recipe), on)
    count, name = ("one", gpu) if on.startswith("one") else ("8", gpu)
    assert f"on {count} {name}" in recipes()[recipe]


@pytest.mark.usefixtures("unopened")
def test_an_engine_of_its_own_keeps_its_weights_and_cache_during_the_update(registry: Registry, here: list[Machine]) -> None:
    live = memory_of(registry, "paper-bfcl-qwen3-4b", *WHOLE, f"policy.model={QWEN}", "trainer.micro_batch=1", "max_concurrent_rollouts=64")
    own = memory_of(registry, "paper-bfcl-qwen3-4b")
    assert (live.engine, own.cache, own.prefill) == (0, 0, 0)
    assert own.engine == own.weights // 2 + 20 * 10**9
    assert own.update == live.update + own.engine and own.sampling == own.kept + own.drawing
    found = made(registry, "paper-bfcl-qwen3-4b")
    assert "samples in one process" in line(found, "several GPUs") and "key-value cache" not in line(found, "memory")
    assert not [text for text in found if text.startswith("each of")]


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


def known(model: str) -> Shape | None:
    return shape_of(model, config_file(model))


def test_shapes_are_read_off_the_config_alone(tmp_path: Path) -> None:
    """The desk's policy has a file of weights to count; a copy of its config without them gives the same."""
    from safetensors import safe_open

    package = Path(resource_estimate.__file__).parents[3] / "environments" / "desk" / "policy"
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
    assert known("pkg:coevolve.environments.desk/policy") == known(str(tmp_path)) == expected


def test_a_model_that_is_elsewhere_has_no_shape() -> None:
    assert known("no/such") is None


@pytest.mark.parametrize("name", ["a b c", "pkg:no.such/x", "pkg:coevolve/nowhere", "no/such/thing/here", "/nowhere"])
def test_a_name_that_no_model_can_have_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=r"policy\.model"):
        config_file(name)


@pytest.mark.parametrize(("text", "unknown"), [("[1]", True), ("{", True), ('{"model_type": "nonsense"}', False)])
def test_a_config_that_is_none(text: str, unknown: bool, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    if unknown:
        assert known(str(tmp_path)) is None
    else:
        with pytest.raises(UserError, match=r"cannot be read as a model's config"):
            known(str(tmp_path))


@given(rows=st.integers(1, 512), context=st.integers(1, 10**5), size=st.sampled_from([2, 4]))
def test_the_cache_grows_with_rows_and_context(rows: int, context: int, size: int) -> None:
    """Keys and values of each layer and head, for each token of each row."""
    found = Shape(10, 3, 2, 5, 99)
    one = found.cache(1, 1, 1)
    assert one == 3 * 2 * 5 * 2
    assert found.cache(rows, context, size) == one * rows * context * size


def test_the_machines_memory_is_read() -> None:
    found = machine("cpu")
    assert found.name == "no GPU, main memory" and found.memory > 10**8
