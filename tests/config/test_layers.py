"""Precedence and the meaning of `--set`."""

from pathlib import Path

import pytest

from coevolve import UserError
from coevolve.core.registry import Registry, load_plugins
from coevolve.core.settings.config import Config, dump_toml, load_config, plugin_choice, resolve
from coevolve.core.settings.sources import SettingSource, merge, option_source, parse_value, read_sets, recipes, setting_sources


def test_the_recipes_say_what_they_are() -> None:
    assert list(recipes()) == [
        "appworld-smoke",
        "bfcl-smoke",
        "desk",
        "desk-teacher",
        "paper-appworld-qwen2.5-7b",
        "paper-appworld-qwen3-30b-a3b",
        "paper-appworld-qwen3-4b",
        "paper-bfcl-qwen2.5-7b",
        "paper-bfcl-qwen3-30b-a3b",
        "paper-bfcl-qwen3-4b",
    ]
    assert all(line.endswith(".") and len(line) > 30 for line in recipes().values())
    assert "not a result" in recipes()["bfcl-smoke"] and "not a result" in recipes()["appworld-smoke"]


@pytest.mark.parametrize(
    ("recipe", "synthesizer"),
    [("appworld-smoke", "programmatic"), ("bfcl-smoke", "operators"), ("desk", "programmatic"), ("desk-teacher", "teacher")],
)
def test_every_recipe_loads(recipe: str, synthesizer: str) -> None:
    registry = load_plugins(only=["coevolve.*"])
    config = load_config(registry, recipe)
    assert [chosen.name for chosen in config.signals] == ["forgetting", "boundary", "rare"]
    assert config.synthesizer is not None and config.synthesizer.name == synthesizer


def test_the_teacher_of_the_desk_is_local_and_needs_no_key() -> None:
    """And it differs from the desk's recipe in nothing but the teacher, the length of the run and what the door does beside executing."""
    registry = load_plugins(only=["coevolve.*"])
    desk, taught = load_config(registry, "desk").as_dict(), load_config(registry, "desk-teacher").as_dict()
    assert {key for key in desk if desk[key] != taught[key]} == {
        "steps", "tasks_per_evolution", "synthesizer", "repairs", "validators",
    }  # fmt: skip
    teacher = taught["synthesizer"]
    assert teacher["base_url"].startswith("http://127.0.0.1:") and teacher["api_key_env"] == teacher["api_key_file"] == ""
    assert teacher["queries"] == "environment"


def test_the_desk_recipe_is_the_defaults() -> None:
    config = load_config(load_plugins(only=["coevolve.*"]))
    assert (config.seed, config.steps, config.evolve_every, config.batch, config.rollouts) == (0, 60, 10, 16, 8)
    assert (config.temperature, config.max_new_tokens, config.max_completions) == (1.0, 48, 200)
    assert (config.initial_tasks, config.tasks_per_evolution, config.candidates_per_task) == (64, 16, 8)
    assert (config.checkpoint_every, config.step_timeout, config.fault_limit, config.stalled_after) == (10, 30.0, 0.5, 5)
    evaluation = config.evaluation
    assert (evaluation.every, evaluation.tasks, evaluation.final_tasks, evaluation.split) == (20, 200, 400, "test")
    assert evaluation.modes == ("greedy", "sampled")
    chosen = (config.environment, config.policy, config.trainer, config.sampler)
    assert [c.name for c in chosen] == ["desk", "transformers", "grpo", "uniform"]
    assert [c.name for c in config.validators] == ["execution", "frontier"] and config.repairs == 0
    frontier = config.validators[1].options
    assert (frontier.attempts, frontier.low, frontier.high) == (4, 1, 3)
    for kind, one in zip(("environment", "policy", "sampler"), chosen[:2] + chosen[3:], strict=True):
        assert one.options == load_plugins().component(kind, one.name).Options()
    assert (config.trainer.options.learning_rate, config.trainer.options.beta) == (3e-4, 0.2)


def loaded(parts: Registry, base: Path, *sets: str) -> Config:
    return load_config(parts, None, base, sets)


def test_set_wins_over_the_file_and_the_file_over_the_default(parts: Registry, base: Path) -> None:
    base.write_text("steps = 7\nbatch = 5\n" + base.read_text() + "[evaluation]\nevery = 3\ntasks = 4\n")
    config = loaded(parts, base, "batch=2", "evaluation.tasks=9")
    assert (config.steps, config.batch, config.rollouts) == (7, 2, 8)
    assert (config.evaluation.every, config.evaluation.tasks, config.evaluation.final_tasks) == (3, 9, 400)


