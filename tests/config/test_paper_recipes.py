"""The recipes that carry the paper's settings say exactly its numbers."""

import pytest

from coevolve.core.registry import load_plugins
from coevolve.core.settings.config import Config, load_config

MODELS = {
    "qwen2.5-7b": "Qwen/Qwen2.5-7B-Instruct",
    "qwen3-4b": "Qwen/Qwen3-4B-Instruct-2507",
    "qwen3-30b-a3b": "Qwen/Qwen3-30B-A3B-Instruct-2507",
}
RECIPES = {f"paper-{benchmark}-{key}": (benchmark, model) for benchmark in ("bfcl", "appworld") for key, model in MODELS.items()}


def config(recipe: str) -> Config:
    return load_config(load_plugins(only=["coevolve.*"]), recipe)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_papers_numbers(recipe: str) -> None:
    found, (benchmark, model) = config(recipe), RECIPES[recipe]
    assert (found.batch, found.rollouts, found.steps, found.evolve_every, found.initial_synthetic) == (32, 8, 120, 10, 100)
    assert found.initial_tasks == 100 and found.max_new_tokens == 1024
    assert found.trainer.name == "grpo" and found.trainer.options.learning_rate == 1e-6
    assert found.policy.options.model == model
    assert found.environment.name == benchmark
    assert [chosen.name for chosen in found.signals] == ["forgetting", "boundary", "rare"]
    assert found.batch * found.rollouts % found.trainer.options.micro_batch == 0
    assert found.trainer.options.lora_rank == 0
    assert found.synthesizer is not None and found.synthesizer.name == "teacher"
    assert (found.synthesizer.options.model, found.synthesizer.options.provider) == ("qwen3-max", "endpoint")
    assert [chosen.name for chosen in found.validators] == ["request", "execution", "blind_solve"]
    request, execution, blind = (chosen.options for chosen in found.validators)
    # AppWorld's scorer sees the end alone, so a lookup that it does not miss is not a fault there.
    assert (execution.drop_all, execution.all_parents) == (benchmark == "bfcl", True)
    assert (request.grounding, blind.policy) == (True, "teacher")


def test_appworld_is_trained_on_its_train_split_and_evaluated_on_test_normal() -> None:
    found = config("paper-appworld-qwen3-4b")
    assert (found.train_split, found.evaluation.split, found.evaluation.tasks, found.evaluation.final_tasks) == (
        "train",
        "test_normal",
        0,
        0,
    )
    assert (found.environment.options.data, found.environment.options.max_interactions) == ("full", 50)
    assert found.max_completions >= found.environment.options.max_interactions
    assert found.step_timeout > found.environment.options.wall_seconds


@pytest.mark.parametrize("benchmark", ["bfcl", "appworld"])
def test_the_recipes_differ_in_the_model_and_what_holds_it_alone(benchmark: str) -> None:
    first, *others = (config(recipe).as_dict() for recipe in RECIPES if RECIPES[recipe][0] == benchmark)
    for other in others:
        assert {key for key in first if first[key] != other[key]} <= {"policy", "max_concurrent_rollouts"}
        shared = first["policy"].keys() & other["policy"].keys()
        assert {key for key in shared if first["policy"][key] != other["policy"][key]} <= {"name", "model"}


@pytest.mark.parametrize("recipe", [recipe for recipe in RECIPES if RECIPES[recipe][0] == "bfcl"])
def test_bfcl_is_the_papers_release_read_as_the_official_decoder_reads_it(recipe: str) -> None:
    found = config(recipe).environment.options
    assert (found.release, found.category, found.mode, found.doc_style, found.positional, found.strict) == (
        "2025.7.17", "base", "prompt", "official", "drop", False,
    )  # fmt: skip


def test_vllm_samples_where_one_process_holds_the_run() -> None:
    assert {recipe: config(recipe).policy.name for recipe in RECIPES} == {
        recipe: "vllm" if "qwen3-4b" in recipe else "transformers" for recipe in RECIPES
    }
