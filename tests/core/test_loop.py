"""The loop with real parts in milliseconds: it learns, evolves, resumes to the same end, and survives what breaks."""

import errno
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from filelock import FileLock

from coevolve import CandidateTask, CoevolveError, RolloutGroup, Signal, Task, TooManyFaults, UserError, Verdict, hookimpl
from coevolve.core.record.store import Store
from coevolve.core.run.drive import resume
from coevolve.testing import Stockroom, TabularTrainer

TABLES = (
    "tasks", "pools", "groups", "trajectories", "signals", "candidates", "verdicts", "attempts", "metrics", "evaluations", "checkpoints",
)  # fmt: skip


def dump(folder: Path) -> dict[str, list[Any]]:
    """All that a run wrote, but for the times."""
    with sqlite3.connect(folder / "run.sqlite") as db:
        found = {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES}
    db.close()
    return found | {"policy": [(folder / "policy" / "table.json").read_text()]}


class Watcher:
    """Counts what observers are told, and stops the run where it is told to."""

    def __init__(self, stop_at: int = 0, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.calls: list[str] = []
        self.texts: list[str] = []
        self.stop_at, self.error = stop_at, error

    @hookimpl
    def coevolve_run_started(self, folder: Path, config: dict[str, Any], iteration: int) -> None:
        self.calls.append(f"started {iteration}")

    @hookimpl
    def coevolve_iteration_finished(
        self, iteration: int, groups: Sequence[RolloutGroup], metrics: dict[str, float], seconds: dict[str, float]
    ) -> None:
        assert groups and all(group.iteration == iteration for group in groups)
        self.calls.append(f"iteration {iteration}")
        if iteration == self.stop_at:
            raise self.error("stop")

    @hookimpl
    def coevolve_signals_detected(self, iteration: int, signals: Sequence[Signal]) -> None:
        self.calls.append(f"signals {iteration}")

    @hookimpl
    def coevolve_task_admitted(self, iteration: int, candidate: CandidateTask) -> None:
        self.calls.append("admitted")

    @hookimpl
    def coevolve_task_rejected(self, iteration: int, candidate: CandidateTask, verdict: Verdict) -> None:
        assert not verdict.accepted
        self.calls.append("rejected")

    @hookimpl
    def coevolve_evaluated(self, iteration: int, results: dict[str, float]) -> None:
        self.calls.append(f"evaluated {iteration} {sorted(results)}")

    @hookimpl
    def coevolve_diagnosed(self, iteration: int, text: str) -> None:
        self.texts.append(text)

    @hookimpl
    def coevolve_run_finished(self, folder: Path, summary: dict[str, Any]) -> None:
        self.calls.append("finished")

    @hookimpl
    def coevolve_run_left(self, folder: Path) -> None:
        self.calls.append("left")


def test_a_run_learns_and_its_pool_grows(runs: Any, folder: Path) -> None:
    watcher = Watcher()
    summary = runs.run(folder, "steps=30", "evolve_every=10", "checkpoint_every=10", plugins=(watcher,))
    held_out = summary["held_out"]["sampled"]
    assert held_out["after"] > held_out["before"] + 0.2
    assert summary["iterations"] == 30
    assert summary["pool"] == {"seed": 20, "random": 6}
    assert summary["rollouts"] == 30 * 6 * 4
    assert summary["signals"]["boundary"] > 0
    store = Store(folder / "run.sqlite")
    assert store.pool().version == 2
    assert store.rows("SELECT version, iteration, size FROM pools") == [(0, 0, 20), (1, 10, 23), (2, 20, 26)]
    evolved = [task for task in store.pool() if task.origin.kind == "random"]
    assert {task.origin.iteration for task in evolved} == {10, 20}
    assert store.rows("SELECT count(*) FROM trajectories WHERE outcome='infrastructure_fault'") == [(0,)]
    for group in store.groups():
        known = [(t.success, t.progress) for t in group.trajectories if t.progress is not None]
        assert len(known) == 4 and all(done == 1.0 if solved else 0.0 <= done < 1.0 for solved, done in known), "every rollout knows it"
    first = [t.progress for group in store.groups() if group.iteration == 1 for t in group.trajectories if t.progress is not None]
    assert store.rows("SELECT value FROM metrics WHERE iteration = 1 AND name = 'progress'") == [(pytest.approx(fmean(first)),)]
    assert [attempt.progress for attempts in store.history().attempts.values() for attempt in attempts].count(None) == 0
    (last,) = store.rows("SELECT success, progress FROM evaluations WHERE mode = 'sampled' ORDER BY iteration DESC LIMIT 1")
    assert last[0] < last[1] <= 1.0
    store.close()
    assert watcher.calls[0] == "started 0" and watcher.calls[1] == "evaluated 0 ['greedy', 'sampled']"
    assert watcher.calls[-2:] == ["finished", "left"]
    assert watcher.calls.count("admitted") == 6
    assert [c for c in watcher.calls if c.startswith("signals")] == ["signals 10", "signals 20"], "none after the last iteration"


def test_a_tasks_story_can_be_told(runs: Any, folder: Path) -> None:
    runs.run(folder)
    store = Store(folder / "run.sqlite")
    for task in store.pool():
        if task.origin.kind != "seed":
            (found,) = store.rows(
                "SELECT v.reason FROM candidates c JOIN verdicts v ON v.candidate_number = c.number WHERE c.task_id = ?", task.id
            )
            assert found == ("accepted",)
            assert all(parent in {t.id for t in store.pool()} for parent in task.origin.parents)
    store.close()


def test_the_arms_of_the_paper_are_settings_that_give_different_pools(runs: Any, tmp_path: Path) -> None:
    arms = {
        "static": ["synthesizer.name=none"],
        "random": ["synthesizer.name=random"],
        "feedback": ["synthesizer.name=programmatic", 'signals.names=["forgetting","boundary","rare"]'],
        "no signal": ["synthesizer.name=programmatic", "signals.names=[]"],
    }
    pools = {}
    for name, sets in arms.items():
        runs.run(tmp_path / name, *sets)
        store = Store(tmp_path / name / "run.sqlite")
        pools[name] = str([task.solution for task in store.pool()])
        store.close()
    assert len(set(pools.values())) == len(pools)


def test_the_same_seed_gives_the_same_run_and_another_seed_another(runs: Any, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        runs.run(tmp_path / name, f"seed={seed}")
    assert dump(tmp_path / "a") == dump(tmp_path / "b")
    assert dump(tmp_path / "a")["tasks"] != dump(tmp_path / "c")["tasks"]


@pytest.mark.parametrize(
    ("stop_at", "synthesizer"), [(1, "random"), (2, "random"), (3, "random"), (4, "programmatic"), (5, "programmatic")]
)
def test_a_run_stopped_anywhere_resumes_to_the_same_end(runs: Any, tmp_path: Path, stop_at: int, synthesizer: str) -> None:
    sets = ("checkpoint_every=3", f"synthesizer.name={synthesizer}", 'signals.names=["forgetting","boundary","rare"]')
    runs.run(tmp_path / "whole", *sets)
    watcher = Watcher(stop_at)
    with pytest.raises(KeyboardInterrupt):
        runs.run(tmp_path / "stopped", *sets, plugins=(watcher,))
    assert watcher.calls[-1] == "left"
    again = Watcher()
    resume(runs.registry(again), tmp_path / "stopped")
    assert again.calls[0] == f"started {3 if stop_at > 3 else 0}"
    assert dump(tmp_path / "stopped") == dump(tmp_path / "whole")


def test_a_finished_run_can_be_made_longer(runs: Any, tmp_path: Path) -> None:
    runs.run(tmp_path / "longer", "steps=4", "evaluation.every=4")
    resume(runs.registry(), tmp_path / "longer", ["steps=7"])
    store = Store(tmp_path / "longer" / "run.sqlite")
    assert store.rows("SELECT max(iteration) FROM groups") == [(7,)]
    evolved = [row[0] for row in store.rows("SELECT iteration FROM metrics WHERE name = 'admitted'")]
    assert evolved == [2, 6], "none after what was the last iteration"
    seen = {int(row[0].split(":")[1]) for row in store.rows("SELECT id FROM signals WHERE iteration = 6")}
    assert seen & {3, 4}, "rollouts that no evolution has seen are not lost"
    store.close()


def test_the_summary_of_a_resumed_run_counts_the_time_of_all_its_processes(runs: Any, folder: Path) -> None:
    runs.run(folder, "steps=3")
    with sqlite3.connect(folder / "run.sqlite") as db:
        db.execute("UPDATE seconds SET value = value + 1000 WHERE part IN ('wall', 'environment') AND iteration = 3")
    db.close()
    summary = resume(runs.registry(), folder, ["steps=6"])
    assert 1000 < summary["wall_seconds"] < 2000 and 1000 < summary["seconds"]["environment"] < summary["wall_seconds"]


def test_an_observer_that_raises_stops_nothing(runs: Any, folder: Path) -> None:
    watcher = Watcher(stop_at=1, error=ValueError)
    summary = runs.run(folder, plugins=(watcher,))
    assert summary["iterations"] == 6


class Breaking(Stockroom):
    """A stockroom that opens only so often."""

    left = 0

    def open(self, task: Task) -> Any:
        type(self).left -= 1
        if type(self).left < 0:
            raise OSError("the lights went out")
        return super().open(task)


class BreakingPlugin:
    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return [type("Dark", (Breaking,), {"name": "dark"})]


def test_an_environment_that_breaks_down_stops_the_run_resumable(runs: Any, folder: Path) -> None:
    Breaking.left = 40 + 24 * 3
    with pytest.raises(TooManyFaults, match=r"24 of 24 rollouts were infrastructure faults.*the lights went out"):
        runs.run(folder, "environment.name=dark", "synthesizer.name=none", "evaluation.every=0", plugins=(BreakingPlugin(),))
    store = Store(folder / "run.sqlite")
    assert store.checkpoint() is not None and store.checkpoint()[0] == 2  # type: ignore[index]
    assert store.history() == store.history().with_groups([]), "faults are in no history"
    assert {attempt.iteration for tries in store.history().attempts.values() for attempt in tries} == {1, 2, 3}
    store.close()
    Breaking.left = 10**6
    assert resume(runs.registry(BreakingPlugin()), folder)["iterations"] == 6


def test_an_exploration_that_breaks_down_ends_that_evolution_only(runs: Any, folder: Path) -> None:
    class Failing(Stockroom):
        name = "failing"

        def compose(self, *_: Any, **__: Any) -> Task | None:
            raise RuntimeError("no words")

    class Plugin:
        @hookimpl
        def coevolve_environments(self) -> list[type]:
            return [Failing]

    watcher = Watcher()
    summary = runs.run(folder, "environment.name=failing", plugins=(Plugin(), watcher))
    assert summary["iterations"] == 6 and summary["pool"] == {"seed": 20}
    assert any("the exploration ended early" in text and "compose: RuntimeError: no words" in text for text in watcher.texts)


def test_an_exploration_without_any_candidate_is_said_in_words(runs: Any, folder: Path) -> None:
    watcher = Watcher()
    runs.run(folder, "synthesizer.name=random", "synthesizer.max_calls=1", plugins=(watcher,))
    assert any("the synthesizer found no candidate" in text for text in watcher.texts)


def test_no_learning_signal_is_said_in_words(runs: Any, folder: Path) -> None:
    watcher = Watcher()
    runs.run(folder, "policy.share=0.0", "policy.strong=50.0", "stalled_after=3", "synthesizer.name=none", plugins=(watcher,))
    assert any("no learning signal for 3 iterations" in text and "too easy" in text for text in watcher.texts)


def test_a_folder_in_use_or_not_empty_is_refused(runs: Any, folder: Path) -> None:
    runs.run(folder, "steps=0")
    with pytest.raises(UserError, match=r"is not empty.*coevolve resume"):
        runs.run(folder)
    with FileLock(folder / ".lock"), pytest.raises(UserError, match="in use by another coevolve process"):
        resume(runs.registry(), folder)


def test_unknown_splits_are_named(runs: Any, folder: Path) -> None:
    with pytest.raises(UserError, match=r"no split 'tst' \(did you mean 'test'\?\)"):
        runs.run(folder, "evaluation.split=tst")


class Full(TabularTrainer):
    """A trainer whose fourth checkpoint finds the disk full."""

    name = "full"
    error: Exception | None = None

    def save_policy(self, folder: Path) -> None:
        if folder.name == "4" and self.error is not None:
            raise self.error
        super().save_policy(folder)


class FullPlugin:
    @hookimpl
    def coevolve_trainers(self) -> list[type]:
        return [Full]


FULL_DISK = [
    OSError(errno.ENOSPC, "No space left on device"),
    RuntimeError("I/O: No space left on device"),
    RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 5183104 vs 5182992"),  # torch.save
]


@pytest.mark.parametrize("error", FULL_DISK)
def test_a_full_disk_is_one_line_and_the_run_resumes(runs: Any, tmp_path: Path, error: Exception) -> None:
    runs.run(tmp_path / "whole", "trainer.name=full", plugins=(FullPlugin(),))
    Full.error = error
    try:
        with pytest.raises(CoevolveError, match=r"the disk of .* is full: free space"):
            runs.run(tmp_path / "stopped", "trainer.name=full", plugins=(FullPlugin(),))
    finally:
        Full.error = None
    resume(runs.registry(FullPlugin()), tmp_path / "stopped")
    assert dump(tmp_path / "stopped") == dump(tmp_path / "whole")
