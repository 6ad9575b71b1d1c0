"""Refused candidates that were explored call by call are repaired without an LLM."""

import random
from collections import Counter
from itertools import islice
from typing import Any

import attrs
import pytest

from coevolve import Action, CandidateTask, Environment, InfrastructureFault, Repairs, Synthesizer, Task, TaskPool, Verdict
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.plugins.validators.minimal import Minimal, MinimalOptions
from coevolve.synthesizers.catalog import catalog_of
from coevolve.synthesizers.links import link_uses
from coevolve.synthesizers.operators import Operators, OperatorsOptions
from coevolve.synthesizers.programmatic import Programmatic, ProgrammaticOptions
from coevolve.synthesizers.random import RandomExploration, RandomOptions
from coevolve.synthesizers.refused import named_call, next_id
from coevolve.testing import Stockroom, StockroomOptions, make_feedback, replay

DESK: Any = Desk(DeskOptions(train=64, test=1, dev=1))
ROOM: Any = Stockroom(StockroomOptions())
TOO_EASY, TOO_HARD = Verdict(False, "too_easy", "4 of 4"), Verdict(False, "too_hard", "0 of 4")
CALL_FAILED, NO_EFFECT = Verdict(False, "call_failed", "it broke"), Verdict(False, "no_effect")
ACTION = Action("a.b", {"x": 1})


def makers(**options: Any) -> list[Any]:
    return [Programmatic(ProgrammaticOptions(**options)), RandomExploration(RandomOptions(**options))]


def drawn(synthesizer: Synthesizer, environment: Environment, count: int = 12) -> list[CandidateTask]:
    found = synthesizer.synthesize(make_feedback(environment.tasks("train")), environment, random.Random(3))
    return list(islice(found, count))


def repaired(maker: Any, candidates: list[CandidateTask], verdict: Verdict, environment: Environment) -> list[Any]:
    return [maker.repair(candidate, verdict, environment, random.Random(candidate.task.id)) for candidate in candidates]


def calls(candidate: CandidateTask, environment: Environment) -> list[str]:
    tools = catalog_of(environment.describe()).tools
    return [action.name for action in candidate.task.solution if action.name in tools]


ALL = pytest.mark.parametrize("environment", [DESK, ROOM], ids=["desk", "stockroom"])


@ALL
@pytest.mark.parametrize("kind", [0, 1], ids=["programmatic", "random"])
@pytest.mark.parametrize(("verdict", "least"), [(TOO_EASY, 8), (TOO_HARD, 1), (CALL_FAILED, 3), (NO_EFFECT, 8)])
def test_repaired_candidates_have_the_length_that_the_reason_demands(kind: int, environment: Any, verdict: Verdict, least: int) -> None:
    maker = makers()[kind]
    candidates: list[Any] = drawn(maker, environment)
    if verdict is TOO_HARD and kind == 1 and environment is ROOM:
        assert {len(calls(one, ROOM)) for one in candidates} == {2}, "the stockroom's walks have one link, which is the shortest chain"
        least = 0
    made = repaired(maker, candidates, verdict, environment)
    assert sum(one is not None for one in made) >= least
    minimal = Minimal(MinimalOptions())
    for candidate, one in zip(candidates, made, strict=True):
        if one is None:
            continue
        before, now = calls(candidate, environment), calls(one, environment)
        assert len(now) > len(before) if verdict.reason in ("too_easy", "no_effect") else True
        assert len(now) < len(before) if verdict is TOO_HARD else True
        assert one.task.solution != candidate.task.solution and one.task.query != candidate.task.query
        assert replay(environment, one.task)[1] == 1.0
        assert minimal.validate(one, environment, TaskPool(()), ()).accepted
        assert one.task.id == f"{candidate.task.id}-r1" and "repaired" not in one.task.origin.detail
        assert one.task.origin.kind == maker.name and one.context.signal == candidate.context.signal
        assert one.exploration and one.exploration != candidate.exploration
        if verdict is not CALL_FAILED:
            assert one.task.origin.parents == candidate.task.origin.parents


