"""The validator "minimal" on the stockroom, the desk and BFCL."""

from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve import Action, CandidateTask, InfrastructureFault, Reason, Step, Task, TaskPool, Verdict
from coevolve.environments.bfcl import assets
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.release import DEFAULT, RELEASES
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.environments.desk.compose import plan_of
from coevolve.environments.desk.wording import solve
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.plugins.validators.minimal import Minimal, MinimalOptions
from coevolve.testing import Stockroom, StockroomOptions, replay

DESK, ROOM = Desk(DeskOptions(test=40)), Stockroom(StockroomOptions())
CHAIN = next(task for task in DESK.tasks("train") if len(task.solution) == 4)
ANSWER = next(task for task in DESK.tasks("train") if task.solution[-1].arguments)


def minimise(task: Task, environment: Any = DESK, **options: Any) -> Verdict:
    return Minimal(MinimalOptions(**options)).validate(CandidateTask(task), environment, TaskPool(()), ())


def played(task: Task) -> list[Step]:
    return [step for seen in replay(DESK, task)[0] for step in seen.steps]


def lookup(number: int) -> Action:
    """A lookup on the desk that succeeds and that no task of these tests needs."""
    return (
        Action("parcels.content", {"parcel": "gift", "as": "sku"}),
        Action("notes.number", {"note": "recipe", "as": "intl"}),
        Action("calendar.meeting_time", {"meeting": "retro", "as": "h12"}),
    )[number]


def padded(task: Task, extra: Sequence[tuple[int, Action]]) -> Task:
    """The task with extra calls inserted into its solution."""
    solution = list(task.solution)
    for place, action in extra:
        solution.insert(min(place, len(solution) - 1), action)
    return attrs.evolve(task, id="padded", solution=tuple(solution))


@pytest.mark.parametrize("environment", [DESK, ROOM], ids=["desk", "stockroom"])
def test_every_training_task_is_minimal_already(environment: Any) -> None:
    for task in environment.tasks("train"):
        verdict = minimise(task, environment)
        assert verdict.accepted and verdict.task is None, (task.id, verdict)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(DESK.tasks("train")), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2).map(lookup)), min_size=1, max_size=3))
def test_useless_lookups_go_and_nothing_else_does(task: Task, extra: list[tuple[int, Action]]) -> None:
    long = padded(task, extra)
    if len(long.solution) > 9:  # more calls than an episode of the desk takes
        assert minimise(long).reason == Reason.CALL_FAILED
        return
    verdict = minimise(long)
    taken = {value for action in task.solution for value in action.arguments.values()}
    if any(step.result in taken for step in played(long) if step.action not in task.solution):
        return  # by chance a later call takes the value of a useless lookup: the lookup stays, or the desk words the task in another way
    assert verdict.task is not None and verdict.task.solution == task.solution
    assert replay(DESK, verdict.task)[1] == 1.0
    assert (verdict.task.id, verdict.task.query, verdict.task.origin) == (long.id, long.query, long.origin)


def test_a_repeated_lookup_is_removed() -> None:
    long = padded(CHAIN, [(1, CHAIN.solution[0])])
    verdict = minimise(long)
    assert verdict.task is not None and verdict.task.solution == CHAIN.solution
    assert verdict.detail == "4 of 5 calls do"


def test_a_mode_that_occurs_in_a_result_does_not_keep_the_lookup() -> None:
    """ "SKU-510" holds the word "sku", which is a form to ask for, not a value that was looked up."""
    asks = next(task for task in DESK.tasks("train") if task.solution[0].arguments.get("as") == "sku")
    verdict = minimise(padded(asks, [(0, lookup(0))]))
    assert verdict.task is not None and verdict.task.solution == asks.solution


def test_lookups_stay_whose_value_a_later_call_takes() -> None:
    """The scorer sees only the end state, so it would accept the last call with a guessed value."""
    guessed = attrs.evolve(CHAIN, solution=CHAIN.solution[2:])
    with DESK.open(CHAIN) as episode:
        for text in DESK.script(guessed.solution):
            episode.step(text)
        assert episode.score() == 1.0
    assert minimise(CHAIN).task is None


