"""The frontier: the decision rule, the attempts that it makes, and what becomes of them in a run."""

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import attrs
import pytest
from rich.console import Console

from coevolve import (
    CandidateTask,
    HasAttempts,
    History,
    NeedsServices,
    Outcome,
    PlannedAttempts,
    Reason,
    RolloutGroup,
    Task,
    TaskPool,
    UserError,
    ValidatesTogether,
    Verdict,
    hookimpl,
)
from coevolve.core.cli.show import show
from coevolve.core.cli.why import why
from coevolve.core.record.store import Store
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.policy_attempts import PolicyAttempts
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.core.run.drive import resume
from coevolve.plugins.validators.frontier import Frontier, FrontierOptions, attempts_needed, decision
from coevolve.testing import SmallRuns, Stockroom, StockroomOptions, TabularPolicy, TabularTrainer, make_services, make_trajectory

ROOM = Stockroom(StockroomOptions())
TASKS = tuple(ROOM.tasks("train"))
RUNS = SmallRuns(sets=('validators.names=["frontier"]', "synthesizer.name=random", "candidates_per_task=4"))


class Scores:
    """Attempts with given outcomes by task id: a score, None for a fault, or a pair of score and progress."""

    def __init__(self, **outcomes: Sequence[Any]) -> None:
        self.outcomes = outcomes
        self.batches: list[tuple[int, int]] = []
        """Tasks and attempts of each batch."""

    def __call__(self, tasks: Sequence[Task], count: int, temperature: float, first: int = 0) -> list[RolloutGroup]:
        self.batches.append((len(tasks), count))
        return [RolloutGroup(task, 0, tuple(self._made(task, n) for n in range(first, first + count))) for task in tasks]

    def _made(self, task: Task, index: int) -> Any:
        found = self.outcomes[task.id][index]
        score, progress = found if isinstance(found, tuple) else (found, None)
        return attrs.evolve(make_trajectory(task.id, score, index=index), progress=progress)


def judged(outcomes: Sequence[Any], **options: Any) -> Verdict:
    """The verdict on a task whose attempts come out so; fails when attempts are asked for that are not there."""
    return judged_all({"a": outcomes}, **options)[0][0]


def judged_all(outcomes: Mapping[str, Sequence[Any]], **options: Any) -> tuple[list[Verdict], Scores]:
    frontier, scores = Frontier(FrontierOptions(**options)), Scores(**outcomes)
    assert isinstance(frontier, ValidatesTogether) and isinstance(frontier, NeedsServices)
    frontier.bind_services(make_services(attempts=scores))
    candidates = [CandidateTask(attrs.evolve(TASKS[0], id=name)) for name in outcomes]
    return frontier.validate_all(candidates, ROOM, TaskPool(()), ()), scores


def test_the_bounds_decide() -> None:
    assert [judged([1.0] * n + [0.0] * (4 - n)).reason for n in range(5)] == ["too_hard", "accepted", "accepted", "too_easy", "too_easy"]
    assert judged([0.0] * 4).detail == "0 of 4 attempts solved it, at least 1 of 4 must be"
    assert judged([1.0] * 4).detail == "3 of 3 attempts solved it, at most 2 of 4 may be"
    assert judged([0.0] * 4, low=0).accepted, "with low 0 nothing is too hard"
    assert judged([1.0] * 4, high=4).accepted and judged([0.5, 0.5, 0.49, 0.49]).accepted, "0.5 is a success"


def test_no_attempt_is_made_that_cannot_change_the_verdict() -> None:
    """For every run of outcomes the number of attempts is the smallest after which the rest does not matter."""
    for attempts, low, high in [(4, 1, 2), (5, 1, 1), (6, 2, 4), (3, 0, 1), (3, 1, 3), (2, 0, 2)]:
        for number in range(2**attempts):
            outcomes = [float(number >> n & 1) for n in range(attempts)]
            verdict = judged(outcomes, attempts=attempts, low=low, high=high)
            total = int(sum(outcomes))
            wanted = Reason.TOO_EASY if total > high else Reason.TOO_HARD if total < low else "accepted"
            assert verdict.reason == wanted
            made = len(verdict.attempts.trajectories) if verdict.attempts else 0
            needed = next(n for n in range(attempts + 1) if decision(sum(outcomes[:n]), attempts - n, low, high))
            assert made == needed, (attempts, low, high, outcomes)


