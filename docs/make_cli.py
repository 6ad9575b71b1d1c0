"""Writes docs/cli.md from the command line's own help: python docs/make_cli.py."""

from pathlib import Path

from typer import Context
from typer.cli import get_docs_for_click
from typer.main import get_command

from coevolve.core.cli.main import app
from coevolve.core.cli.plugin_commands import PluginGroup

PAGE = Path(__file__).with_name("cli.md")
NOTE = """Exit codes: 0 done; 1 something was found wrong (a broken plugin, an environment that is not ready); 2 the user can mend it, one
line on stderr says how; 3 a fault stopped a run that `coevolve resume` can go on with; 130
interrupted; 143 ended by SIGTERM.

This page is written by `python docs/make_cli.py`.
"""


def page() -> str:
    """Every command with its help text."""
    command = get_command(app)
    assert isinstance(command, PluginGroup)
    command.only = ["coevolve.*"]  # the page leaves out other packages that are installed
    return f"{get_docs_for_click(obj=command, ctx=Context(command), name='coevolve', title='The command line').strip()}\n\n{NOTE}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
