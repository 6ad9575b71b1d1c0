"""Tasks rest by rule, come back when they regress, and the batch is never left short."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import Attempt, History, Task, TaskPool, hookimpl
from coevolve.core.record.store import Store
from coevolve.core.rollouts.resting_tasks import active_tasks
from coevolve.core.run.drive import resume
from coevolve.core.settings.retirement import Retirement


def pool(count: int) -> TaskPool:
    return TaskPool(tuple(Task(f"t{n}", "stockroom", f"query {n}") for n in range(count)))


def history(**scores: Sequence[float]) -> History:
    """Scores of each task at iterations 1, 2, ..."""
    return History({name: tuple(Attempt(n, score) for n, score in enumerate(found, 1)) for name, found in scores.items()})


def names(found: TaskPool) -> list[str]:
    return [task.id for task in found]


RULE = Retirement(solved_after=3, impossible_after=4, rest=10)


@pytest.mark.parametrize(
    ("scores", "iteration", "rests"),
    [
        ([1, 1], 3, False),
        ([1, 1, 1], 4, True),
        ([0, 1, 1, 1], 5, True),
        ([1, 1, 0.875], 4, False),
        ([1, 1, 1, 0.5], 5, False),
        ([0, 0, 0], 4, False),
        ([0, 0, 0, 0], 5, True),
        ([0, 0, 0, 0.125], 5, False),
        ([1, 1, 1], 13, True),
        ([1, 1, 1], 14, False),
        ([], 1, False),
    ],
)
def test_a_task_rests_after_a_streak_and_only_for_a_while(scores: list[float], iteration: int, rests: bool) -> None:
    known = history(t0=scores)
    assert names(active_tasks(pool(5), known, iteration, RULE, 2)) == (
        ["t1", "t2", "t3", "t4"] if rests else ["t0", "t1", "t2", "t3", "t4"]
    )


def test_a_task_that_regressed_in_its_one_more_try_is_back_and_one_that_did_not_rests_again() -> None:
    solved = [Attempt(n, 1.0) for n in (1, 2, 3)]
    for score, back in ((0.5, True), (1.0, False)):
        known = History({"t0": (*solved, Attempt(14, score))})
        assert ("t0" in names(active_tasks(pool(5), known, 15, RULE, 2))) is back


def test_without_a_rule_the_pool_is_the_same_object() -> None:
    tasks = pool(3)
    assert active_tasks(tasks, history(t0=[1] * 50), 51, Retirement(), 2) is tasks


def test_a_batch_that_would_be_short_is_filled_with_those_that_rested_longest() -> None:
    known = History({f"t{n}": tuple(Attempt(i + n, 1.0) for i in (1, 2, 3)) for n in range(4)})
    assert names(active_tasks(pool(4), known, 8, RULE, 2)) == ["t0", "t1"]


def test_the_limit_prefers_untried_then_unsettled_then_impossible_then_solved_and_of_equals_the_newer() -> None:
    known = history(t0=[1], t1=[0], t2=[0.5], t3=[0.5], t5=[1])
    order = ["t4", "t3", "t2", "t1", "t5", "t0"]
    for limit in range(1, 7):
        assert set(names(active_tasks(pool(6), known, 2, Retirement(limit=limit), 1))) == set(order[:limit])


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=8), min_size=1, max_size=12),
    st.integers(0, 4), st.integers(0, 4), st.integers(0, 6), st.integers(1, 8),
)  # fmt: skip
def test_there_is_always_a_batch_and_the_limit_holds(
    scores: list[list[float]], solved: int, impossible: int, limit: int, batch: int
) -> None:
    tasks = pool(len(scores))
    known = history(**{f"t{n}": found for n, found in enumerate(scores)})
    settings = Retirement(solved, impossible, rest=5, limit=limit)
    found = active_tasks(tasks, known, random.Random(0).randint(1, 12), settings, batch)
    assert len(found) >= min(batch, len(tasks))
    assert not limit or len(found) <= max(limit, batch)
    assert names(found) == [task.id for task in tasks if task in found.tasks]


class Stop:
    """Interrupts the run in its fifth iteration."""

    @hookimpl
    def coevolve_iteration_finished(self, iteration: int) -> None:
        if iteration == 5:
            raise KeyboardInterrupt


def test_a_run_with_resting_tasks_resumes_to_the_same_end_and_loses_no_task(runs: Any, tmp_path: Path) -> None:
    sets = ("retirement.solved_after=1", "retirement.solved=0.5", "retirement.rest=3", "steps=8")
    plain = runs.run(tmp_path / "plain", "steps=8")
    whole = runs.run(tmp_path / "whole", *sets)
    with pytest.raises(KeyboardInterrupt):
        runs.run(tmp_path / "parts", *sets, plugins=(Stop(),))
    resume(runs.registry(), tmp_path / "parts")
    picked = {
        name: Store(tmp_path / name / "run.sqlite").rows("SELECT iteration, task_id FROM groups") for name in ("plain", "whole", "parts")
    }
    assert picked["whole"] == picked["parts"] != picked["plain"]
    assert whole["pool"]["seed"] == plain["pool"]["seed"] == 20, "resting tasks stay in the store"


def test_a_task_rests_by_its_last_attempts_alone() -> None:
    """However long a history is, only as many attempts are read as the bound names."""

    class Counted(tuple[Attempt, ...]):
        read = 0

        def __getitem__(self, key: Any) -> Any:
            found = super().__getitem__(key)
            Counted.read += len(found) if isinstance(found, tuple) else 1
            return found

        def __iter__(self) -> Any:
            raise AssertionError("all attempts were read")

    known = History({"t0": Counted(Attempt(n, 1.0) for n in range(1, 2001))})
    assert names(active_tasks(pool(5), known, 2001, RULE, 2)) == ["t1", "t2", "t3", "t4"]
    assert 0 < Counted.read <= RULE.solved_after + RULE.impossible_after + 2