def test_the_undecided_of_a_wave_make_their_attempts_in_one_batch() -> None:
    verdicts, scores = judged_all({"easy": [1.0] * 3, "hard": [0.0] * 4, "right": [0.0, 1.0, 0.0], "late": [1.0, 1.0, 0.0, 0.0]})
    assert scores.batches == [(4, 3), (2, 1)], "three attempts each; then only the two that are undecided"
    assert [verdict.reason for verdict in verdicts] == ["too_easy", "too_hard", "accepted", "accepted"]
    indices = [[t.index for t in verdict.attempts.trajectories] for verdict in verdicts if verdict.attempts]
    assert indices == [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2], [0, 1, 2, 3]]


def test_what_a_candidate_costs_does_not_depend_on_its_neighbours() -> None:
    outcomes = {f"{number}": [float(number >> n & 1) for n in range(6)] for number in range(64)}
    together, _ = judged_all(outcomes, attempts=6, low=2, high=3)
    assert together == [judged_all({name: of}, attempts=6, low=2, high=3)[0][0] for name, of in outcomes.items()]


def test_attempts_that_break_off_prove_nothing() -> None:
    verdict = judged([None, None, 0.0, 0.0])
    assert (verdict.accepted, verdict.reason) == (False, Reason.ENVIRONMENT_ERROR)
    assert verdict.detail == "2 attempts broke off: the service is down" and verdict.attempts is not None
    assert judged([None, 1.0, 0.0, 0.0]).accepted, "solved or not, the broken one would leave it within the bounds"
    assert judged([None, 1.0, 1.0, 1.0]).reason == Reason.TOO_EASY and judged([None, 1.0, 1.0, 0.0]).reason == Reason.ENVIRONMENT_ERROR
    broken = judged([None, None, None, 1.0]).attempts
    assert broken is not None and len(broken.trajectories) == 3, "the fourth attempt could not decide any more"


def test_progress_takes_the_place_of_the_number_solved() -> None:
    half = [(0.0, 0.5)] * 4
    assert judged(half).reason == Reason.TOO_HARD and judged(half, of="progress").accepted
    assert judged([(0.0, 0.9)] * 4, of="progress").detail == "progress 2.70 in 3 attempts, at most 2 of 4 may be"
    assert judged([(0.0, 0.1)] * 10, attempts=10, low=1, high=2, of="progress").accepted, "ten tenths are one"
    for number in range(16):
        solved = [float(number >> n & 1) for n in range(4)]
        counted = judged([(score, score) for score in solved], of="progress")
        assert (counted.reason, counted.attempts and counted.attempts.scores) == (
            (alone := judged(solved)).reason,
            alone.attempts and alone.attempts.scores,
        )
        assert judged(solved, of="progress").reason == alone.reason, "without a progress the score counts"


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(UserError, match="low is 3, above high, which is 2"):
        Frontier(FrontierOptions(low=3))
    with pytest.raises(UserError, match="high is 5, above the 4 attempts"):
        Frontier(FrontierOptions(high=5))
    with pytest.raises(UserError, match="needs bind_services"):
        Frontier(FrontierOptions()).validate(CandidateTask(TASKS[0]), ROOM, TaskPool(()), ())
    assert judged([], low=0, high=4).accepted, "bounds that nothing can miss need no attempt"
    assert attempts_needed(0, 4, 0, 4) == 0


