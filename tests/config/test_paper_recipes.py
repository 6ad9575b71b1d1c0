"""The recipes that carry the paper's settings say exactly its numbers."""

import pytest

from coevolve.core.config import Config, load_config
from coevolve.core.registry import load_plugins

MODELS = {
    "paper-bfcl-qwen2.5-7b": "Qwen/Qwen2.5-7B-Instruct",
    "paper-bfcl-qwen3-4b": "Qwen/Qwen3-4B-Instruct-2507",
    "paper-bfcl-qwen3-30b-a3b": "Qwen/Qwen3-30B-A3B-Instruct-2507",
}


def config(recipe: str) -> Config:
    return load_config(load_plugins(only=["coevolve.*"]), recipe)


@pytest.mark.parametrize("recipe", MODELS)
def test_the_papers_numbers(recipe: str) -> None:
    found = config(recipe)
    assert (found.batch, found.rollouts, found.steps, found.evolve_every, found.initial_tasks) == (32, 8, 120, 10, 100)
    assert found.trainer.name == "grpo" and found.trainer.options.learning_rate == 1e-6
    assert found.policy.options.model == MODELS[recipe]
    assert found.environment.name == "bfcl"
    assert [chosen.name for chosen in found.signals] == ["forgetting", "boundary", "rare"]
    assert found.batch * found.rollouts % found.trainer.options.micro_batch == 0
    assert found.trainer.options.lora_rank == 0
    assert found.synthesizer is not None and found.synthesizer.name == "teacher"
    assert (found.synthesizer.options.model, found.synthesizer.options.provider) == ("qwen3-max", "endpoint")
    (door,) = found.validators
    assert (door.name, door.options.drop_all, door.options.all_parents, door.options.grounding) == ("execution", True, True, False)


def test_the_recipes_differ_in_the_model_alone() -> None:
    first, *others = (config(recipe).as_dict() for recipe in MODELS)
    for other in others:
        assert {key for key in first if first[key] != other[key]} == {"policy"}
        assert {key for key in first["policy"] if first["policy"][key] != other["policy"][key]} == {"model"}
