"""Reporter for logs: plain lines, where the output is not a terminal."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from coevolve import CandidateTask, RolloutGroup, Signal, Verdict, hookimpl, one_line, terminal_text

from .final_table import final_table, last_line
from .progress import Progress, format_counts, format_success

if TYPE_CHECKING:
    from rich.console import Console


class PlainReporter:
    """Prints one line for each event. Prints nothing in a terminal, where the live display does."""

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self.console: Console | None = None

    @hookimpl
    def coevolve_run_started(self, folder: Path, config: dict[str, Any], iteration: int) -> None:
        from rich.console import Console

        self.progress = None
        console = Console(soft_wrap=True)
        if console.is_terminal:
            return
        self.console, self.progress = console, Progress(config["steps"], iteration, iteration=iteration)
        self._print(f"run {folder}: {config['environment']['name']}, iteration {iteration} of {config['steps']}")

    def _print(self, text: str) -> None:
        if self.progress is not None and self.console is not None:
            self.console.print(terminal_text(text))

    @hookimpl
    def coevolve_iteration_finished(
        self, iteration: int, groups: Sequence[RolloutGroup], metrics: dict[str, float], seconds: dict[str, float]
    ) -> None:
        if self.progress is not None:
            self.progress.iteration_finished(iteration, groups, metrics, seconds)
            self._print(self.progress.log_line())

    @hookimpl
    def coevolve_evaluated(self, iteration: int, results: dict[str, float]) -> None:
        self._print(f"held-out success after {iteration} iterations: {format_success(results)}")

    @hookimpl
    def coevolve_signals_detected(self, iteration: int, signals: Sequence[Signal]) -> None:
        kinds: dict[str, int] = {}
        for signal in signals:
            kinds[signal.kind] = kinds.get(signal.kind, 0) + 1
        self._print(f"evolution after iteration {iteration}: signals {format_counts(kinds)}")

    @hookimpl
    def coevolve_task_admitted(self, iteration: int, candidate: CandidateTask) -> None:
        self._print(f"  admitted {one_line(candidate.task.id)}: {shorten(candidate.task.query, 120)}")

    @hookimpl
    def coevolve_task_rejected(self, iteration: int, candidate: CandidateTask, verdict: Verdict) -> None:
        self._print(f"  rejected {one_line(candidate.task.id)}: {one_line(verdict.reason)}")

    @hookimpl
    def coevolve_diagnosed(self, iteration: int, text: str) -> None:
        self._print(f"note: {text}")

    @hookimpl
    def coevolve_run_finished(self, folder: Path, summary: dict[str, Any]) -> None:
        if self.progress is not None and self.console is not None:
            self.console.print(final_table(summary))
            self._print(last_line(folder))


plugin = PlainReporter()
