"""The commands of `coevolve env`: environments, and the data that some of them need."""

from typing import Annotated

import typer

from ..errors import UserError
from .output import say

env = typer.Typer(help="Environments, and the data that some of them need.", rich_markup_mode=None)

EnvironmentName = Annotated[str, typer.Argument(metavar="NAME", help="An environment of `coevolve env list`.", show_default=False)]


@env.callback(invoke_without_command=True)
def env_root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        say(context.get_help())


@env.command("list", short_help="Which environments there are.")
def env_list() -> None:
    """Environments, and whether they are ready to be used."""
    from ..optional import NOTE, Installable
    from ..registry import load_plugins

    registry = load_plugins()
    for name in registry.names("environment"):
        component = registry.component("environment", name)
        ready = not (issubclass(component, Installable) and any(not line.startswith(NOTE) for line in component.doctor(thorough=False)))
        origin = registry.distribution("environment", name)
        say(f"{name} ({origin}): {'ready' if ready else f'needs `coevolve env setup {name}`'}")


@env.command("setup", short_help="Fetch an environment's data.")
def env_setup(
    name: EnvironmentName,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the environment's own set-up; may be repeated."),
    ] = None,
) -> None:
    """Fetch the data that an environment needs; doing it again is harmless."""
    from ..optional import Installable
    from ..registry import load_plugins

    component = load_plugins().component("environment", name)
    settings = dict(_setting(setting) for setting in sets or ())
    if issubclass(component, Installable):
        say(f"{name}: {component.setup(**settings)}")
    elif settings:
        raise UserError(f"environment {name!r} needs no set-up and takes no settings; remove --set")
    else:
        say(f"{name}: needs no set-up")


@env.command("doctor", short_help="Name what an environment lacks.")
def env_doctor(name: EnvironmentName) -> None:
    """Name what an environment lacks (then the exit code is 1)."""
    from ..optional import NOTE, Installable
    from ..registry import load_plugins

    component = load_plugins().component("environment", name)
    found = component.doctor() if issubclass(component, Installable) else []
    for line in found:
        say(f"{name}: {line}")
    if any(not line.startswith(NOTE) for line in found):
        raise typer.Exit(1)
    say(f"{name}: ready")


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise UserError(f"--set takes KEY=VALUE, found {text!r}")
    return key, value
