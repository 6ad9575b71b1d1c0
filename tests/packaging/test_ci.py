"""CI runs what the README asks people to run."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = (
    "python3 -m venv .venv && . .venv/bin/activate && pip install -c constraints.txt -e '.[test]' && python -m pytest -n 3 --dist loadgroup"
)
NIGHTLY = "python -m pytest -m nightly -n 2 --dist loadgroup"
CHECKS = ["ruff check .", "ruff format --check .", "mypy", "lint-imports"]


def test_ci_takes_its_lines_from_the_readme() -> None:
    done = subprocess.run(["bash", ".ci/run", "--show"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [TEST, NIGHTLY, *CHECKS]
    readme = (ROOT / "README.md").read_text("utf-8")
    for name, line in (("test", TEST), ("nightly", NIGHTLY)):
        assert f"\n<!-- {name} -->\n```bash\n{line}\n```\n<!-- /{name} -->\n" in readme


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the script beside a README of its own. Every command writes its name into `ran`; the file `fails` names one that fails."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "run").write_bytes((ROOT / ".ci" / "run").read_bytes())
    setup = "mkdir -p .venv/bin && touch .venv/bin/activate && first"
    (tmp_path / "README.md").write_text(
        f"<!-- test -->\n```bash\n{setup}\n```\n<!-- /test -->\n<!-- nightly -->\n```bash\nnightly\n```\n<!-- /nightly -->\n"
    )
    (tmp_path / "bin").mkdir()
    for name in ("first", "nightly", "ruff", "mypy", "lint-imports"):
        command = tmp_path / "bin" / name
        command.write_text(f'#!/bin/sh\necho {name} >>ran\n[ {name} != "$(cat fails)" ] || exit 7\n')
        command.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("fails", "code", "ran"),
    [
        ("nothing", 0, ["first", "nightly", "ruff", "ruff", "mypy", "lint-imports"]),
        ("first", 7, ["first"]),
        ("nightly", 7, ["first", "nightly"]),
        ("mypy", 7, ["first", "nightly", "ruff", "ruff", "mypy"]),
    ],
)
def test_ci_runs_everything_and_stops_at_the_first_failure(checkout: Path, fails: str, code: int, ran: list[str]) -> None:
    (checkout / "fails").write_text(fails)
    environment = {**os.environ, "PATH": f"{checkout / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", ".ci/run"], cwd=checkout, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    assert (checkout / "ran").read_text().split() == ran