def test_an_extended_task_keeps_the_calls_that_it_can_and_names_the_new_links() -> None:
    maker = makers()[0]
    candidates = drawn(maker, DESK)
    whole = 0
    for candidate, one in zip(candidates, repaired(maker, candidates, TOO_EASY, DESK), strict=True):
        before, now = [step.action for step in candidate.exploration], [step.action for step in one.exploration]
        assert now[0] == before[0]
        whole += now[: len(before)] == before
        uses = {str(use.link) for use in link_uses(one.exploration, catalog_of(DESK.describe()))}
        assert set(one.context.targets) <= uses and set(one.context.targets) - set(candidate.context.targets if candidate.context else ())
        assert one.task.origin.detail["targets"] == list(one.context.targets)
    assert whole >= 6


def test_a_shortened_task_holds_a_target_link() -> None:
    maker = makers()[0]
    candidates = drawn(maker, DESK, 24)
    made = [(c, one) for c, one in zip(candidates, repaired(maker, candidates, TOO_HARD, DESK), strict=True) if one is not None]
    assert len(made) >= 8
    for candidate, one in made:
        uses = {str(use.link) for use in link_uses(one.exploration, catalog_of(DESK.describe()))}
        assert uses & set(candidate.context.targets if candidate.context else ())


def test_a_chain_of_one_link_cannot_be_shortened() -> None:
    maker = makers()[0]
    shortest = [candidate for candidate in drawn(maker, DESK, 24) if len(candidate.exploration) == 2]
    assert shortest and repaired(maker, shortest, TOO_HARD, DESK) == [None] * len(shortest)


@pytest.mark.parametrize("kind", [0, 1], ids=["programmatic", "random"])
def test_a_call_that_is_not_needed_is_left_out(kind: int) -> None:
    maker = makers()[kind]
    execution = Execution(ExecutionOptions(drop_all=True))
    found = [(one, execution.validate(one, DESK, TaskPool(()), ())) for one in drawn(maker, DESK)]
    refused = [(one, verdict) for one, verdict in found if verdict.reason == "droppable_call"]
    made = [(one, maker.repair(one, verdict, DESK, random.Random(1))) for one, verdict in refused]
    done = [(before, now) for before, now in made if now is not None]
    assert len(done) >= len(refused) / 2 >= 4
    for before, now in done:
        assert len(now.task.solution) < len(before.task.solution)
        assert execution.validate(now, DESK, TaskPool(()), ()).accepted


def test_a_repair_depends_on_nothing_that_synthesis_did_since() -> None:
    feedback = make_feedback(DESK.tasks("train"))
    for busy, fresh in zip(makers(), makers(), strict=True):
        candidates = list(islice(busy.synthesize(feedback, DESK, random.Random(3)), 20))
        next(iter(fresh.synthesize(feedback, DESK, random.Random(3))))
        for verdict in (TOO_EASY, TOO_HARD, CALL_FAILED):
            assert repaired(busy, candidates[:6], verdict, DESK) == repaired(fresh, candidates[:6], verdict, DESK)


def test_a_repaired_candidate_can_be_repaired_again() -> None:
    maker, twice = makers()[0], 0
    for candidate in [one for one in drawn(maker, DESK) if len(one.exploration) == 2]:
        first = maker.repair(candidate, TOO_EASY, DESK, random.Random(1))
        second = first and maker.repair(first, TOO_EASY, DESK, random.Random(1))
        if first is None or second is None:
            continue
        twice += 1
        assert second.task.id == f"{candidate.task.id}-r2"
        assert len(second.task.solution) > len(first.task.solution) > len(candidate.task.solution)
    assert twice


@pytest.mark.parametrize("reason", ["misunderstood", "ungrounded", "harmful", "duplicate_text", "environment_error", "anything"])
def test_other_reasons_are_not_repaired(reason: str) -> None:
    for maker in makers():
        (candidate,) = drawn(maker, DESK, 1)
        assert isinstance(maker, Repairs) and maker.repair(candidate, Verdict(False, reason), DESK, random.Random(1)) is None


