"""A file of the package has one name for every tool: coevolve.core.loop in src/coevolve/core/loop.py, behind the links."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from mypy.main import process_options

ROOT = Path(__file__).parents[2]
FOLDERS = ("core", "environments", "plugins", "signals", "synthesizers")


def test_mypy_knows_each_file_of_the_package_by_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    sources, _ = process_options([], require_targets=False)
    names = {source.module for source in sources}
    assert {"coevolve.core.loop", "coevolve.environments.desk", "tests.packaging.test_one_identity"} <= names
    assert [name for name in sorted(names) if name.partition(".")[0] in FOLDERS] == []
    files = [source.path and Path(source.path).resolve() for source in sources]
    assert len(files) == len(set(files))


def test_a_breakpoint_that_is_set_behind_the_link_is_hit(tmp_path: Path) -> None:
    module = ROOT / "src" / "coevolve" / "core" / "loop.py"
    line = next(n for n, text in enumerate(module.read_text("utf-8").splitlines(), 1) if text.startswith("class Loop"))
    program = tmp_path / "program.py"
    program.write_text("import coevolve.core.loop\n")
    debugger = [
        sys.executable,
        "-m",
        "pdb",
        "-c",
        f"break {module}:{line}",
        "-c",
        "continue",
        "-c",
        "print(__name__)",
        "-c",
        "quit",
        str(program),
    ]
    done = subprocess.run(debugger, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[1:] == ["coevolve.core.loop"], done.stdout + done.stderr


def test_editors_are_led_to_the_links() -> None:
    settings = json.loads((ROOT / ".vscode" / "settings.json").read_text("utf-8"))
    assert set(settings["search.exclude"]) == set(FOLDERS)
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    assert "src/coevolve" in tools["pyright"]["include"] and not {*FOLDERS} & {*tools["pyright"]["include"], *tools["mypy"]["files"]}
    assert tools["pyright"]["extraPaths"] == tools["mypy"]["mypy_path"] == settings["python.analysis.extraPaths"]
