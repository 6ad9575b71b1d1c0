"""Whole training runs in milliseconds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from coevolve.testing import SmallRuns


@pytest.fixture
def runs() -> SmallRuns:
    return SmallRuns()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "run"
