"""Whole training runs in milliseconds: the real loop over the stockroom, with a policy and a trainer that are a table."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coevolve import Environment, hookimpl

from .learner import TabularPolicy, TabularTrainer
from .stockroom import Stockroom

if TYPE_CHECKING:
    from coevolve.core.registry import Registry
    from coevolve.core.settings.config import Config

SETTINGS = (
    "environment.name=stockroom", "policy.name=tabular", "trainer.name=tabular", "sampler.name=uniform", 'signals.names=["boundary"]',
    "synthesizer.name=random", 'validators.names=["execution"]', "steps=6", "evolve_every=2", "batch=6", "rollouts=4", "initial_tasks=20",
    "tasks_per_evolution=3", "checkpoint_every=2", "max_completions=20", "evaluation.every=3",
)  # fmt: skip
"""What a small run is set to where nothing else is given."""


class TestingComponents:
    """The plugin that offers the stockroom, the tabular policy and the tabular trainer."""

    __test__ = False  # pytest: this is not a class of tests

    @hookimpl
    def coevolve_environments(self) -> list[type[Any]]:
        return [Stockroom]

    @hookimpl
    def coevolve_policies(self) -> list[type[Any]]:
        return [TabularPolicy]

    @hookimpl
    def coevolve_trainers(self) -> list[type[Any]]:
        return [TabularTrainer]


class SmallRuns:
    """Makes whole training runs in milliseconds. Each loads `plugins`, and puts `sets` ("key=value") on top of SETTINGS.

    @pytest.fixture
    def runs() -> SmallRuns:
        return SmallRuns(MyPlugin(), sets=("signals.names=['stuck']",))

    def test_stuck_tasks_are_seen(runs, tmp_path):
        summary = runs.run(tmp_path / "run", "steps=10")
        assert summary["signals"]["stuck"] > 0
    """

    def __init__(self, *plugins: object, sets: Sequence[str] = ()) -> None:
        self.plugins, self.sets = plugins, tuple(sets)

    def registry(self, *plugins: object) -> "Registry":
        """All default plugins without the reporters, the testing components, those of this object, and `plugins`."""
        from coevolve.core.registry import load_plugins

        return load_plugins(block=["coevolve.plugins.reporters.*"], extra=[TestingComponents(), *self.plugins, *plugins])

    def config(self, registry: "Registry", *sets: str) -> "Config":
        """The configuration of a small run with `sets` on top."""
        from coevolve.core.settings.config import load_config

        return load_config(registry, recipe=None, sets=[*SETTINGS, *self.sets, *sets])

    def run(self, folder: Path, *sets: str, plugins: Sequence[object] = ()) -> dict[str, Any]:
        """Train in `folder`, which must be new or empty; returns the run's summary. Raises what a run raises."""
        from coevolve.core.run.drive import start

        registry = self.registry(*plugins)
        return start(self.config(registry, *sets), registry, folder)

    @contextmanager
    def environment(self, *sets: str, plugins: Sequence[object] = ()) -> Iterator[Environment]:
        """The configured environment, which works where the configured executor puts it; its workers end with the block."""
        from coevolve.core.workers.remote_environment import placed_environment

        registry = self.registry(*plugins)
        with placed_environment(self.config(registry, *sets), registry) as environment:
            yield environment
