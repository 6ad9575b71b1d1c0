"""The benchmark, fetched once a user cache, and its official code in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coevolve.environments.bfcl import assets
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.release import DEFAULT, RELEASES

Official = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture(scope="session")
def bfcl() -> Bfcl:
    assets.ensure(RELEASES[DEFAULT])
    return Bfcl(BfclOptions())


@pytest.fixture(scope="session")
def official(tmp_path_factory: pytest.TempPathFactory) -> Official:
    """Answers by kind of job: see official_worker.py."""
    package = assets.ensure(RELEASES[DEFAULT])
    scratch = tmp_path_factory.mktemp("official")

    def ask(job: dict[str, Any]) -> dict[str, Any]:
        command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("official_worker.py")), str(package.parent), str(scratch)]
        done = subprocess.run(
            command, input=json.dumps(job), capture_output=True, text=True, timeout=200, env={**os.environ, "PYTHONHASHSEED": "0"}
        )
        assert done.returncode == 0, done.stderr[-2000:]
        answers: dict[str, Any] = json.loads(done.stdout)
        return answers

    return ask
