"""Commands that plugins add: they are listed and run like core's own; a broken plugin takes nothing down."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer import Typer

from coevolve import hookimpl
from coevolve.core.cli.main import main
from coevolve.core.registry import COMMAND_PLUGINS, DEFAULT_PLUGINS, command_hooks, load_plugins
from coevolve.testing import registered

Call = Callable[..., int]
Read = pytest.CaptureFixture[str]
CORE = ["run", "plan", "resume", "eval", "show", "why", "judge", "plugins", "options", "recipes", "config", "env"]

COMMANDS = """
import typer

from coevolve import UserError, hookimpl, trained_run
from coevolve.testing import Stockroom

group = typer.Typer()

@group.callback()
def leaderboard():
    "Boards."

@group.command()
def stockroom(folder: str):
    "Write what the board takes."
    from pathlib import Path
    with trained_run(Path(folder), "stockroom") as run:
        groups = run.attempt(run.environment.tasks("test")[:3], lambda task, episode: None)
        print(len(groups), "attempts")

@hookimpl
def coevolve_commands(app):
    app.add_typer(group, name="leaderboard")

    @app.command()
    def hello(name: str = "you"):
        "Greet."
        if name == "nobody":
            raise UserError("nobody is there; name somebody")
        print("hello", name)
"""


@pytest.fixture
def install(here: Path) -> Iterator[Callable[[str, str], None]]:
    """`install("mine", TEXT)` installs a plugin with that module beside the working folder."""

    def written(name: str, text: str) -> None:
        site = here.parent / "site"
        (site / f"coevolve_{name}.py").write_text(text)
        info = site / f"coevolve_{name}-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: coevolve-{name}\nVersion: 0.1.0\n")
        (info / "entry_points.txt").write_text(f"[coevolve]\n{name} = coevolve_{name}\n")

    yield written
    for name in [name for name in sys.modules if name in ("coevolve_talk", "coevolve_bad")]:
        del sys.modules[name]


def listed(call: Call, capfd: Read) -> tuple[list[str], str]:
    """The commands that the help lists, and what stands on stderr."""
    assert call("--help") == 0
    out, err = capfd.readouterr()
    return [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines()], err


def test_a_plugins_commands_are_commands(call: Call, capfd: Read, install: Callable[[str, str], None]) -> None:
    install("talk", COMMANDS)
    assert listed(call, capfd) == ([*CORE, "leaderboard", "hello"], "")
    assert call("hello", "--name", "me") == 0
    assert capfd.readouterr() == ("hello me\n", "")
    assert call("hello", "--name", "nobody") == 2
    assert capfd.readouterr().err == "coevolve: nobody is there; name somebody\n"
    assert call("hello", "--nmae", "me") == 2
    assert "(see coevolve hello --help)" in capfd.readouterr().err
    assert call("helo") == 2
    assert "Did you mean 'hello'?" in capfd.readouterr().err


def test_groups_of_one_name_are_joined_and_a_command_opens_a_run(call: Call, capfd: Read, install: Callable[[str, str], None]) -> None:
    install("talk", COMMANDS)
    assert call("leaderboard", "--help") == 0
    out = capfd.readouterr().out
    assert "  appworld " in out and "  stockroom " in out
    assert call("run", "--config", "fast.toml", "--steps", "1", "--out", "done") == 0
    capfd.readouterr()
    assert call("leaderboard", "stockroom", "done") == 0
    assert capfd.readouterr().out == "3 attempts\n"
    assert call("leaderboard", "appworld", "done") == 2
    assert "is on 'stockroom', not 'appworld'; name a run on 'appworld'" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("from coevolve import hookimpl\n@hookimpl\ndef coevolve_commands(app):\n    1 / 0", "ZeroDivisionError: division by zero"),
        ("from coevolve import hookimpl\n@hookimpl\ndef coevolve_commands(app):\n    app.command('run')(print)", "command 'run' already"),
        ("from coevolve import hookimpl\n@hookimpl\ndef coevolve_commands(app):\n    raise SystemExit(7)", "SystemExit: 7"),
        ("1 / 0", ""),
        ("from coevolve import hookimpl\n@hookimpl\ndef coevolve_comands(app):\n    pass", ""),
    ],
    ids=["raises", "a command of core", "exits", "no import", "a misspelt hook"],
)
def test_a_broken_plugin_breaks_no_help(call: Call, capfd: Read, install: Callable[[str, str], None], text: str, error: str) -> None:
    install("bad", text)
    install("talk", COMMANDS)
    names, err = listed(call, capfd)
    assert names == [*CORE, "leaderboard", "hello"]
    if error:
        assert err.startswith("coevolve: the commands of plugin bad are missing: ") and error in err and err.count("\n") == 1
    else:
        assert err == ""
    assert call("recipes") == 0
    assert capfd.readouterr().err == "", "core's own commands load no plugin's"


def test_the_default_plugins_with_commands_are_known_without_importing_the_others() -> None:
    assert set(COMMAND_PLUGINS) <= set(DEFAULT_PLUGINS)
    with_commands = [record.name for record in load_plugins(only=["coevolve.*"]).records if "coevolve_commands" in record.hooks]
    assert with_commands == list(COMMAND_PLUGINS)
    assert [name for name, _ in command_hooks(["coevolve.*"])] == with_commands


def test_a_registered_plugin_has_its_commands_too(capfd: Read) -> None:
    class Talk:
        @hookimpl
        def coevolve_commands(self, app: Typer) -> None:
            app.command("talk", help="Talk.")(lambda: print("talked"))

    with registered(Talk()):
        assert main(["talk"]) == 0
    assert capfd.readouterr().out == "talked\n"
    assert main(["talk"]) == 2
