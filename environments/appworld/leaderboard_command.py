"""`coevolve leaderboard appworld RUN`: the trained policy attempts both test splits, and the engine's own format is written."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coevolve import hookimpl, printable, trained_run

if TYPE_CHECKING:
    from .environment import AppWorld

group = typer.Typer(help="What benchmarks' leaderboards take.", rich_markup_mode=None)


@hookimpl
def coevolve_commands(app: typer.Typer) -> None:
    app.add_typer(group, name="leaderboard")


@group.callback()
def leaderboard() -> None:
    """What benchmarks' leaderboards take."""


@group.command()
def appworld(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run on AppWorld.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to write it, or to go on; RUN/leaderboard if not given.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the submission; that of the run's folder if not given.")
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting over the run's own; may be repeated.")
    ] = None,
) -> None:
    """Let the trained policy attempt both test splits of AppWorld once and write what its leaderboard takes. Stopped anywhere, the same
    command goes on."""
    with trained_run(folder, "appworld", sets or ()) as run:
        environment: AppWorld = run.environment  # type: ignore[assignment]  # the environment of that name
        for line in environment.leaderboard(out or folder / "leaderboard", name or name_of(folder), run.attempt):
            print(printable(line))


def name_of(run: Path) -> str:
    """The run's folder as a name in small letters, digits and hyphens.

    >>> name_of(Path("runs/AppWorld Try.2"))
    'appworld-try-2'
    """
    return re.sub(r"[^a-z0-9]+", "-", run.resolve().name.lower()).strip("-") or "run"
