"""Refused tasks that were made of goals are repaired with further goals, fewer turns or other goals."""

import random
from collections.abc import Sequence
from itertools import islice
from typing import Any

import attrs
import pytest
from wishes import Wishes

from coevolve import Action, CandidateTask, Goal, Observation, Synthesizer, Task, TaskPool, Verdict
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.plugins.validators.minimal import Minimal, MinimalOptions
from coevolve.synthesizers.operators import Operators, OperatorsOptions
from coevolve.synthesizers.programmatic import Programmatic, ProgrammaticOptions
from coevolve.synthesizers.random import RandomExploration, RandomOptions
from coevolve.testing import StockroomOptions, make_feedback, replay
from coevolve.testing.stockroom import StockroomEpisode, perform

ROOM = Wishes(StockroomOptions())
TASKS = ROOM.tasks("train")
TOO_EASY, TOO_HARD = Verdict(False, "too_easy", "4 of 4"), Verdict(False, "too_hard", "0 of 4")
CALL_FAILED = Verdict(False, "call_failed", "it broke")
MAKERS = [
    Programmatic(ProgrammaticOptions()),
    RandomExploration(RandomOptions()),
    Operators(OperatorsOptions(operators=("explore",))),
]
EACH = pytest.mark.parametrize("maker", MAKERS, ids=["programmatic", "random", "operators"])


def drawn(maker: Synthesizer, room: Any = ROOM, count: int = 8) -> list[CandidateTask]:
    return list(islice(maker.synthesize(make_feedback(TASKS), room, random.Random(3)), count))


def repair(maker: Any, candidate: CandidateTask, verdict: Verdict, room: Any = ROOM) -> Any:
    return maker.repair(candidate, verdict, room, random.Random(candidate.task.id))


def check(made: Any, candidate: CandidateTask) -> None:
    assert made is not None and replay(ROOM, made.task)[1] == 1.0
    assert Minimal(MinimalOptions()).validate(made, ROOM, TaskPool(()), ()).accepted
    assert made.task.id == f"{candidate.task.id}-r1"
    assert made.task.origin.detail["calls"] == len(made.exploration) == len(made.task.solution)


@EACH
def test_a_goal_that_is_too_easy_gets_a_further_goal(maker: Any) -> None:
    for candidate in drawn(maker):
        made = repair(maker, candidate, TOO_EASY)
        check(made, candidate)
        assert made.task.query.startswith(f"{candidate.task.query}\n\n") and made.task.origin.parents == candidate.task.origin.parents
        first, *further = made.task.origin.detail["goal"].split(" + ")
        assert first == candidate.task.origin.detail["goal"] and len(further) == 1
        assert made.task.solution[: len(candidate.task.solution)] == candidate.task.solution


@EACH
def test_a_story_that_is_too_hard_becomes_shorter(maker: Any) -> None:
    for candidate in drawn(maker):
        long = repair(maker, candidate, TOO_EASY)
        made = repair(maker, long, TOO_HARD)
        assert made is not None and replay(ROOM, made.task)[1] == 1.0 and len(made.task.solution) < len(long.task.solution)
        assert made.task.origin.detail["goal"] in ("admit", "restock") and made.task.id == f"{candidate.task.id}-r2"


@EACH
def test_the_shortest_goal_cannot_be_shortened(maker: Any) -> None:
    assert all(repair(maker, candidate, TOO_HARD) is None for candidate in drawn(maker))


@EACH
def test_another_goal_of_the_kind_takes_the_place_of_one_that_fails(maker: Any) -> None:
    for candidate in drawn(maker):
        made = repair(maker, candidate, CALL_FAILED)
        check(made, candidate)
        assert made.task.origin.detail["goal"] == candidate.task.origin.detail["goal"] and made.task.query != candidate.task.query


class DemandingEpisode(StockroomEpisode):
    """Its scorer wants every result of the solution, too."""

    def __init__(self, task: Task) -> None:
        steps, world = perform(task.payload["world"], task.solution)
        super().__init__(task, world if task.solution else None)
        self.wanted, self.results = [str(step.result) for step in steps], list[str]()

    def step(self, text: str) -> Observation:
        seen = super().step(text)
        self.results += [str(step.result) for step in seen.steps]
        return seen

    def score(self) -> float:
        return super().score() * all(result in self.results for result in self.wanted)


class Forgetful(Wishes):
    """A room in which users have the first call made twice: always, or half of the time."""

    always = True

    def open(self, task: Task) -> Any:
        return DemandingEpisode(task)

    def goals(self, start: Task, seed: int, count: int, after: Sequence[Action] = ()) -> list[Goal]:
        good = [goal for goal in super().goals(start, seed, count) if goal.kind != "broken"]
        twice = [attrs.evolve(goal, query=f"Look twice. {goal.query}", actions=(goal.actions[0], *goal.actions)) for goal in good]
        return twice if self.always or seed % 2 else good

    def compose(self, start: Task, steps: Any, task_id: str, query: str | None = None) -> Task | None:
        made = super().compose(start, steps, task_id, query)
        return None if made is None else attrs.evolve(made, solution=tuple(step.action for step in steps))


@pytest.mark.parametrize("always", [True, False])
def test_a_goal_with_a_call_too_many_is_worded_anew_or_replaced_by_one_of_its_kind(always: bool) -> None:
    room: Any = Forgetful(StockroomOptions())
    room.always = always
    maker, execution = Programmatic(ProgrammaticOptions()), Execution(ExecutionOptions(drop_all=True))
    judged = [(one, execution.validate(one, room, TaskPool(()), ())) for one in drawn(maker, room, 40)]
    refused = [(one, verdict) for one, verdict in judged if verdict.reason == "droppable_call"]
    assert len(refused) >= 3
    found = [(candidate, repair(maker, candidate, verdict, room)) for candidate, verdict in refused]
    repaired = [(candidate, made) for candidate, made in found if made is not None]
    assert len(repaired) >= len(refused) / 2, "the pool has some of the requests that the room words"
    for candidate, made in repaired:
        assert execution.validate(made, room, TaskPool(()), ()).accepted
        assert len(made.task.solution) == len(candidate.task.solution) - 1
        assert made.task.origin.detail["goal"] == candidate.task.origin.detail["goal"]
    worded = [made.task.query.startswith("Please ") for _, made in repaired]
    assert all(worded) if always else not all(worded), "the room finds words where it has no goal of the kind without such a call"


def test_a_further_goal_is_made_after_the_calls_of_the_candidate() -> None:
    seen = list[tuple[Action, ...]]()

    class Listening(Wishes):
        def goals(self, start: Task, seed: int, count: int, after: Sequence[Action] = ()) -> list[Goal]:
            seen.append(tuple(after))
            return super().goals(start, seed, count)

    room = Listening(StockroomOptions())
    maker = Programmatic(ProgrammaticOptions())
    candidate = drawn(maker, room, 1)[0]
    seen.clear()
    assert repair(maker, candidate, TOO_EASY, room) is not None
    assert seen == [tuple(step.action for step in candidate.exploration)]


def test_a_room_without_further_goals_repairs_nothing() -> None:
    class Silent(Wishes):
        def goals(self, start: Task, seed: int, count: int, after: Sequence[Action] = ()) -> list[Goal]:
            return []

    maker = Programmatic(ProgrammaticOptions())
    candidate = drawn(maker, ROOM, 1)[0]
    for verdict in (TOO_EASY, TOO_HARD, CALL_FAILED, Verdict(False, "droppable_call", "without door.admit, call 2 of 2")):
        assert repair(maker, candidate, verdict, Silent(StockroomOptions())) is None
