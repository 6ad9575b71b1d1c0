"""`coevolve judge`: read tasks as an annotator does, give verdicts, and say what the verdicts and the tasks amount to."""

import getpass
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UserError, did_you_mean
from .arguments import Block
from .output import say, say_error

if TYPE_CHECKING:
    from ..contracts import Environment
    from ..judging.sample import Sample
    from ..judging.verdicts import TaskVerdict
    from ..judging.view import TaskView
    from ..model import Task

SAMPLE = 25
"""Tasks of a run that are shown or judged where the user names no number."""
WIDTH = 100
"""Columns of a text that is written to a file."""


def judge(
    source: Annotated[
        Path | None,
        typer.Argument(metavar="RUN|FILE", help="Folder of a run, or a file of tasks that --export wrote.", show_default=False),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="N", min=0, help=f"Tasks to draw, 0 for all; {SAMPLE} of a run and all of a file if not given."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Seed of the draw: the same one draws the same tasks.")] = 0,
    origin: Annotated[
        str | None,
        typer.Option("--origin", metavar="KIND", help="Only tasks of this origin (a synthesizer, or seed); all but seeds if not given."),
    ] = None,
    format: Annotated[str, typer.Option("--format", metavar="FORMAT", help="text, markdown, or jsonl with verdicts to fill in.")] = "text",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there instead of printing.")] = None,
    tools: Annotated[bool, typer.Option("--tools", help="Show the tools with their parameters.")] = False,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write the sample's tasks to a file that this command reads.")
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Ask for a verdict on each task; begins where the judge stopped.")] = False,
    name: Annotated[str | None, typer.Option("--judge", metavar="NAME", help="The judge's name; the login name if not given.")] = None,
    verdicts: Annotated[
        Path | None, typer.Option("--verdicts", metavar="FILE", help="Take verdicts from JSON lines: task, verdict, reasons, note, judge.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Let this model judge, behind an endpoint.")] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="The endpoint of --model, OpenAI-compatible; OpenAI's if not given.")
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option("--api-key-env", metavar="VARIABLE", help="The variable that holds its key; OPENAI_API_KEY if not given.")
    ] = None,
    report: Annotated[bool, typer.Option("--report", help="What the verdicts so far say: shares, reasons, agreement.")] = False,
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Shares by what synthesizers note (goal, operator), not by origin.")
    ] = None,
    diversity: Annotated[bool, typer.Option("--diversity", help="How various the tasks are, beside tasks of the benchmark.")] = False,
    beside: Annotated[
        str | None, typer.Option("--beside", metavar="SPLIT", help="The split that --diversity compares with; train if not given.")
    ] = None,
    rubric: Annotated[bool, typer.Option("--rubric", help="Print what makes a task good, and the reason codes.")] = False,
    block: Block = None,
) -> None:
    """Read a sample of a run's tasks as an annotator does: the request, the solution with its results, what it changed. Take verdicts by a
    person (--ask), from a file (--verdicts) or by a model (--model), keep them beside the tasks, and report shares with 95 % intervals."""
    if rubric:
        from ..judging.rubric import rubric as text

        say(text(), end="")
        return
    if source is None:
        raise UserError("name the run or the file of tasks to judge: coevolve judge RUN (see coevolve judge --help)")
    doing = {"--export": export, "--ask": ask, "--verdicts": verdicts, "--model": model, "--report": report, "--diversity": diversity}
    _check(doing, format, {"--base-url": base_url, "--api-key-env": api_key_env} if not model else {}, beside if not diversity else None)
    from ..judging.sample import drawn, read_sample

    read = read_sample(source, block or ())
    reports = report or verdicts is not None
    count = sample if sample is not None else 0 if reports or source.is_file() else SAMPLE
    chosen = drawn(read, origin, count, seed)
    if by is not None and not reports:
        raise UserError("--by is of the report: give --report too")
    if export:
        from ..judging.sample import export as write_export

        write_export(chosen, export)
        say(f"{len(chosen.tasks)} tasks in {export}")
    elif verdicts:
        _take(chosen, verdicts)
        _report(chosen, by)
    elif report:
        _report(chosen, by)
    elif diversity:
        _diversity(chosen, beside)
    elif ask:
        _ask(chosen, name, tools)
    elif model:
        _by_model(chosen, model, base_url, api_key_env)
    else:
        _show(chosen, format, out, tools)


