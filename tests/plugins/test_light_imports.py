"""Commands that train nothing load no heavy library."""

import json
import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "trl", "datasets", "numpy", "peft", "accelerate", "safetensors", "pandas", "openai", "vllm", "ray")

PROBE = """
import contextlib, io, json, sys
from coevolve.core.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(json.loads(sys.argv[1]))
print(json.dumps([code, sorted(name for name in json.loads(sys.argv[2]) if name in sys.modules)]))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"], ["plugins"], ["config"], ["recipes"], ["env", "list"]])
def test_a_command_that_trains_nothing_is_light(arguments: list[str]) -> None:
    command = [sys.executable, "-c", PROBE, json.dumps(arguments), json.dumps(HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [0, []]


def test_the_public_names_are_light() -> None:
    code = f"import coevolve, sys; print([n for n in {HEAVY!r} + ('typer', 'rich', 'coevolve.core.cli.main') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120).stdout == "[]\n"