def test_the_file_wins_over_the_recipe(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("rollouts = 5\n[evaluation]\ntasks = 11\n")
    config = load_config(load_plugins(only=["coevolve.*"]), "bfcl-smoke", file, ["batch=3"])
    assert (config.steps, config.rollouts, config.batch) == (2, 5, 3)
    assert (config.evaluation.tasks, config.evaluation.final_tasks) == (11, 2)


def test_another_component_drops_the_options_of_the_one_before(parts: Registry, base: Path) -> None:
    base.write_text(base.read_text().replace('[policy]\nname = "all"', '[policy]\nname = "all"\ncount = 9'))
    assert loaded(parts, base).policy.options.count == 9
    assert loaded(parts, base, "policy.rate=0.25").policy.options.count == 9
    changed = loaded(parts, base, "policy.name=few", "policy.size=4").policy
    assert (changed.name, changed.options.size) == ("few", 4)


def test_a_shorter_list_of_names_drops_the_options_of_the_others(parts: Registry, base: Path) -> None:
    base.write_text(base.read_text() + "[signals.all]\ncount = 9\n[signals.few]\nsize = 8\n")
    config = loaded(parts, base, 'signals.names=["few"]')
    assert [(c.name, c.options.size) for c in config.signals] == [("few", 8)]
    assert loaded(parts, base, "signals.names=[]").signals == ()


def test_none_means_no_synthesizer(parts: Registry, base: Path) -> None:
    assert loaded(parts, base).synthesizer is None
    chosen = loaded(parts, base, "synthesizer.name=few").synthesizer
    assert chosen is not None and chosen.name == "few"
    base.write_text(base.read_text() + '[synthesizer]\nname = "few"\nsize = 2\n')
    assert loaded(parts, base, "synthesizer.name=none").synthesizer is None


def test_none_stands_for_a_value_that_may_be_missing(parts: Registry, base: Path) -> None:
    assert loaded(parts, base).policy.options.maybe == 7
    assert loaded(parts, base, "policy.maybe=none").policy.options.maybe is None


def test_the_plugin_table_is_read_before_anything_else(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[plugins]\nblock = ["a", "b.*"]\n[policy]\nname = "nowhere"\n')
    choice = plugin_choice(setting_sources("desk", file, ['plugins.only=["coevolve.*"]']))
    assert (choice.only, choice.block) == (("coevolve.*",), ("a", "b.*"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("3.5", 3.5),
        ("true", True),
        ('"3"', "3"),
        ("[1, 2]", [1, 2]),
        ("{ a = 1 }", {"a": 1}),
        ("word", "word"),
        ("smollm2-135m-instruct", "smollm2-135m-instruct"),
        ("/some/where else", "/some/where else"),
        ("True", "True"),
        ("2026-11-29", "2026-11-29"),
        ("1\nother = 2", "1\nother = 2"),
        ("3 # three", 3),
        ("a=b", "a=b"),
    ],
)
def test_a_set_value_is_toml_or_a_bare_word(text: str, value: object) -> None:
    assert parse_value("key=", text) == value


def test_set_builds_tables() -> None:
    assert read_sets(["a.b.c=1", "a.b.d=x", "a.e=2", "a.b.c=3"]) == {"a": {"b": {"c": 3, "d": "x"}, "e": 2}}


def test_merging_leaves_the_layers_alone() -> None:
    below, above = {"evaluation": {"every": 1, "tasks": 2}}, {"evaluation": {"tasks": 3}}
    assert merge([SettingSource("a", below), SettingSource("b", above)]) == {"evaluation": {"every": 1, "tasks": 3}}
    assert (below, above) == ({"evaluation": {"every": 1, "tasks": 2}}, {"evaluation": {"tasks": 3}})


HARD = [
    "/some/path/😀",
    'a "quoted" one',
    "back\\slash",
    "line\nbreak\ttab\x1b",
    "model # one",
    "3",
    "true",
    "2026-11-29",
    "[1]",
    "'x'",
    "",
]
"""Texts that are something else in TOML, or cannot stand there as they are."""


@pytest.mark.parametrize("value", HARD)
def test_an_option_of_the_command_line_is_its_value_and_no_toml(value: str, parts: Registry, base: Path, tmp_path: Path) -> None:
    sources = [*setting_sources(None, base, ()), option_source("--model", "policy.text", value)]
    config = resolve(parts, sources)
    assert config.policy.options.text == value
    again = tmp_path / "again.toml"
    again.write_text(dump_toml(config), "utf-8", newline="")
    assert load_config(parts, None, again) == config


def test_an_error_names_the_option(parts: Registry, base: Path) -> None:
    sources = [*setting_sources(None, base, ["steps=3"]), option_source("--steps", "steps", -1)]
    with pytest.raises(UserError, match=r"^--steps: steps must be >= 0, found -1$"):
        resolve(parts, sources)
    with pytest.raises(UserError) as caught:
        resolve(parts, [*setting_sources(None, base, ()), option_source("--model", "policy.text", "file-\udcff")])
    assert str(caught.value) == "--model: policy.text: expected text in UTF-8, found \"'file-\\udcff'\""


def test_the_whole_command_line_chooses_components_as_one_source(parts: Registry, base: Path) -> None:
    sources = [*setting_sources(None, base, ["policy.size=4"]), option_source("--policy", "policy.name", "few")]
    chosen = resolve(parts, sources).policy
    assert (chosen.name, chosen.options.size) == ("few", 4)
    last = resolve(parts, [*setting_sources(None, base, ["policy.name=all"]), option_source("--policy", "policy.name", "few")])
    assert last.policy.name == "few", "an option wins over --set"
    arm = SettingSource("arms.toml, policy 1", {"policy": {"name": "bare"}})
    assert resolve(parts, [*sources, arm]).policy.name == "bare", "a file above it drops the options"
