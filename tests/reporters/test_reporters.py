"""The live display, the plain lines and the final table, driven through their hooks and read as text."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from coevolve import CandidateTask, Signal, Verdict
from coevolve.plugins.reporters.final_table import final_table
from coevolve.plugins.reporters.live import LiveReporter
from coevolve.plugins.reporters.plain import PlainReporter
from coevolve.plugins.reporters.progress import Progress, format_counts, format_success
from coevolve.testing import make_group, make_task

CONFIG = {"steps": 4, "environment": {"name": "desk"}}
SUMMARY: dict[str, Any] = {
    "environment": "desk",
    "seed": 3,
    "iterations": 4,
    "held_out": {"greedy": {"before": 0.5, "after": 0.75, "tasks": 400, "by_iteration": {"0": 0.5, "4": 0.75}}},
    "train_success": {"first": 0.6, "last": 0.9},
    "signals": {"boundary": 7, "rare": 2},
    "pool": {"seed": 64, "programmatic": 16},
    "rejected": {"held_out_family": 5},
    "teacher": {
        "reflect": {"calls": 3, "failed": 1, "tokens": 1200, "cost": 0.25},
        "explore": {"calls": 9, "failed": 0, "tokens": 800, "cost": 0.5},
    },
    "rollouts": 512,
    "faults": {"policy_fault": 3},
    "seconds": {"update": 10.0},
    "wall_seconds": 20.0,
    "share": {
        "generation": 0.4, "update": 0.5, "environment": 0.02, "evaluation": 0.03, "signals": 0.0, "synthesis": 0.01, "validation": 0.01,
        "start": 0.02, "feedback": 0.02, "overhead": 0.01,
    },
}  # fmt: skip


def play(reporter: Any, folder: Path) -> None:
    """Call the hooks of one iteration with an evolution and a diagnosis."""
    reporter.coevolve_evaluated(iteration=0, results={"greedy": 0.5})
    groups = [make_group("a", (1.0, 0.0)), make_group("b", (1.0, 1.0)), make_group("c", (None, 0.0))]
    reporter.coevolve_iteration_finished(
        iteration=1, groups=groups, metrics={"kl": 0.25, "progress": 0.625}, seconds={"update": 3.0, "signals": 1.0}
    )
    reporter.coevolve_signals_detected(iteration=1, signals=[Signal("boundary", "a", 1, 0.5), Signal("rare", "a", 1, 0.5)])
    reporter.coevolve_task_admitted(iteration=1, candidate=CandidateTask(make_task("new", query="Send [it].")))
    reporter.coevolve_task_rejected(iteration=1, candidate=CandidateTask(make_task("bad")), verdict=Verdict(False, "call_failed"))
    reporter.coevolve_diagnosed(iteration=1, text="no learning signal for 5 iterations")


def test_plain_lines_report_every_event(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    reporter = PlainReporter()
    reporter.coevolve_run_started(folder=tmp_path, config=CONFIG, iteration=0)
    play(reporter, tmp_path)
    reporter.coevolve_run_finished(folder=tmp_path, summary=SUMMARY)
    text = capsys.readouterr().out
    for line in (
        "desk, iteration 0 of 4",
        "held-out success after 0 iterations: greedy 0.500",
        "iteration 1/4: reward 0.500, progress 0.625, mixed groups 0.33, kl 0.2500, 1 faults",
        "evolution after iteration 1: signals boundary 1, rare 1",
        "admitted new: Send [it].",
        "rejected bad: call_failed",
        "note: no learning signal for 5 iterations",
        "0.500 -> 0.750 (+0.250; 400 tasks)",
    ):
        assert line in text


def test_the_live_display_shows_every_figure(tmp_path: Path) -> None:
    reporter = LiveReporter()
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=160, color_system=None)
    reporter.begin(console, Progress(4, 0))
    play(reporter, tmp_path)
    console.print(reporter.render())
    reporter.coevolve_run_finished(folder=tmp_path, summary=SUMMARY)
    reporter.coevolve_run_left(folder=tmp_path)
    text = out.getvalue()
    for part in (
        "1 of 4", "0.500 (mixed groups: 33%)", "held-out @ 0", "boundary 1, rare 1", "admitted 1; rejected call_failed 1",
        "update 75%, feedback 25%", "note: no learning signal", "feedback stage 2.0%, overhead 1.0%",
    ):  # fmt: skip
        assert part in text, part
    assert reporter.live is None


def test_the_live_reporter_prints_nothing_outside_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live = LiveReporter()
    live.coevolve_run_started(folder=tmp_path, config=CONFIG, iteration=0)  # captured output is not a terminal
    play(live, tmp_path)
    live.coevolve_run_finished(folder=tmp_path, summary=SUMMARY)
    assert capsys.readouterr().out == ""


def test_time_left_follows_the_pace_after_the_first_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [170.0]
    monkeypatch.setattr("coevolve.plugins.reporters.progress.time.monotonic", lambda: now[0])
    progress = Progress(steps=10, first=2)
    assert progress.remaining is None
    progress.iteration_finished(3, [], {}, {})
    assert progress.remaining is None, "the first iteration pays for the start"
    now[0] = 200.0
    progress.iteration_finished(5, [], {}, {})
    assert progress.remaining == pytest.approx(30.0 / 2 * 5)


def test_the_final_table_has_every_rejection_and_origin() -> None:
    console = Console(file=io.StringIO(), width=160)
    console.print(final_table(SUMMARY))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for part in ("seed 64, programmatic 16", "held_out_family 5", "512; faults: policy_fault 3", "synthesis 1.0%", "20.0 s"):
        assert part in text
    assert "reflect 3, explore 9; 1 failed; 2,000 tokens, cost 0.75" in text


def test_counts_and_success_are_formatted() -> None:
    assert format_counts({}) == "none"
    assert format_success({"greedy": 0.5, "sampled": 0.25}) == "greedy 0.500, sampled 0.250"
