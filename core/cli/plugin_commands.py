"""Commands that plugins add to the command line (hook `coevolve_commands`).

Plugins are loaded for it only where their commands matter: for the list of commands, and for a command that core does not have.
"""

from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from .output import say_error


class PluginGroup(TyperGroup):
    """The commands of core, and behind them those of plugins."""

    only: Sequence[str] = ()
    """Names or patterns of the plugins that may add commands; empty: all."""
    _added = False

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, core's first."""
        self._add()
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # typer's own types are private
        """The command of that name; None when there is none."""
        if cmd_name not in self.commands:
            self._add()
        return self.commands.get(cmd_name)

    def _add(self) -> None:
        """Once: add every plugin's commands. A plugin whose hook fails, or whose command there is already, adds none: a line on stderr."""
        from ..registry import command_hooks

        if self._added:
            return
        self._added = True
        for name, hook in command_hooks(self.only):
            app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
            try:
                hook(app=app)
                found = get_group(app)
                if twice := _twice(self, found):
                    raise ValueError(f"there is a command {twice!r} already")
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's code may raise anything, and must not break the help
                text = " ".join(str(error).split())
                say_error(f"coevolve: the commands of plugin {name} are missing: {type(error).__name__}: {text}")
                continue
            _join(self, found)


def _twice(group: TyperGroup, found: TyperGroup) -> str | None:
    """The first command of `found` that `group` has too; groups of one name may share it."""
    for name, command in found.commands.items():
        there = group.commands.get(name)
        if isinstance(there, TyperGroup) and isinstance(command, TyperGroup):
            if below := _twice(there, command):
                return f"{name} {below}"
        elif there is not None:
            return name
    return None


def _join(group: TyperGroup, found: TyperGroup) -> None:
    for name, command in found.commands.items():
        there = group.commands.get(name)
        if isinstance(there, TyperGroup) and isinstance(command, TyperGroup):
            _join(there, command)
        else:
            group.add_command(command, name)