def test_the_plan_learns_how_many_attempts_there_are() -> None:
    frontier = Frontier(FrontierOptions(attempts=6, temperature=0.5))
    assert isinstance(frontier, HasAttempts) and frontier.attempts_at_most() == PlannedAttempts("", 6, 0.5)


def test_an_attempt_does_not_depend_on_the_other_tasks() -> None:
    config = RUNS.config(RUNS.registry())
    runner, trainer = RolloutRunner(ROOM, RolloutLimits(20, 5.0, 1), Clock()), TabularTrainer(TabularTrainer.Options())
    try:
        attempts = PolicyAttempts(runner, trainer, config, TabularPolicy(TabularPolicy.Options(strong=0.0, weak=0.0)))
        whole = attempts(TASKS[:3], 5, 1.0)
        alone = attempts(TASKS[1:2], 2, 1.0)[0].trajectories + attempts(TASKS[1:2], 3, 1.0, 2)[0].trajectories
        assert whole[1].trajectories == alone and [t.index for t in alone] == list(range(5))
        assert len({repr(trajectory.messages) for trajectory in alone}) > 1
    finally:
        runner.close()


class Recorder:
    """Stops a run where it is told to, and keeps the history that each iteration's tasks are picked by."""

    def __init__(self, stop_at: int = 0) -> None:
        self.stop_at = stop_at
        self.seen: list[History] = []

    @hookimpl
    def coevolve_samplers(self) -> list[type]:
        class Recording(_sampler()):  # type: ignore[misc]
            name = "recording"

            def pick(inner, pool: TaskPool, history: History, count: int, rng: Any) -> list[Task]:
                self.seen.append(history)
                return super().pick(pool, history, count, rng)  # type: ignore[no-any-return]

        return [Recording]

    @hookimpl
    def coevolve_iteration_finished(self, iteration: int) -> None:
        if iteration == self.stop_at:
            raise KeyboardInterrupt

    def registry(self) -> Any:
        return RUNS.registry(self)


def _sampler() -> Any:
    from coevolve.plugins.samplers.uniform import Uniform

    return Uniform


DUMPED = ("tasks", "groups", "trajectories", "candidates", "verdicts", "attempts", "metrics")
SETS = ("sampler.name=recording", "initial_synthetic=6", "checkpoint_every=3", "steps=6", "evolve_every=2", "tasks_per_evolution=3")


def dump(folder: Path) -> Any:
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        found = {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in DUMPED}
    return found, json.loads((folder / "policy" / "table.json").read_text())


@pytest.mark.parametrize("stop_at", [2, 3, 4, 5])
def test_a_run_stopped_anywhere_resumes_with_the_same_attempts_and_history(tmp_path: Path, stop_at: int) -> None:
    whole, stopped, again = Recorder(), Recorder(stop_at), Recorder()
    RUNS.run(tmp_path / "whole", *SETS, plugins=(whole,))
    with pytest.raises(KeyboardInterrupt):
        RUNS.run(tmp_path / "stopped", *SETS, plugins=(stopped,))
    resume(again.registry(), tmp_path / "stopped")
    assert dump(tmp_path / "stopped") == dump(tmp_path / "whole")
    assert again.seen == whole.seen[-len(again.seen) :] and len(again.seen) == (3 if stop_at > 3 else 6)
    assert [list(history.patterns) for history in again.seen] == [list(history.patterns) for history in whole.seen[-len(again.seen) :]]


