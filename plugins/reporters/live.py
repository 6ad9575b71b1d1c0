"""Reporter for terminals: a live display during the run, and the final table at its end."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coevolve import CandidateTask, RolloutGroup, Signal, Verdict, hookimpl, terminal_text

from .final_table import final_table, last_line
from .progress import FEEDBACK, Progress, format_counts, format_success

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.live import Live


class LiveReporter:
    """Displays iteration, reward, held-out success, signals, verdicts, shares of time and time left. Prints nothing outside a terminal."""

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self.live: Live | None = None

    @hookimpl
    def coevolve_run_started(self, folder: Path, config: dict[str, Any], iteration: int) -> None:
        from rich.console import Console

        console = Console()
        if console.is_terminal:
            self.begin(console, Progress(config["steps"], iteration, iteration=iteration))

    def begin(self, console: "Console", progress: Progress) -> None:
        """Start the display of `progress` on `console`."""
        from rich.live import Live

        self.progress = progress
        self.live = Live(self.render(), console=console, refresh_per_second=4, get_renderable=self.render)
        self.live.start()

    def render(self) -> "Group":
        """Build the display from the figures so far; `begin` must have been called."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        progress = self.progress
        assert progress is not None
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold", no_wrap=True)
        table.add_column()

        def row(name: str, text: str) -> None:
            table.add_row(terminal_text(name), terminal_text(text))

        left = f"{progress.remaining:.0f} s left" if progress.remaining is not None else "starting"
        row("iteration", f"{progress.iteration} of {progress.steps}, {left}")
        row("reward", f"{progress.reward:.3f} (mixed groups: {progress.mixed:.0%})")
        for iteration, results in list(progress.evaluations.items())[-3:]:
            row(f"held-out @ {iteration}", format_success(results))
        row("signals", format_counts(progress.signals))
        row("evolved tasks", f"admitted {progress.admitted}; rejected {format_counts(progress.rejected)}")
        whole = sum(progress.seconds.values())
        if whole:
            parts = {name: value / whole for name, value in progress.seconds.items() if name not in FEEDBACK}
            parts["feedback"] = sum(progress.seconds.get(name, 0.0) for name in FEEDBACK) / whole
            row("time", ", ".join(f"{name} {share:.0%}" for name, share in parts.items() if share >= 0.005))
        if "logprob_gap" in progress.metrics:
            row("engine gap", f"{progress.metrics['logprob_gap']:.1e} (engine's and trainer's log-probabilities)")
        if progress.faults:
            row("faults", str(progress.faults))
        return Group(ProgressBar(total=max(1, progress.steps), completed=progress.iteration), table)

    @hookimpl
    def coevolve_iteration_finished(
        self, iteration: int, groups: Sequence[RolloutGroup], metrics: dict[str, float], seconds: dict[str, float]
    ) -> None:
        if self.progress is not None:
            self.progress.iteration_finished(iteration, groups, metrics, seconds)

    @hookimpl
    def coevolve_evaluated(self, iteration: int, results: dict[str, float]) -> None:
        if self.progress is not None:
            self.progress.evaluations[iteration] = results

    @hookimpl
    def coevolve_signals_detected(self, iteration: int, signals: Sequence[Signal]) -> None:
        if self.progress is not None:
            self.progress.signals_detected(signals)

    @hookimpl
    def coevolve_task_admitted(self, iteration: int, candidate: CandidateTask) -> None:
        if self.progress is not None:
            self.progress.admitted += 1

    @hookimpl
    def coevolve_task_rejected(self, iteration: int, candidate: CandidateTask, verdict: Verdict) -> None:
        if self.progress is not None:
            self.progress.rejected[verdict.reason] += 1

    @hookimpl
    def coevolve_diagnosed(self, iteration: int, text: str) -> None:
        if self.live is not None:
            self.live.console.print(terminal_text(f"note: {text}", "yellow"))

    @hookimpl
    def coevolve_run_finished(self, folder: Path, summary: dict[str, Any]) -> None:
        if self.live is not None:
            self.live.console.print(final_table(summary))
            self.live.console.print(terminal_text(last_line(folder)), soft_wrap=True)

    @hookimpl
    def coevolve_run_left(self, folder: Path) -> None:
        if self.live is not None:
            self.live.stop()
        self.live = self.progress = None


plugin = LiveReporter()
