import random
from collections import Counter
from itertools import islice
from typing import Any

import pytest

from coevolve import CandidateTask, Feedback, Signal, Task
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.synthesizers.catalog import catalog_of
from coevolve.synthesizers.links import Survey
from coevolve.synthesizers.random import RandomExploration, RandomOptions
from coevolve.testing import Stockroom, StockroomOptions, check_synthesizer, make_feedback, replay

DESK = Desk(DeskOptions(train=64, test=1, dev=1))
ROOM = Stockroom(StockroomOptions())


def explore(feedback: Feedback, count: int, **options: Any) -> list[CandidateTask]:
    made = RandomExploration(RandomOptions(**options)).synthesize(feedback, DESK, random.Random(3))
    return list(islice(made, count))


def depths(candidates: list[CandidateTask]) -> Counter[int]:
    """How many calls of each solution need an earlier one."""
    solved = Survey().solved([c.task for c in candidates], DESK, catalog_of(DESK.describe()), 10**6)
    return Counter(len({h.target for h in one.link_uses}) for one in solved)


def test_random_exploration_keeps_the_contract_of_a_synthesizer() -> None:
    found = check_synthesizer(RandomExploration(RandomOptions(max_calls=400)), ROOM, make_feedback(ROOM.tasks("train")))
    assert found and all(replay(ROOM, candidate.task)[1] == 1.0 for candidate in found)
    assert all(candidate.context is not None and candidate.context.signal is None for candidate in found)


def test_candidates_record_their_start_task() -> None:
    feedback = make_feedback(DESK.tasks("train"), iteration=20)
    starts = {task.id for task in feedback.pool}
    for candidate in explore(feedback, 10):
        origin = candidate.task.origin
        assert (origin.kind, origin.iteration, origin.signal) == ("random", 20, None)
        assert set(origin.parents) <= starts and candidate.exploration


def test_depth_matched_exploration_has_the_pools_depth_and_a_plain_walk_has_not() -> None:
    feedback = make_feedback(DESK.tasks("train"))
    pool = Survey().solved(feedback.pool, DESK, catalog_of(DESK.describe()), 10**6)
    aim = sum(len({h.target for h in one.link_uses}) for one in pool) / len(pool)
    matched, plain = depths(explore(feedback, 150)), depths(explore(feedback, 150, depth_matched=False))
    means = [sum(depth * n for depth, n in found.items()) / found.total() for found in (matched, plain)]
    assert means[0] == pytest.approx(aim, abs=0.35)
    assert means[1] < 0.5 * aim


def test_the_budget_of_environment_calls_is_kept() -> None:
    calls = Counter[str]()

    class Counting(Stockroom):
        def open(self, task: Task) -> Any:
            calls["open"] += 1
            return super().open(task)

        def compose(self, *arguments: Any) -> Task | None:
            calls["compose"] += 1
            return super().compose(*arguments)

    room = Counting(StockroomOptions())
    feedback = make_feedback(room.tasks("train"))
    list(RandomExploration(RandomOptions(max_calls=100)).synthesize(feedback, room, random.Random(0)))
    assert 0 < calls.total() - len(feedback.pool) <= 100


def test_nothing_comes_of_an_empty_pool() -> None:
    assert explore(make_feedback([]), 5) == []


def test_signals_are_ignored() -> None:
    tasks = DESK.tasks("train")
    signalled = make_feedback(tasks, signals=[Signal("boundary", tasks[0].id, 1, 1.0)])
    assert explore(signalled, 5) == explore(make_feedback(tasks), 5)
