"""The command line. Exit codes: 0 done, 1 something was found wrong, 2 the user can mend it, 3 a fault stopped it, 130 or 143 stopped.

An error that the user can mend is one line on stderr; any other exception keeps its traceback. Commands import what they run.
"""

import json
import sys
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..errors import CoevolveError, UserError
from ..run.exit_codes import fail, follows, resumable
from .env import env

if TYPE_CHECKING:
    from ..registry import Registry
    from ..rollouts.evaluation_report import EvaluationReport
    from ..settings.config import Config
    from ..settings.sources import SettingSource

app = typer.Typer(
    help="Train an LLM agent and its training data together: GRPO, weakness signals, guided synthesis of executable tasks.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(env, name="env")

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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
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
        from coevolve import __version__

        print(f"coevolve {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
    if follows() and context.invoked_subcommand not in ("run", "resume"):
        raise typer.Exit  # what is no run the first process does alone


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
    """Train, and evolve the tasks. Stopped anywhere, it goes on with `coevolve resume`."""
    settings, registry = _prepare(
        [
            *_sources(recipe, config, sets),
            *_shortcut("--seed", "seed", seed),
            *_shortcut("--steps", "steps", steps),
            *_shortcut("--teacher-budget", "synthesizer.budget", teacher_budget),
            *_shortcut("--replay", "replay", str(replay.absolute()) if replay else None),
        ],
        block,
    )
    if dry_run:
        from .plan import plan

        if not follows():
            print("\n".join(plan(settings, registry, here=True).lines))
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
    """What a run would take: counts, memory by part, the cost of an iteration, which GPUs hold it. Loads no model, writes nothing."""
    from .plan import plan as made

    found = made(*_prepare(_sources(recipe, config, sets), block), processes)
    print("\n".join([*found.lines, *found.others]))


@app.command(short_help="Go on with a run.")
def resume(folder: RunFolder, sets: Sets = None) -> None:
    """Go on with a run from its last checkpoint; `--set steps=N` makes it longer."""
    from ..record.run_folder import run_file
    from ..run.drive import follow, resume_from
    from ..settings.config import resolve

    sources = _sources(None, run_file(folder), sets)
    registry = _load(sources)
    if follows():
        with resumable(None):
            raise typer.Exit(follow(resolve(registry, sources), registry))
    with resumable(folder):
        resume_from(registry, folder, sources)


@app.command("eval", short_help="Success of a policy on a split.")
def evaluate(
    recipe: Recipe = "desk",
    config: ConfigFile = None,
    sets: Sets = None,
    environment: Annotated[str | None, typer.Option("--env", metavar="NAME", help="Short for --set environment.name=NAME.")] = None,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Short for --set policy.name=NAME.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="PATH", help="Short for --set policy.model=PATH, such as RUN/policy; several make a table."),
    ] = None,
    arms: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="TOML file with a table [[policy]] for each policy to evaluate, for one table."),
    ] = None,
    split: Annotated[str | None, typer.Option("--split", metavar="NAME", help="Short for --set evaluation.split=NAME.")] = None,
    tasks: Annotated[int, typer.Option("--tasks", metavar="N", min=0, help="How many of the split's tasks (0: all).")] = 0,
    mode: Annotated[
        Literal["greedy", "sampled"], typer.Option("--mode", help="greedy: temperature 0; sampled: the training temperature.")
    ] = "greedy",
    samples: Annotated[
        int, typer.Option("--samples", metavar="K", min=1, help="Rollouts of each task: the k of avg@k and best@k (pass@k).")
    ] = 1,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Do it with N seeds, from the configuration's on.")] = 1,
    as_json: AsJson = False,
    block: Block = None,
) -> None:
    """Success of a policy on a split of an environment; trains nothing."""
    from ..rollouts.evaluation import arms as read
    from ..rollouts.evaluation import check_policy, run_eval

    if arms and (policy or model):
        raise UserError("--from names the policies already: remove --policy and --model")
    common = [
        *_sources(recipe, config, sets),
        *_shortcut("--env", "environment.name", environment),
        *_shortcut("--split", "evaluation.split", split),
        *_shortcut("--policy", "policy.name", policy),
    ]
    each = [[arm] for arm in read(arms)] if arms else [_shortcut("--model", "policy.model", path) for path in model or (None,)]
    # every arm's settings and files are checked before the first one takes its time
    ready = [_prepare([*common, *own], block) for own in each]
    for settings, registry in ready:
        check_policy(settings, registry)
    reports: list[EvaluationReport] = []
    with resumable(None):
        try:
            for settings, registry in ready:
                reports.append(run_eval(settings, registry, tasks=tasks, mode=mode, samples=samples, seeds=seeds))
        finally:  # what is done is shown, whatever became of the rest
            if reports:
                _print_reports(reports, alone=len(ready) == 1, as_json=as_json)


