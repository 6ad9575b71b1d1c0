"""Which settings a resume may change: one that the run's tasks or checkpoints depend on is refused before anything is written."""

from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..optional import HasFixedOptions
from ..registry import Registry
from ..settings.config import Config
from ..text import command_line

FIXED = {
    "seed": "every draw so far came from it",
    "initial_tasks": "they are drawn already",
    "initial_synthetic": "the initial tasks are made already",
    "train_split": "the initial tasks are drawn already",
    "evaluation.split": "the tasks were kept apart from this one",
}
"""Settings that a resume cannot change, each with the reason."""
NAMED = {"environment": "the tasks are this one's", "trainer": "the checkpoints are this one's"}
"""Components that a resume cannot change, each with the reason."""


def check_changes(before: Config, now: Config, registry: Registry, folder: Path) -> None:
    """UserError for a setting that differs between `before` and `now` and that the run in `folder` cannot change any more."""
    for key, old, new, why in _fixed(before, now, registry):
        if old != new:
            again = command_line("coevolve", "run", "--config", folder / "config.toml", "--set", f"{key}=...", "--out", "OTHER")
            raise UserError(
                f"a resume cannot change {key} from {old!r} to {new!r}: {why}; leave it as it is, or begin another run: {again}"
            )


def _fixed(before: Config, now: Config, registry: Registry) -> Iterator[tuple[str, Any, Any, str]]:
    for key, why in FIXED.items():
        yield key, attrgetter(key)(before), attrgetter(key)(now), why
    for kind, why in NAMED.items():
        yield f"{kind}.name", getattr(before, kind).name, getattr(now, kind).name, why
    for kind in ("environment", "policy", "trainer"):
        old, new = getattr(before, kind), getattr(now, kind)
        component: Any = registry.component(kind, new.name)
        for option in component.fixed_options if isinstance(component, HasFixedOptions) else ():
            if hasattr(old.options, option):  # another component may lack it
                yield f"{kind}.{option}", getattr(old.options, option), getattr(new.options, option), "the run so far depends on it"
