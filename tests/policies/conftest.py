"""Makes `tiny_llama` importable, because the tests are not a package."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def tiny() -> Any:
    spec = importlib.util.spec_from_file_location("tiny_llama", Path(__file__).with_name("tiny_llama.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
