"""docs/cli.md is what the commands say."""

import importlib.util
from pathlib import Path

import typer.main

from coevolve.core.cli.main import app
from coevolve.core.cli.plugin_commands import PluginGroup

FILE = Path(__file__).parents[2] / "docs" / "make_cli.py"
SPEC = importlib.util.spec_from_file_location("make_cli", FILE)
assert SPEC is not None and SPEC.loader is not None
MAKE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MAKE)


def test_the_page_is_current() -> None:
    assert MAKE.PAGE.read_text("utf-8") == MAKE.page(), "run: python docs/make_cli.py"


def test_every_command_and_option_has_a_help_text() -> None:
    def commands(command: object, name: str) -> list[tuple[str, object]]:
        below = getattr(command, "commands", {})
        return [(name, command), *(found for key, value in below.items() for found in commands(value, f"{name} {key}"))]

    root = typer.main.get_command(app)
    assert isinstance(root, PluginGroup)
    root.only = ["coevolve.*"]
    root.list_commands(typer.Context(root))
    found = commands(root, "coevolve")
    assert len(found) == 18
    for name, command in found:
        assert getattr(command, "help", None), name
        assert [p.name for p in getattr(command, "params", ()) if not getattr(p, "help", None)] == [], name
