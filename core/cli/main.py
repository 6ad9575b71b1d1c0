"""The command line.

Exit codes: 0 done; 1 a check found something wrong; 2 an error that the user can fix; 3 a fault; 130 interrupted; 143 terminated.

An error that the user can fix is one line on stderr; any other exception keeps its traceback. Commands import what they run.
"""

import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from ..errors import CoevolveError, UserError
from ..run.exit_codes import fail, resumable
from ..run.launcher import another_runs, check_launch, follows, world_size
from .arguments import Block, ConfigFile, Recipe, RunFolder, Sets
from .env import env
from .evaluate import evaluate
from .judge import judge
from .listings import config, options, plugins, recipes
from .output import any_text, say
from .plugin_commands import PluginGroup

app = typer.Typer(
    cls=PluginGroup,
    help="Train an LLM agent and its training data together: GRPO, weakness signals, guided synthesis of executable tasks.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(env, name="env")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    any_text()
    try:
        code = app(args=None if argv is None else list(argv), prog_name="coevolve", standalone_mode=False)
    except UserError as error:
        return fail(2, str(error))
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)  # of the command that was being parsed; only some of these errors have one
        return fail(error.exit_code, f"{error.format_message()} (see {context.command_path if context else 'coevolve'} --help)")
    except CoevolveError as error:
        return fail(3, str(error))
    except typer.Abort:
        return fail(130, "stopped")
    return code if isinstance(code, int) else 0


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        from ..version import __version__

        say(f"coevolve {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help())
    if context.invoked_subcommand in ("eval", "plan"):
        world_size()
    if another_runs() and context.invoked_subcommand not in ("run", "resume"):
        raise typer.Exit  # rank 0 alone runs commands that are not runs


@app.command(short_help="Train, and evolve the tasks.")
def run(
    recipe: Recipe = "desk",
    config: ConfigFile = None,
    sets: Sets = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run's folder, new or empty; runs/RECIPE-TIME if not given.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Short for --set seed=N.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", metavar="N", help="Short for --set steps=N.")] = None,
    teacher_budget: Annotated[
        str | None,
        typer.Option("--teacher-budget", metavar="AMOUNT", help="Short for --set synthesizer.budget=AMOUNT: 200calls, 1e6tokens or 5cost."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="RUN", help="Answer every request to a teacher from the run in this folder: no network, no cost."),
    ] = None,
    block: Block = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the settings and print what the run would take; loads no model, writes nothing.")
    ] = False,
) -> None:
    """Train, and evolve the tasks. A run that was stopped anywhere continues with `coevolve resume`."""
    from ..run.prepare import prepare
    from ..settings.sources import given_options, setting_sources

    given = given_options(
        ("--seed", "seed", seed),
        ("--steps", "steps", steps),
        ("--teacher-budget", "synthesizer.budget", teacher_budget),
        ("--replay", "replay", str(replay.absolute()) if replay else None),
    )
    settings, registry = prepare([*setting_sources(recipe, config, sets or ()), *given], block or ())
    check_launch()
    if dry_run:
        from .plan import plan

        if not follows():
            say("\n".join(plan(settings, registry, here=True)))
        return
    from ..run.drive import follow, start

    if follows():
        with resumable(None):
            raise typer.Exit(follow(settings, registry))
    folder = out or _new_folder(config.stem if config else recipe)
    with resumable(folder):
        start(settings, registry, folder)


@app.command(short_help="What a run would take, and which GPUs hold it.")
def plan(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe's name, as `coevolve recipes` lists them.")] = "desk",
    config: ConfigFile = None,
    sets: Sets = None,
    block: Block = None,
    processes: Annotated[int, typer.Option(min=1, help="Number of GPUs, each with a process of its own, to plan for beside one.")] = 8,
) -> None:
    """What a run would take: counts, and estimates of memory and cost, also on GPUs. Loads no model, writes nothing."""
    from ..run.prepare import prepare
    from ..settings.sources import setting_sources
    from .plan import plan as lines

    say("\n".join(lines(*prepare(setting_sources(recipe, config, sets or ()), block or ()), processes)))


@app.command(short_help="Continue a run that was stopped.")
def resume(folder: RunFolder, sets: Sets = None) -> None:
    """Continue a run from its last checkpoint; `--set steps=N` makes it longer."""
    from ..record.run_check import run_file
    from ..run.drive import follow, resume_from
    from ..run.prepare import load_allowed
    from ..settings.config import resolve
    from ..settings.sources import setting_sources

    sources = setting_sources(None, run_file(folder), sets or ())
    registry = load_allowed(sources)
    check_launch()
    if follows():
        with resumable(None):
            raise typer.Exit(follow(resolve(registry, sources), registry))
    with resumable(folder):
        resume_from(registry, folder, sources)


app.command("eval", short_help="Success of a policy on a split.")(evaluate)


@app.command(short_help="What happened in a run.")
def show(
    folder: RunFolder,
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="Id of a task: its origin, attempts and transcripts.", show_default=False)
    ] = None,
) -> None:
    """What happened in a run, or to one of its tasks."""
    from rich.console import Console

    from .show import show as render

    render(folder, task, Console())


@app.command(short_help="Where a task came from, and what became of it.")
def why(
    folder: RunFolder,
    task: Annotated[str, typer.Argument(metavar="TASK", help="Id of a task, admitted or refused.", show_default=False)],
    full: Annotated[bool, typer.Option("--full", help="Requests, replies and observations in full.")] = False,
) -> None:
    """A task's story: the signal and its rollouts, the reflection, the exploration, the teacher's calls with their cost, the verdict, and
    its success since."""
    from .why import why as story

    for line in story(folder, task, full=full):
        say(line)


app.command(short_help="Read, judge and compare the tasks that a run made.")(judge)
app.command(short_help="Which plugins are loaded or broken.")(plugins)
app.command(short_help="Every option of a component, with its text.")(options)
app.command(short_help="The recipes that --recipe takes.")(recipes)
app.command(short_help="Print the resolved configuration.")(config)


def _new_folder(name: str) -> Path:
    """Make and return runs/NAME-TIME, with -2, -3 ... appended where another run started in the same second."""
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    for n in count(1):
        folder = Path("runs", stem if n == 1 else f"{stem}-{n}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if n < 1000 and Path("runs").is_dir():
                continue
            raise UserError(f"cannot make {folder}: choose another folder with --out DIR") from None
        except OSError as error:
            raise UserError(f"cannot make {folder}: {error.strerror}; choose a writable folder with --out DIR") from error
        return folder
    raise AssertionError("unreachable")
