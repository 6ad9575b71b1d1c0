"""The table that is printed at the end of a run."""

from typing import TYPE_CHECKING, Any

from .progress import format_counts

if TYPE_CHECKING:
    from rich.table import Table


def final_table(summary: dict[str, Any]) -> "Table":
    """Build the table from a run's summary: held-out success before and after, signals, pool, rejections, teacher calls, shares of time."""
    from rich.table import Table

    table = Table(title=f"{summary['environment']}: {summary['iterations']} iterations, seed {summary['seed']}", show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for mode, found in summary["held_out"].items():
        change = found["after"] - found["before"]
        table.add_row(f"held-out success, {mode}", f"{found['before']:.3f} -> {found['after']:.3f} ({change:+.3f}; {found['tasks']} tasks)")
    if text := summary.get("overlap"):
        table.add_row("not held out", text)
    train = summary["train_success"]
    if train:
        table.add_row("training success", f"{train['first']:.3f} -> {train['last']:.3f}")
    table.add_row("signals", format_counts(summary["signals"]))
    table.add_row("pool by origin", format_counts(summary["pool"]))
    table.add_row("rejected", format_counts(summary["rejected"]))
    if teacher := summary["teacher"]:
        total = {name: sum(found[name] for found in teacher.values()) for name in ("calls", "failed", "tokens", "cost")}
        by_purpose = format_counts({purpose: int(found["calls"]) for purpose, found in teacher.items()})
        table.add_row("teacher calls", f"{by_purpose}; {total['failed']:g} failed; {total['tokens']:,.0f} tokens, cost {total['cost']:.6g}")
    if repaired := summary.get("repaired"):
        table.add_row("repaired candidates", format_counts(repaired))
    table.add_row("training rollouts", f"{summary['rollouts']}; faults: {format_counts(summary['faults'])}")
    if attempts := summary.get("attempts"):
        table.add_row("attempts at the door", str(attempts))
    share = summary["share"]
    if share:
        parts = ("generation", "update", "environment", "evaluation", "signals", "synthesis", "validation", "start")
        table.add_row("share of time", ", ".join(f"{name} {share[name]:.1%}" for name in parts))
        table.add_row("", f"feedback stage {share['feedback']:.1%}, overhead {share['overhead']:.1%}")
    table.add_row("wall time", f"{summary['wall_seconds']:.1f} s")
    return table