def test_attempts_are_stored_counted_and_shown(tmp_path: Path) -> None:
    recorder, folder = Recorder(), tmp_path / "run"
    summary = RUNS.run(folder, *SETS, plugins=(recorder,))
    with closing(Store(folder / "run.sqlite")) as store:
        rows = store.rows("SELECT c.task_id, v.accepted, v.reason FROM candidates c JOIN verdicts v ON v.candidate_number = c.number")
        counts = {task_id: len(store.attempts(task_id)) for task_id, _, _ in rows}
        metrics = store.rows("SELECT sum(value) FROM metrics WHERE name = 'attempts'")[0][0]
        admitted, refused = ([row[0] for row in rows if row[1] == accepted] for accepted in (1, 0))
        assert admitted and refused and all(2 < count <= 4 for count in counts.values())
        assert summary["attempts"] == metrics == sum(counts.values()) and summary["rollouts"] == 6 * 6 * 4
        assert {group.task.id for group in store.groups()} <= set(admitted), "attempts are no training rollouts"
        assert sum(len(group.trajectories) for group in store.groups()) == summary["rollouts"]
        history = store.history()
        assert {task_id: tried.rollouts for task_id, tried in history.door.items()} == {task_id: counts[task_id] for task_id in admitted}
        assert not set(refused) & set(history.attempts)
        assert all(attempt.rollouts == 4 for tries in history.attempts.values() for attempt in tries), "attempts at the door stand apart"
        assert all(trajectory.tokens is None for trajectory in store.attempts(refused[0]))
        of_first = {task.id: task.origin.iteration for task in store.pool()}
        assert all(tried.iteration == of_first[task_id] for task_id, tried in history.door.items())
    assert set(recorder.seen[0].door) == {task_id for task_id, iteration in of_first.items() if iteration == 0}
    assert summary["seconds"]["validation"] > 0
    for task_id, accepted, reason in rows:
        story = "\n".join(why(folder, task_id))
        assert "attempts by the policy in training: scores [" in story and "rollout 0" in "\n".join(why(folder, task_id, full=True))
        assert accepted or f"refused, {reason}" in story
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:  # one of the attempts broke off
        of_task = "candidate_number = (SELECT max(number) FROM candidates WHERE task_id = ?)"
        ((number,),) = db.execute(f"SELECT max(number) FROM attempts WHERE {of_task}", (refused[0],))
        db.execute("UPDATE attempts SET trajectory = json_set(trajectory, '$.score', null) WHERE number = ?", (number,))
        db.commit()
    shown = Console(file=StringIO(), width=200)
    show(folder, refused[0], shown)
    show(folder, None, shown)
    text = shown.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"at the door: scores \[.*\], 1 broke off", text) and "rollout 0 of the attempts at the door" in text
    assert f"attempts at the door: {summary['attempts']}" in text


def test_the_blind_solve_gets_the_attempts_that_the_frontier_made(tmp_path: Path) -> None:
    both = ('validators.names=["frontier","blind_solve"]', "validators.blind_solve.attempts=6", "validators.blind_solve.needed=1")
    RUNS.run(tmp_path / "both", *SETS, *both, plugins=(Recorder(),))
    with closing(Store(tmp_path / "both" / "run.sqlite")) as store:
        rows = store.rows("SELECT c.task_id, v.reason FROM candidates c JOIN verdicts v ON v.candidate_number = c.number")
        made = {task_id: [t.index for t in store.attempts(task_id)] for task_id, reason in rows if reason == "accepted"}
    assert made and all(indices == list(range(6)) for indices in made.values()), "each attempt once, counted once"


def test_broken_episodes_are_outcomes_not_verdicts(tmp_path: Path) -> None:
    class Dark(Stockroom):
        name = "dark"

        def open(self, task: Task) -> Any:
            if task.origin.kind == "random":
                raise OSError("the lights went out")
            return super().open(task)

    class Plugin:
        @hookimpl
        def coevolve_environments(self) -> list[type]:
            return [Dark]

    summary = RUNS.run(tmp_path / "run", "environment.name=dark", "steps=4", plugins=(Plugin(),))
    assert set(summary["rejected"]) == {"environment_error"} and summary["pool"] == {"seed": 20} and summary["attempts"] > 0
    with closing(Store(tmp_path / "run" / "run.sqlite")) as store:
        assert store.rows("SELECT DISTINCT outcome FROM attempts") == [(str(Outcome.INFRASTRUCTURE_FAULT),)]
