"""Texts of models, teachers, tasks, plugins and paths are shown, and never act on the terminal."""

import io
import logging
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from rich.console import Console

from coevolve import CandidateTask, ExplorationContext, Origin, Signal, Verdict, command_line, printable
from coevolve.core.cli.main import main
from coevolve.core.cli.output import any_text
from coevolve.core.model import TaskPool, TeacherCall
from coevolve.core.record.store import Store
from coevolve.core.run.exit_codes import fail
from coevolve.plugins.reporters.final_table import last_line
from coevolve.plugins.reporters.live import LiveReporter
from coevolve.plugins.reporters.plain import PlainReporter
from coevolve.plugins.reporters.progress import Progress
from coevolve.testing import make_group, make_task

NASTY = "\x1b]0;title\x07\x1b[31m[red]x[/red] :warning: [/] \x9b2J\r\x08\x7f\u202e\ud800end"
SHOWN = r"\u001b]0;title\u0007\u001b[31m[red]x[/red] :warning: [/] \u009b2J\u000d\u0008\u007f\u202e\ud800end"
ACTS = [chr(n) for n in (*range(9), *range(11, 32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A))]


def harmless(text: str) -> bool:
    return not any(character in text for character in ACTS)


def test_what_acts_is_escaped_and_the_rest_is_kept() -> None:
    assert printable(NASTY) == SHOWN
    assert printable("größe ☃ שלום 😀 \t tab\nline\r\nnext") == "größe ☃ שלום 😀 \t tab\nline\nnext"
    assert printable(printable(NASTY)) == printable(NASTY)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run all of whose texts are hostile."""
    nasty = NASTY.replace("\ud800", "")  # a store holds no surrogates raw
    store = Store(tmp_path / "run.sqlite", create=True)
    seed = make_task("seed-1", query=nasty)
    made = evolve(make_task("made-1", query=nasty), intent=nasty, origin=Origin(nasty, 1, None, (seed.id,), {"note": nasty}))
    store.add_pool(0, TaskPool((seed, made)), [seed, made])
    group = make_group("seed-1", (1.0, 0.0))
    spoken = tuple(
        evolve(t, messages=({"role": nasty, "content": nasty},), fault=nasty if n else None) for n, t in enumerate(group.trajectories)
    )
    group = evolve(group, task=seed, iteration=1, trajectories=spoken)
    store.add_groups([group, evolve(group, task=made)])
    signal = Signal(nasty, "seed-1", 1, 0.5, evidence={"seen": nasty})
    store.add_signals(1, [signal])
    context = ExplorationContext(signal, nasty, (nasty,))
    store.add_verdict(1, CandidateTask(made, context=context, calls=("key",)), Verdict(True, "", nasty))
    refused = evolve(made, id="made-2")
    store.add_verdict(1, CandidateTask(refused, context=context), Verdict(False, nasty, nasty))
    store.add_evaluation(0, nasty, nasty, 0.5, 4, 0)
    store.add_teacher_call(TeacherCall("key", 1, nasty, nasty, {"messages": [{"role": "user", "content": nasty}]}, nasty, nasty))
    store.close()
    return tmp_path


@pytest.mark.parametrize(
    "words", ["show", "show seed-1", "show made-2", "why seed-1", "why made-1", "why made-1 --full", "why made-2 --full"]
)
@pytest.mark.parametrize("terminal", [False, True], ids=["file", "terminal"])
def test_commands_on_a_run(
    words: str, terminal: bool, run: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    command, *rest = words.split()
    assert main([command, str(run), *rest]) == 0
    out, err = capfd.readouterr()
    assert err == "" and r"[31m[red]x[/red] :warning: [/] \u009b2J" in out
    assert "\x1b]" not in out and "\x1b[31m" not in out
    assert terminal or harmless(out)


def summary() -> dict[str, Any]:
    counts = {NASTY: 1}
    return {
        "environment": NASTY, "seed": 0, "iterations": 1, "overlap": NASTY, "train_success": None, "signals": counts, "pool": counts,
        "held_out": {NASTY: {"before": 0.0, "after": 1.0, "tasks": 1}}, "rejected": counts, "rollouts": 1, "faults": counts, "share": None,
        "teacher": {NASTY: {"calls": 1, "failed": 0, "tokens": 1, "cost": 0.0}}, "repaired": counts, "wall_seconds": 1.0,
    }  # fmt: skip


def play(reporter: Any, folder: Path) -> None:
    reporter.coevolve_evaluated(iteration=0, results={NASTY: 0.5})
    reporter.coevolve_signals_detected(iteration=1, signals=[Signal(NASTY, "a", 1, 0.5)])
    reporter.coevolve_task_admitted(iteration=1, candidate=CandidateTask(make_task(f"{NASTY}\nnew", query=NASTY)))
    reporter.coevolve_task_rejected(iteration=1, candidate=CandidateTask(make_task(f"{NASTY}\nold")), verdict=Verdict(False, f"{NASTY}\n"))
    reporter.coevolve_diagnosed(iteration=1, text=NASTY)
    reporter.coevolve_run_finished(folder=folder, summary=summary())


def test_plain_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    reporter, folder = PlainReporter(), Path("runs", NASTY)
    reporter.coevolve_run_started(folder=folder, config={"steps": 1, "environment": {"name": NASTY}}, iteration=0)
    play(reporter, folder)
    out = capsys.readouterr().out
    assert harmless(out) and out.count(SHOWN) >= 15
    assert not any(line.startswith(("new", "old")) for line in out.splitlines())


def test_the_live_display_and_the_final_table() -> None:
    out = io.StringIO()
    reporter = LiveReporter()
    reporter.begin(Console(file=out, force_terminal=True, width=1000, color_system=None), Progress(4, 0))
    play(reporter, Path("runs", NASTY))
    reporter.coevolve_run_left(folder=Path())
    text = out.getvalue()
    assert text.count(SHOWN) >= 12
    assert "\x1b]" not in text and "\x1b[31m" not in text and "\x9b" not in text and "\u202e" not in text


def test_errors_log_lines_and_tracebacks(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    any_text()
    assert fail(2, NASTY) == 2
    assert logging.lastResort is not None
    logging.lastResort.emit(logging.LogRecord("plugin", logging.WARNING, "", 0, "closing failed: %s", (NASTY,), None))
    error = ValueError(NASTY)
    sys.excepthook(ValueError, error, None)
    err = capsys.readouterr().err
    assert harmless(err) and err.count("title") == 3


@pytest.mark.parametrize("folder", ["runs/a b", "runs/it's", "runs/$HOME", "runs/a;b", "-r", "runs/[red]x[/red]"])
def test_printed_commands_can_be_copied(folder: str) -> None:
    assert shlex.split(command_line("coevolve", "resume", Path(folder), "--set", "a=[1, 2]")) == [
        "coevolve", "resume", folder, "--set", "a=[1, 2]",
    ]  # fmt: skip
    assert shlex.split(last_line(Path(folder)).rpartition(": ")[2]) == ["coevolve", "show", folder]