def test_the_lookup_behind_an_answer_stays() -> None:
    assert minimise(ANSWER).task is None
    verdict = minimise(padded(ANSWER, [(0, lookup(0))]))
    assert verdict.task is not None and verdict.task.solution == ANSWER.solution


def test_a_lookup_is_removed_when_the_request_holds_the_value() -> None:
    value = CHAIN.solution[2].arguments
    said = attrs.evolve(CHAIN, query=f"{CHAIN.query} It is {' '.join(map(str, value.values()))}.")
    verdict = minimise(said)
    assert verdict.task is not None and len(verdict.task.solution) < len(CHAIN.solution)


def test_calls_that_change_the_world_stay() -> None:
    both = next(task for task in DESK.tasks("train") if " and " in task.intent and not task.solution[-1].arguments)
    assert minimise(both).task is None


def test_a_solution_that_does_not_execute_is_refused() -> None:
    wrong = attrs.evolve(CHAIN, solution=(Action("mail.sender", {"thread": "nowhere", "as": "email"}), *CHAIN.solution))
    verdict = minimise(wrong)
    assert (verdict.accepted, verdict.reason) == (False, Reason.CALL_FAILED) and "mail.sender" in verdict.detail
    endless = attrs.evolve(CHAIN, solution=(lookup(0),) * 20)
    assert minimise(endless).reason == Reason.CALL_FAILED


def test_a_task_that_other_validators_refuse_passes_unchanged() -> None:
    assert minimise(attrs.evolve(CHAIN, solution=())).accepted

    class Strict(Stockroom):
        def open(self, task: Task) -> Any:
            episode: Any = super().open(task)
            episode.score = lambda: 0.0
            return episode

    verdict = minimise(ROOM.tasks("train")[0], Strict(StockroomOptions()))
    assert verdict.accepted and verdict.task is None


@pytest.mark.parametrize("method", ["open", "script"])
def test_a_failure_of_the_environment_accepts_nothing(method: str) -> None:
    def broken(self: Any, *arguments: Any) -> None:
        raise InfrastructureFault("the service is down")

    room = type("Broken", (Stockroom,), {method: broken})(StockroomOptions())
    verdict = minimise(ROOM.tasks("train")[0], room)
    assert (verdict.accepted, verdict.reason) == (False, Reason.ENVIRONMENT_ERROR) and "the service is down" in verdict.detail


def test_an_environment_that_composes_something_else_keeps_its_task() -> None:
    class Stubborn(Desk):
        def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
            return None

    verdict = minimise(padded(CHAIN, [(0, lookup(0))]), Stubborn(DeskOptions()))
    assert verdict.accepted and verdict.task is None and verdict.detail.startswith("4 of 5 calls would do")


def test_replays_are_bounded() -> None:
    class Counting(Desk):
        opened = 0

        def open(self, task: Task) -> Any:
            Counting.opened += 1
            return super().open(task)

    long = padded(CHAIN, [(0, lookup(0)), (0, lookup(1)), (0, lookup(2))])
    verdict = minimise(long, Counting(DeskOptions()), max_replays=2)
    assert verdict.accepted and Counting.opened <= 1 + 2 + 2


def test_the_next_validator_judges_the_shorter_task() -> None:
    """With a useless lookup, a held-out request in another world has another family of tools; without the lookup it is recognised."""
    held_out = DESK.tasks("test")
    known = next(task for task in held_out if len(task.solution) == 4)
    solution = (lookup(0), *solve(plan_of(played(known)), 7))
    long = Task("long", "desk", "Something quite different", "", solution, {"seed": 7})
    execution = Execution(ExecutionOptions())
    assert execution.validate(CandidateTask(long), DESK, TaskPool(()), held_out).accepted
    shorter = minimise(long).task
    assert shorter is not None and shorter.solution == solution[1:]
    assert execution.validate(CandidateTask(shorter), DESK, TaskPool(()), held_out).reason == Reason.HELD_OUT_FAMILY


def test_every_call_stays_when_the_scorer_demands_each_result() -> None:
    assets.ensure(RELEASES[DEFAULT])
    bfcl = Bfcl(BfclOptions())
    for task in bfcl.tasks("train")[:40]:
        verdict = minimise(task, bfcl)
        assert verdict.accepted and verdict.task is None, (task.id, verdict)
