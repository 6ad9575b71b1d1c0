"""The teacher makes another task of the explored calls where a solution was refused."""

import json
import random
from typing import Any

import attrs
import pytest
from teacher_answers import Answers

from coevolve import CandidateTask, Origin, RolloutGroup, Step, TaskPool, Verdict
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.synthesizers.teacher import Teacher, TeacherOptions
from coevolve.synthesizers.teacher.faults import TeacherFault
from coevolve.synthesizers.teacher.task_repair import PROBLEMS, repair_task
from coevolve.testing import Stockroom, StockroomOptions, make_feedback, make_trajectory
from coevolve.testing.stockroom import perform

ROOM: Any = Stockroom(StockroomOptions())
START = next(task for task in ROOM.tasks("train") if [a.name for a in task.solution][:2] == ["catalog.find", "stock.add"])
_FOUND = perform(START.payload["world"], START.solution[:2])[0]
CODE = _FOUND[0].result["reference"]
STEPS = (
    *_FOUND,
    Step(attrs.evolve(START.solution[0], name="stock.count", arguments={"code": CODE}), "{}", {"count": 1}),
    Step(attrs.evolve(START.solution[0], name="door.admit", arguments={"badge": "B0"}), "no", None, "there is no B0"),
)


def candidate(*numbers: int, query: str = "Please add some.") -> CandidateTask:
    task = ROOM.compose(START, [STEPS[number - 1] for number in numbers], "teacher-4-1-0", query)
    assert task is not None
    origin = Origin("teacher", 4, "boundary:4:x", (START.id,), {"exploration": 1})
    return CandidateTask(attrs.evolve(task, origin=origin), None, STEPS, ("4/abstract/1",))


def one_candidate(task: Any) -> str:
    """A reply with one task in it."""
    return json.dumps({"candidates": [task]})


GOOD = {"intent": "keep the books", "query": "We got more of them: twice what I said.", "solution": [1, 2]}
LONGER = {
    "intent": "",
    "query": "Put them on the books, and once more.",
    "solution": [1, 2, {"tool": "stock.add", "arguments": {"code": CODE, "amount": 3}}],
}


def made(reply: Any, verdict: Verdict, one: CandidateTask | None = None, **options: Any) -> tuple[Any, Any]:
    client: Any = Answers(reply if isinstance(reply, str | Exception) else one_candidate(reply), **options)
    return repair_task(client, one or candidate(1, 2), verdict, ROOM, START, False), client


@pytest.mark.parametrize("reason", sorted(PROBLEMS))
def test_the_teacher_is_told_the_reason_and_gives_another_task(reason: str) -> None:
    before = candidate(1, 2, query="Add.") if reason != "too_hard" else made(LONGER, Verdict(False, "too_easy"))[0]
    found, client = made(GOOD if reason != "too_easy" else LONGER, Verdict(False, reason, "stock.add is to blame"), before)
    assert found is not None and Execution(ExecutionOptions()).validate(found, ROOM, TaskPool(()), ()).accepted
    assert found.task.origin.detail == {"exploration": 1} and found.task.origin.parents == (START.id,)
    number = 2 if reason == "too_hard" else 1
    assert found.task.id == f"teacher-4-1-0-r{number}" and found.exploration == STEPS
    ((key, iteration, purpose, messages, schema),) = client.asked
    assert (key, iteration, purpose, client.closed) == (f"4/repair/{before.task.id}", 4, "repair", 1)
    assert found.calls == (*before.calls, key)
    text = messages[-1]["content"]
    assert PROBLEMS[reason].partition("{")[0] in text and "stock.add is to blame" in text
    assert text.count(before.task.query) == 1 and "FAILED: there is no B0" in text and '"candidates"' in text
    assert schema["properties"]["candidates"]["maxItems"] == 1
    assert "catalog.find" in messages[0]["content"], "the system message lists the tools"


def test_the_teacher_is_told_how_often_the_policy_solved_it() -> None:
    rollouts = tuple(make_trajectory("x", score, index=n) for n, score in enumerate((1.0, 1.0, 0.0, None)))
    verdict = Verdict(False, "too_easy", "bounds", attempts=RolloutGroup(START, 4, rollouts))
    _, client = made(LONGER, verdict)
    text = client.asked[0][3][-1]["content"]
    assert "the agent solved it 2 of 3 times" in text and "bounds" not in text


@pytest.mark.parametrize(
    ("reason", "reply"),
    [
        ("call_failed", "no idea"),
        ("call_failed", '{"candidates": []}'),
        ("call_failed", {"intent": "", "query": "Let them in.", "solution": [4]}),
        ("call_failed", {"intent": "", "query": "Do it.", "solution": [9]}),
        ("call_failed", {"intent": "", "query": "Please add some.", "solution": [1, 2]}),
        ("call_failed", TeacherFault("it is down")),
        ("too_easy", GOOD),
        ("too_hard", GOOD),
        ("too_hard", LONGER),
    ],
)
def test_a_reply_that_makes_no_fitting_task_is_no_candidate(reason: str, reply: Any) -> None:
    found, client = made(reply, Verdict(False, reason, "so it is"))
    assert found is None and client.closed == 1 and len(client.asked) == 1


def test_where_the_environment_words_requests_it_words_the_new_one() -> None:
    found, client = made({"intent": "x", "solution": LONGER["solution"]}, Verdict(False, "too_easy"), queries="environment")
    assert found is not None and found.task.query.startswith("Please add ") and "query" not in json.dumps(client.asked[0][4])


def test_a_prompt_stays_within_its_bounds() -> None:
    one = candidate(1, 2, query="add " * 9000)
    long = attrs.evolve(one, exploration=STEPS * 60)
    _, client = made(GOOD, Verdict(False, "call_failed", "why " * 9000), long, context_chars=6000)
    assert sum(len(message["content"]) for message in client.asked[0][3]) <= 6000


def test_the_teacher_repairs_a_solution_only_where_it_may() -> None:
    for teacher, asked in ((Teacher(TeacherOptions(repair=False)), 0), (Teacher(TeacherOptions()), 1)):
        client: Any = Answers(one_candidate(GOOD))
        teacher._client, teacher._feedback = client, make_feedback(ROOM.tasks("train"))
        found = teacher.repair(candidate(1, 2, query="Add."), Verdict(False, "call_failed", "so"), ROOM, random.Random(0))
        assert len(client.asked) == asked and (found is not None) == bool(asked)
    teacher = Teacher(TeacherOptions())
    assert teacher.repair(candidate(1, 2), Verdict(False, "call_failed"), ROOM, random.Random(0)) is None, "nothing was synthesized"
