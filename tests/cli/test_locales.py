"""Runs in the locales of other machines: files are UTF-8 all the same, and what a terminal cannot show is escaped."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
LATIN = {"PYTHONIOENCODING": "latin-1"}
WORDS = ["--set", 'validators.safety.patterns=["größe☃"]', "--set", 'validators.names=["safety", "execution"]']


def command(here: Path, variables: dict[str, str], *arguments: str) -> tuple[int, bytes, bytes]:
    paths = os.pathsep.join([str(here.parent / "site"), os.environ.get("PYTHONPATH", "")])
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    done = subprocess.run(
        [sys.executable, "-m", "coevolve", *arguments], capture_output=True, env={**bare, **variables, "PYTHONPATH": paths}, cwd=here
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("variables", [ASCII, LATIN], ids=["ascii", "latin"])
def test_a_run_with_other_letters_is_made_and_resumed(variables: dict[str, str], here: Path) -> None:
    settings = here / "mine.toml"
    text = (here / "fast.toml").read_text("utf-8")
    words = '[validators]\nnames = ["safety", "execution"]\n[validators.safety]\npatterns = ["größe☃"]\n'
    settings.write_text("\ufeff" + text.replace("steps = 4", "steps = 2") + words, "utf-8")
    code, out, err = command(here, variables, "run", "--config", "mine.toml", "--out", "out")
    assert (code, err) == (0, b"")
    assert "greedy" in out.decode("latin-1") and not (here / "out" / "config.toml.new").exists()
    written = tomllib.loads((here / "out" / "config.toml").read_text("utf-8"))
    assert written["validators"]["safety"]["patterns"] == ["größe☃"]
    code, _, err = command(here, variables, "resume", "out", "--set", "steps=3")
    assert (code, err) == (0, b"")
    code, out, err = command(here, variables, "show", "out")
    assert (code, err) == (0, b"") and b"signals" in out
    code, _, err = command(here, variables, "show", "näher☃")
    assert code == 2 and b"Traceback" not in err and b"not a run folder" in err


@pytest.mark.parametrize("variables", [ASCII, LATIN], ids=["ascii", "latin"])
def test_a_configuration_that_is_printed_into_a_file_can_be_used(variables: dict[str, str], here: Path) -> None:
    code, out, err = command(here, variables, "config", "--config", "fast.toml", *WORDS)
    assert (code, err) == (0, b"")
    assert tomllib.loads(out.decode("utf-8"))["validators"]["safety"]["patterns"] == ["größe☃"]


def test_a_folder_whose_name_is_not_text_here_is_refused(here: Path) -> None:
    """The libraries that save a model cannot write there, which would come out after the first iterations."""
    code, _, err = command(here, ASCII, "run", "--config", "fast.toml", "--out", "läuft☃")
    assert code == 2 and err.count(b"\n") == 1 and b"LC_ALL=C.UTF-8" in err
    assert sorted(path.name for path in here.iterdir()) == ["fast.toml"]
