"""Runs of the real loop in milliseconds: the stockroom, and a policy and a trainer that are a table."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coevolve import hookimpl
from coevolve.core.registry import Registry, load_plugins
from coevolve.core.run.drive import start
from coevolve.core.settings.config import Config, load_config
from coevolve.testing import Stockroom, TabularPolicy, TabularTrainer

BASE = (
    "environment.name=stockroom", "policy.name=tabular", "trainer.name=tabular", "sampler.name=uniform", 'signals.names=["boundary"]',
    "synthesizer.name=random", 'validators.names=["execution"]', "steps=6", "evolve_every=2", "batch=6", "rollouts=4", "initial_tasks=20",
    "tasks_per_evolution=3", "checkpoint_every=2", "max_completions=20", "evaluation.every=3",
)  # fmt: skip


class Table:
    """The plugin that brings the testing components."""

    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return [Stockroom]

    @hookimpl
    def coevolve_policies(self) -> list[type]:
        return [TabularPolicy]

    @hookimpl
    def coevolve_trainers(self) -> list[type]:
        return [TabularTrainer]


class Runs:
    """Makes configurations and registries for such runs."""

    def registry(self, *plugins: object) -> Registry:
        return load_plugins(block=["coevolve.plugins.reporters.*"], extra=[Table(), *plugins])

    def config(self, registry: Registry, *sets: str) -> Config:
        return load_config(registry, recipe=None, sets=[*BASE, *sets])

    def run(self, folder: Path, *sets: str, plugins: tuple[object, ...] = ()) -> dict[str, Any]:
        registry = self.registry(*plugins)
        return start(self.config(registry, *sets), registry, folder)


@pytest.fixture
def runs() -> Runs:
    return Runs()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "run"
