"""The table that is printed at the end of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from coevolve import command_line, terminal_text

from .progress import format_counts

if TYPE_CHECKING:
    from rich.table import Table


def final_table(summary: dict[str, Any]) -> "Table":
    """Build the table from a run's summary: held-out success before and after, signals, pool, rejections, teacher calls, shares of time."""
    from rich.table import Table

    title = f"{summary['environment']}: {summary['iterations']} iterations, seed {summary['seed']}"
    table = Table(title=terminal_text(title, "table.title"), show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()

    def row(name: str, text: str) -> None:
        table.add_row(terminal_text(name), terminal_text(text))

    for mode, found in summary["held_out"].items():
        change = found["after"] - found["before"]
        row(f"held-out success, {mode}", f"{found['before']:.3f} -> {found['after']:.3f} ({change:+.3f}; {found['tasks']} tasks)")
    if text := summary.get("overlap"):
        row("not held out", text)
    train = summary["train_success"]
    if train:
        row("training success", f"{train['first']:.3f} -> {train['last']:.3f}")
    row("signals", format_counts(summary["signals"]))
    row("pool by origin", format_counts(summary["pool"]))
    row("rejected", format_counts(summary["rejected"]))
    if teacher := summary["teacher"]:
        total = {name: sum(found[name] for found in teacher.values()) for name in ("calls", "failed", "tokens", "cost")}
        by_purpose = format_counts({purpose: int(found["calls"]) for purpose, found in teacher.items()})
        row("teacher calls", f"{by_purpose}; {total['failed']:g} failed; {total['tokens']:,.0f} tokens, cost {total['cost']:.6g}")
    if repaired := summary.get("repaired"):
        row("repaired candidates", format_counts(repaired))
    row("training rollouts", f"{summary['rollouts']}; faults: {format_counts(summary['faults'])}")
    if attempts := summary.get("attempts"):
        row("attempts at the door", str(attempts))
    share = summary["share"]
    if share:
        parts = ("generation", "update", "environment", "evaluation", "signals", "synthesis", "validation", "start")
        row("share of time", ", ".join(f"{name} {share[name]:.1%}" for name in parts))
        row("", f"feedback stage {share['feedback']:.1%}, overhead {share['overhead']:.1%}")
    row("wall time", f"{summary['wall_seconds']:.1f} s")
    return table


def last_line(folder: Path) -> str:
    """Where the policy is, and the command that shows more."""
    return f"trained policy: {folder / 'policy'}; look closer with: {command_line('coevolve', 'show', folder)}"