def _check(doing: Mapping[str, object], format: str, unused: Mapping[str, str | None], beside: str | None) -> None:
    """UserError for options that do not fit together."""
    from ..judging.rendering import FORMATS

    given = [option for option, value in doing.items() if value]
    if len(given) > 1:
        raise UserError(f"{given[0]} and {given[1]} are different things to do: give one of them at a time")
    if format not in FORMATS:
        raise UserError(f"--format takes {', '.join(FORMATS)}, found {format!r}{did_you_mean(format, FORMATS)}")
    for option, value in unused.items():
        if value is not None:
            raise UserError(f"{option} is of the model that judges: name it with --model NAME")
    if beside is not None:
        raise UserError("--beside names the split of --diversity: give that too")


def _environment(sample: "Sample") -> "Environment":
    from ..isolation.checked_environment import checked

    config = sample.config
    splits = tuple(dict.fromkeys((config.train_split, config.evaluation.split)))
    return checked(sample.registry.make("environment", config.environment), splits)


def _views(sample: "Sample", tasks: "Sequence[Task]") -> "Iterator[tuple[Task, TaskView]]":
    from ..judging.view import view_of

    environment = _environment(sample)
    for task in tasks:
        yield task, view_of(environment, task, sample.doors.get(task.id, ""))


def _show(sample: "Sample", format: str, out: Path | None, tools: bool) -> None:
    from ..judging.rendering import as_json, as_markdown, as_text
    from ..judging.sample import write

    width, of = WIDTH if out else _width(), len(sample.tasks)
    texts = []
    for number, (_, view) in enumerate(_views(sample, sample.tasks), 1):
        if format == "jsonl":
            text = as_json(view, signatures=tools)
        elif format == "markdown":
            text = as_markdown(view, number, of, signatures=tools)
        else:
            text = as_text(view, number, of, width, signatures=tools)
        if out is None:
            say(text)
        texts.append(text)
    if out is not None:
        write(out, "\n".join(texts) + "\n")
        say(f"{of} tasks in {out}")


def _width() -> int:
    from rich.console import Console

    return Console().width


def _take(sample: "Sample", file: Path) -> None:
    from ..judging.verdicts import keep, read_verdicts

    found = read_verdicts(file, sample.whole)
    if file.resolve() != sample.kept.resolve():
        keep(sample.kept, found)
    say(f"{len(found)} verdicts taken from {file}; all are kept in {sample.kept}")


def _report(sample: "Sample", by: str | None = None) -> None:
    from ..judging.report import report
    from ..judging.verdicts import kept_verdicts

    for line in report(sample.tasks, kept_verdicts(sample.kept, sample.whole), by):
        say(line)


def _diversity(sample: "Sample", beside: str | None) -> None:
    from ..isolation.guard import check_splits, tasks_of
    from ..judging.diversity import compared

    environment, config = _environment(sample), sample.config
    split = beside or config.train_split
    check_splits(environment, [split], config.tasks_timeout)
    for line in compared(environment, sample.tasks, tasks_of(environment, split, config.tasks_timeout), split):
        say(line)


def _left(sample: "Sample", judge: str) -> "list[Task]":
    """The sample's tasks that `judge` has not judged yet."""
    from ..judging.verdicts import kept_verdicts

    judged = {verdict.task for verdict in kept_verdicts(sample.kept, sample.whole) if verdict.judge == judge}
    left = [task for task in sample.tasks if task.id not in judged]
    say(f"{len(left)} of {len(sample.tasks)} tasks are left for judge {judge}; verdicts are kept in {sample.kept}")
    return left


def _ask(sample: "Sample", name: str | None, tools: bool) -> None:
    from ..judging.asking import ask
    from ..judging.rendering import as_text
    from ..judging.verdicts import keep

    judge = name or getpass.getuser()
    left = _left(sample, judge)
    shown = (
        (task, as_text(view, number, len(left), _width(), signatures=tools), view)
        for number, (task, view) in enumerate(_views(sample, left), 1)
    )
    for verdict in ask(shown, judge, input, say):
        keep(sample.kept, [verdict])
    _report(sample)


def _by_model(sample: "Sample", model: str, base_url: str | None, api_key_env: str | None) -> None:
    from ..judging.model_judge import judge_by_model, judge_policy
    from ..judging.rendering import as_json
    from ..judging.verdicts import keep

    name = f"model:{model}"
    policy = judge_policy(sample.registry, model, base_url, api_key_env)
    shown = [(task, as_json(view, signatures=True)) for task, view in _views(sample, _left(sample, name))]

    def failed(task: "Task", why: str) -> None:
        say_error(f"coevolve: {task.id} has no verdict of {name}: {why}")

    lots: Iterator[list[TaskVerdict]] = judge_by_model(policy, shown, name, failed)
    for lot in lots:
        keep(sample.kept, lot)
    _report(sample)