def _print_reports(reports: "list[EvaluationReport]", *, alone: bool, as_json: bool) -> None:
    from rich.console import Console

    from ..rollouts.evaluation_report import render_table

    if as_json:
        print(reports[0].to_json() if alone else json.dumps({"evaluations": [report.as_dict() for report in reports]}))
    elif alone:
        reports[0].render(Console(soft_wrap=True))
    else:
        console = Console()
        render_table(reports, console if console.is_terminal else Console(width=160))


@app.command(short_help="What a benchmark's leaderboard takes.")
def leaderboard(
    environment: Annotated[str, typer.Argument(metavar="ENV", help="The run's environment, such as appworld.", show_default=False)],
    folder: RunFolder,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to write it, or to go on; RUN/leaderboard if not given.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What to call it there; the run's folder if not given.")
    ] = None,
    sets: Sets = None,
) -> None:
    """Let the trained policy attempt what a benchmark's leaderboard asks for, and write what it takes. Stopped anywhere, the same command
    goes on."""
    from ..leaderboard import submit
    from ..record.run_folder import run_file
    from ..settings.config import resolve

    sources = _sources(None, run_file(folder), sets)
    registry = _load(sources)
    registry.component("environment", environment)
    config = resolve(registry, sources)
    if config.environment.name != environment:
        raise UserError(f"the run in {folder} is on {config.environment.name!r}, not {environment!r}; name a run on {environment!r}")
    for line in submit(config, registry, folder, out or folder / "leaderboard", name):
        print(line)


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
        print(line)


@app.command(short_help="Which plugins are loaded or broken.")
def plugins(block: Block = None, as_json: AsJson = False) -> None:
    """Which plugins are loaded, from which distribution, and what is wrong with those that are not (then the exit code is 1)."""
    from ..registry import load_plugins

    registry = load_plugins(block=block or ())
    conflicts = registry.conflicts()
    if as_json:
        from attrs import asdict

        print(json.dumps({"plugins": [asdict(record) for record in registry.records], "conflicts": conflicts}, indent=1))
    else:
        for record in registry.records:
            offers = ", ".join(record.components or record.hooks)
            print(f"{record.name} ({record.distribution} {record.version}): {f'BROKEN: {record.error}' if record.error else offers}")
        for line in conflicts:
            print(f"CONFLICT: {line}")
    if conflicts or any(record.error for record in registry.records):
        raise typer.Exit(1)


@app.command(short_help="Every option of a component, with its text.")
def options(
    component: Annotated[
        str | None, typer.Argument(metavar="KIND:NAME", help="A component, such as signal:rare; core's settings if not given.")
    ] = None,
    block: Block = None,
) -> None:
    """Every option of a component with its default, its unit and what it does; without a component core's own settings, and a list of the
    components."""
    from .option_list import option_list

    print("\n".join(option_list(component, block or ())))


@app.command()
def recipes() -> None:
    """The recipes that `--recipe` takes."""
    from ..settings.sources import recipes as known

    for name, line in known().items():
        print(f"{name}: {line}")


@app.command("config", short_help="Print the resolved configuration.")
def config_(recipe: Recipe = "desk", config: ConfigFile = None, sets: Sets = None, block: Block = None) -> None:
    """Print the resolved configuration as TOML: every setting, defaults included. `--config` takes it back."""
    settings, _ = _prepare(_sources(recipe, config, sets), block)
    from ..settings.config import dump_toml

    sys.stdout.write(dump_toml(settings))


def _sources(recipe: str | None, file: Path | None, sets: Sequence[str] | None) -> "list[SettingSource]":
    from ..settings.sources import setting_sources

    return setting_sources(recipe, file, sets or ())


def _shortcut(option: str, path: str, value: object) -> "list[SettingSource]":
    """The source of an option that stands for the setting at `path`; empty where the option was not given."""
    from ..settings.sources import option_source

    return [] if value is None else [option_source(option, path, value)]


def _load(sources: "Sequence[SettingSource]") -> "Registry":
    """Load the plugins that the settings allow; prints a line on stderr for each broken one."""
    from ..registry import load_plugins
    from ..settings.config import plugin_choice

    choice = plugin_choice(sources)
    registry = load_plugins(only=choice.only, block=choice.block)
    for record in registry.records:
        if record.error:
            print(f"coevolve: plugin {record.name} is broken and was skipped: {record.error}", file=sys.stderr)
    return registry


def _prepare(sources: "Sequence[SettingSource]", block: Sequence[str] | None) -> "tuple[Config, Registry]":
    """The resolved configuration and the plugins that it allows; those in `block` are blocked as well."""
    from ..settings.config import plugin_choice, resolve

    if block:
        sources = [*sources, *_shortcut("--block-plugin", "plugins.block", [*plugin_choice(sources).block, *block])]
    registry = _load(sources)
    return resolve(registry, sources), registry


def _new_folder(name: str) -> Path:
    """Make and return runs/NAME-TIME, with -2, -3 ... behind it where another run began in the same second."""
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