def test_nothing_comes_of_an_unknown_evolution_start_or_call() -> None:
    for maker, other in zip(makers(), makers(), strict=True):
        (candidate,) = drawn(maker, DESK, 1)
        assert other.repair(candidate, TOO_EASY, DESK, random.Random(1)) is None
        task = attrs.evolve(candidate.task, origin=attrs.evolve(candidate.task.origin, parents=("gone",)))
        assert maker.repair(attrs.evolve(candidate, task=task), TOO_EASY, DESK, random.Random(1)) is None
        assert maker.repair(attrs.evolve(candidate, exploration=()), TOO_EASY, DESK, random.Random(1)) is None
        for detail in ("", "the scorer accepts it without mail.fly, call 1 of 9"):
            assert maker.repair(candidate, Verdict(False, "droppable_call", detail), DESK, random.Random(1)) is None


class Counting(Stockroom):
    """Counts what is asked of it, and can break."""

    def __init__(self) -> None:
        super().__init__(StockroomOptions())
        self.asked, self.broken = Counter[str](), False

    def open(self, task: Task) -> Any:
        self.asked["open"] += 1
        if self.broken:
            raise InfrastructureFault("no room")
        return super().open(task)

    def compose(self, *arguments: Any) -> Task | None:
        self.asked["compose"] += 1
        return super().compose(*arguments)


@pytest.mark.parametrize("most", [0, 3, 40])
def test_a_repair_keeps_its_own_budget(most: int) -> None:
    for maker in makers(repair_calls=most):
        room: Any = Counting()
        candidates = drawn(maker, room, 4)
        for candidate in candidates:
            for verdict in (TOO_EASY, TOO_HARD, CALL_FAILED):
                room.asked.clear()
                made = maker.repair(candidate, verdict, room, random.Random(1))
                assert room.asked.total() <= most and (most or made is None)


def test_after_a_fault_the_next_candidate_is_repaired_as_ever() -> None:
    for maker in makers():
        room: Any = Counting()
        candidate = drawn(maker, room, 1)[0]
        wanted = maker.repair(candidate, TOO_EASY, room, random.Random(1))
        room.broken = True
        with pytest.raises(InfrastructureFault, match="no room"):
            maker.repair(candidate, TOO_EASY, room, random.Random(1))
        room.broken = False
        assert wanted is not None and maker.repair(candidate, TOO_EASY, room, random.Random(1)) == wanted


def test_variants_of_pool_tasks_keep_their_words_and_are_not_repaired() -> None:
    maker = Operators(OperatorsOptions())
    candidates = drawn(maker, ROOM, 3)
    assert candidates and repaired(maker, candidates, TOO_EASY, ROOM) == [None] * len(candidates)


@pytest.mark.parametrize(
    ("detail", "place"),
    [
        ("the scorer accepts it without a.b, call 1 of 3", 0),
        ("the scorer accepts it without a.b, call 3 of 3", 2),
        ("the scorer accepts it without a.b, call 1 of 2", 2),
        ("the scorer accepts it without c.d, call 1 of 3", 1),
        ("the scorer accepts it without c.d, call 0 of 3", 1),
        ("the scorer accepts it without e.f, call 1 of 3", None),
        ("the scorer accepts it without c.d, call 99 of 99", 1),
        ("2 of 3 calls do", None),
    ],
)
def test_the_verdict_names_a_call_by_its_number_or_by_its_tool(detail: str, place: int | None) -> None:
    actions = [ACTION, Action("c.d"), attrs.evolve(ACTION, arguments={"x": 2})]
    assert named_call(Verdict(False, "droppable_call", detail), actions) is (None if place is None else actions[place])


@pytest.mark.parametrize(("before", "after"), [("a-1", "a-1-r1"), ("a-1-r9", "a-1-r10"), ("a-red", "a-red-r1"), ("-r", "-r-r1")])
def test_repairs_are_numbered(before: str, after: str) -> None:
    assert next_id(before) == after
