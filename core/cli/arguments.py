"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Recipe = Annotated[str, typer.Option("--recipe", metavar="NAME", help="Settings to begin with; `coevolve recipes` lists them.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="TOML file over the recipe.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="One setting over the file, such as policy.name=scripted; may be repeated."),
]
Block = Annotated[
    list[str] | None, typer.Option("--block-plugin", metavar="NAME", help="Do not load this plugin (or pattern); may be repeated.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
