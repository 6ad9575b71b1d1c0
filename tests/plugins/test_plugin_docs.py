"""docs/plugins.md names every hook and every method with its exact arguments, and its examples work as printed."""

import importlib
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from coevolve import Episode, Journal, Services, Worker
from coevolve.core.contracts import KINDS
from coevolve.core.optional import (
    HasEstimate,
    HasUsage,
    HasWeights,
    Installable,
    NeedsServices,
)
from coevolve.core.plugin_checks import COMPONENT_HOOKS, HOOKS
from coevolve.core.registry import load_plugins
from coevolve.testing import SmallRuns, check_environment, check_synthesizer, make_feedback

OPTIONAL = (
    Worker,
    Episode,
    HasEstimate,
    HasUsage,
    HasWeights,
    Installable,
    NeedsServices,
    Services,
    Journal,
)
TEXT = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text("utf-8")
FILES: dict[str, str] = {}
for _name, _text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", TEXT, re.DOTALL):
    FILES[_name] = f"{FILES[_name]}\n\n{_text}" if _name in FILES else _text  # a file that is printed in parts


def methods(contract: type) -> list[str]:
    """`name(arguments)` of each method of a contract."""
    found = []
    for name, value in vars(contract).items():
        function = value.__func__ if isinstance(value, classmethod) else value
        if inspect.isfunction(function) and not name.startswith("_"):
            parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]
            found.append(f"{name}({', '.join('**' * (p.kind is p.VAR_KEYWORD) + p.name for p in parameters)})")
    return found


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented_with_its_arguments(hook: str) -> None:
    assert f"\n### `{hook}({', '.join(HOOKS[hook].parameters)})`\n" in TEXT


def test_no_hook_is_documented_that_there_is_not() -> None:
    assert set(re.findall(r"\n### `(\w+)\(", TEXT)) == set(HOOKS)


@pytest.mark.parametrize("contract", [*KINDS.values(), *OPTIONAL], ids=lambda contract: contract.__name__)
def test_every_method_is_documented_with_its_arguments(contract: type) -> None:
    found = methods(contract)
    assert found
    assert [method for method in found if f"`{method}`" not in TEXT] == []


def commands(name: str) -> list[list[str]]:
    """The `coevolve` lines of a block of commands, as arguments."""
    block = re.search(rf"<!-- {name} -->\n```bash\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    return [shlex.split(line, comments=True)[1:] for line in block[1].splitlines() if line.startswith("coevolve ")]


@pytest.fixture
def example(tmp_path: Path) -> dict[str, str]:
    """The page's files laid out as if their packages were installed; the environment to run them in."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    project = FILES["pyproject.toml"]
    second = 'smart-lamps = "coevolve_smart_lamps"'
    assert f"`{second}`" in TEXT
    install(tmp_path, project.replace("[project.entry-points.coevolve]", f"[project.entry-points.coevolve]\n{second}"))
    for module in ("newest", "diary", "attempts"):
        install(tmp_path, project.replace("lamps", module))
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def install(folder: Path, pyproject: str) -> None:
    """What makes the project of a pyproject.toml an installed distribution in `folder`."""
    project = tomllib.loads(pyproject)["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    entries = project["entry-points"]["coevolve"]
    (info / "entry_points.txt").write_text("[coevolve]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items()))


def call(example: dict[str, str], folder: Path, *arguments: str) -> str:
    """What `coevolve` prints."""
    command = [sys.executable, "-m", "coevolve", *arguments]
    done = subprocess.run(command, env=example, cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_plugins_are_loaded_and_the_sampler_is_configured(example: dict[str, str], tmp_path: Path) -> None:
    records = {record["name"]: record for record in json.loads(call(example, tmp_path, "plugins", "--json"))["plugins"]}
    assert [records[name]["error"] for name in ("lamps", "smart-lamps", "newest", "diary", "attempts")] == [None] * 5
    assert (records["newest"]["distribution"], records["newest"]["components"]) == ("coevolve-newest", ["sampler:newest"])
    assert set(records["diary"]["hooks"]) == {hook for hook in HOOKS if hook not in (*COMPONENT_HOOKS, "coevolve_commands")}
    printed = call(example, tmp_path, "config", "--config", "newest.toml")
    assert tomllib.loads(printed)["sampler"] == {"name": "newest", "share": 0.3}


def test_the_examples_pass_their_own_tests(example: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, env=example, capture_output=True, text=True, timeout=240, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


def test_the_lamps_are_as_short_as_the_heading_says_and_run_as_printed(example: dict[str, str], tmp_path: Path) -> None:
    lines = [line for line in FILES["coevolve_lamps.py"].splitlines() if line.strip()]
    assert f"\n## An environment in {len(lines)} lines\n" in TEXT
    plugins, evaluate, run, show = commands("lamps")
    assert "lamps (coevolve-lamps 0.1.0): environment:lamps\n" in call(example, tmp_path, *plugins)
    assert "success 1.000" in call(example, tmp_path, *evaluate)
    call(example, tmp_path, *run, "--set", "rollouts=2", "--set", "evaluation.final_tasks=2")
    assert "begins after iteration 0 of 2" in (tmp_path / "lamps-run" / "diary.txt").read_text("utf-8")
    assert "after    2 iterations" in call(example, tmp_path, *show)
    assert "\nsolved: 0 of 10\n" in call(example, tmp_path, "attempts", "lamps-run")


def test_the_smart_lamps_compose_tasks(example: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("coevolve_smart_lamps")
    lamps = module.SmartLamps(module.SmartLamps.Options())
    check_environment(lamps)
    random = load_plugins().component("synthesizer", "random")
    candidates = check_synthesizer(random(random.Options()), lamps, make_feedback(lamps.tasks("train")))
    assert len(candidates) > 5
    assert commands("smart-lamps")[0][2] == "environment.name=smart-lamps"


def test_the_diary_is_kept(example: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    diary = importlib.import_module("coevolve_diary")
    SmallRuns(diary).run(tmp_path / "run", "steps=4")
    written = (tmp_path / "run" / "diary.txt").read_text("utf-8").splitlines()
    assert written[0] == "begins after iteration 0 of 4"
    assert written[-1].startswith("done; the pool by origin: {'seed': 20")
    assert sum(" rollouts succeeded; " in line for line in written) == 4
    assert any(": held-out success " in line for line in written) and any(": admitted " in line for line in written)
    assert any(": weak at " in line for line in written)
    assert diary.diary == []
