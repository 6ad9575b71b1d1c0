"""docs/plugins.md names every hook and every method with its exact arguments, and its example works as printed."""

import inspect
import json
import os
import re
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
from coevolve.core.plugin_checks import HOOKS

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
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", TEXT, re.DOTALL))


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


@pytest.fixture
def example(tmp_path: Path) -> dict[str, str]:
    """The example's files laid out as if its package were installed; the environment to run it in."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    entries = project["entry-points"]["coevolve"]
    (info / "entry_points.txt").write_text("[coevolve]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items()))
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def test_the_example_is_loaded_and_configured(example: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "coevolve"]
    listed = subprocess.run([*command, "plugins", "--json"], env=example, capture_output=True, text=True, timeout=120)
    record = next(r for r in json.loads(listed.stdout)["plugins"] if r["name"] == "newest")
    assert (record["distribution"], record["error"]) == ("coevolve-newest", None)
    assert (record["hooks"], record["components"]) == (["coevolve_samplers", "coevolve_task_rejected"], ["sampler:newest"])
    config = [*command, "config", "--config", str(tmp_path / "newest.toml")]
    printed = subprocess.run(config, env=example, capture_output=True, text=True, timeout=120)
    assert printed.returncode == 0, printed.stderr
    assert tomllib.loads(printed.stdout)["sampler"] == {"name": "newest", "share": 0.3}


def test_the_example_passes_its_own_tests(example: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, env=example, capture_output=True, text=True, timeout=240, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
