"""Commands that list what there is: plugins, options, recipes, the resolved configuration."""

import json
from typing import Annotated

import typer

from .arguments import AsJson, Block, ConfigFile, Recipe, Sets
from .output import print_file, say


def plugins(block: Block = None, as_json: AsJson = False) -> None:
    """Which plugins are loaded, from which distribution, and what is wrong with those that are not (then the exit code is 1)."""
    from ..registry import load_plugins

    registry = load_plugins(block=block or ())
    conflicts = registry.conflicts()
    if as_json:
        from attrs import asdict

        say(json.dumps({"plugins": [asdict(record) for record in registry.records], "conflicts": conflicts}, indent=1))
    else:
        for record in registry.records:
            offers = ", ".join(record.components or record.hooks)
            say(f"{record.name} ({record.distribution} {record.version}): {f'BROKEN: {record.error}' if record.error else offers}")
        for line in conflicts:
            say(f"CONFLICT: {line}")
    if conflicts or any(record.error for record in registry.records):
        raise typer.Exit(1)


def options(
    component: Annotated[
        str | None, typer.Argument(metavar="KIND:NAME", help="A component, such as signal:rare; core's settings if not given.")
    ] = None,
    block: Block = None,
) -> None:
    """Every option of a component with its default, its unit and what it does; without a component core's own settings, and a list of the
    components."""
    from .option_list import option_list

    say("\n".join(option_list(component, block or ())))


def recipes() -> None:
    """The recipes that `--recipe` takes."""
    from ..settings.sources import recipes as known

    for name, line in known().items():
        say(f"{name}: {line}")


def config(recipe: Recipe = "desk", file: ConfigFile = None, sets: Sets = None, block: Block = None) -> None:
    """Print the resolved configuration as TOML: every setting, defaults included. `--config` takes it back."""
    from ..run.prepare import prepare
    from ..settings.config import dump_toml
    from ..settings.sources import setting_sources

    settings, _ = prepare(setting_sources(recipe, file, sets or ()), block or ())
    print_file(dump_toml(settings))
