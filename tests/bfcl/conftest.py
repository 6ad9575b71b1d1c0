"""The benchmark, fetched once a user cache, and its official code in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from coevolve.environments.bfcl import assets
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.release import DEFAULT, RELEASES

Official = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def make() -> Callable[..., Bfcl]:
    """Environments by their options."""
    return cache(lambda **options: Bfcl(BfclOptions(**options)))


@pytest.fixture(scope="session")
def bfcl(make: Callable[..., Bfcl]) -> Bfcl:
    assets.ensure(RELEASES[DEFAULT])
    return make()


@pytest.fixture(scope="session")
def official(tmp_path_factory: pytest.TempPathFactory) -> Official:
    """Answers by kind of job, see official_worker.py: `official(jobs, release)`."""

    def ask(job: dict[str, Any], release: str = DEFAULT) -> dict[str, Any]:
        package, scratch = assets.ensure(RELEASES[release]), tmp_path_factory.mktemp("official")
        command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("official_worker.py")), str(package.parent), str(scratch)]
        done = subprocess.run(
            command, input=json.dumps(job), capture_output=True, text=True, timeout=280, env={**os.environ, "PYTHONHASHSEED": "0"}
        )
        assert done.returncode == 0, done.stderr[-2000:]
        answers: dict[str, Any] = json.loads(done.stdout)
        return answers

    return ask
