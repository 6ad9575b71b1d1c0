import random
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest

from coevolve import CandidateTask, Task, TaskPool
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.synthesizers.operators import Operators, OperatorsOptions
from coevolve.synthesizers.variants import OPERATORS
from coevolve.testing import make_feedback
from coevolve.testing.checks import replay

Make = Callable[..., list[CandidateTask]]


@pytest.fixture(scope="module")
def room(bfcl: Bfcl) -> Any:
    return bfcl


@pytest.fixture(scope="module")
def variants(room: Any) -> Make:
    def made(operator: str, count: int, *more: Task) -> list[CandidateTask]:
        options = OperatorsOptions(operators=(operator,), max_calls=3000)
        feedback = make_feedback([*room.tasks("train"), *more], wanted=count)
        return list(islice(Operators(options).synthesize(feedback, room, random.Random(1)), count))

    return made


def paragraphs(task: Task) -> list[str]:
    return [text.strip() for text in task.query.split("\n\n") if text.strip()]


@pytest.mark.parametrize(("operator", "least"), [("swap", 7), ("suffix", 7), ("prefix", 5), ("recombine", 6), ("explore", 7)])
def test_each_operator_makes_tasks_that_the_strict_door_admits(operator: str, least: int, variants: Make, room: Any) -> None:
    door, pool = Execution(ExecutionOptions(drop_all=True, all_parents=True)), TaskPool(tuple(room.tasks("train")))
    found = variants(operator, 10)
    verdicts = [door.validate(candidate, room, pool, room.tasks("test")) for candidate in found]
    assert len(found) == 10
    assert sum(verdict.accepted for verdict in verdicts) >= least, verdicts
    for candidate in found:
        task = candidate.task
        assert task.origin.detail["operator"] == operator and task.origin.kind == "operators"
        assert set(task.payload) == set(room.tasks("train")[0].payload)
        assert len(task.payload["question"]) == len(task.payload["ground_truth"]) == len(paragraphs(task))
        assert all(task.payload["ground_truth"]) or task.payload["category"] == "miss_param"
        assert replay(room, task)[1] == 1.0


def test_the_same_seed_makes_the_same_tasks(variants: Make) -> None:
    for operator in OPERATORS:
        assert variants(operator, 3) == variants(operator, 3)


def test_kept_turns_keep_their_words(variants: Make, room: Any) -> None:
    known = {task.id: task for task in room.tasks("train")}
    for candidate in variants("suffix", 6):
        ours, theirs = (paragraphs(task) for task in (candidate.task, known[candidate.task.origin.parents[0]]))
        assert ours[: len(theirs)] == theirs and len(ours) > len(theirs)
    for candidate in variants("prefix", 6):
        ours, theirs = (paragraphs(task) for task in (candidate.task, known[candidate.task.origin.parents[0]]))
        assert ours[-len(theirs) :] == theirs and len(ours) > len(theirs)
    for candidate in variants("recombine", 6):
        first, second = (paragraphs(known[parent]) for parent in candidate.task.origin.parents)
        ours = paragraphs(candidate.task)
        split = next(n for n in range(1, len(ours)) if ours[:n] == first[:n] and "\0".join(ours[n:]) in "\0".join(second))
        assert 1 <= split < len(ours)


def test_explore_draws_one_story_and_keeps_no_turn_of_its_parent(variants: Make, room: Any) -> None:
    """The facts of two stories are not compared, so that their turns could contradict."""
    first = [candidate.task for candidate in variants("explore", 6)]
    known = {task.id: task for task in [*room.tasks("train"), *first]}
    for candidate in variants("explore", 30, *first):
        parent = known[candidate.task.origin.parents[0]]
        assert not set(paragraphs(candidate.task)) & set(paragraphs(parent))
        names = candidate.task.origin.detail["goal"].split(" + ")
        asked_back = sum(name.endswith("(asked back)") for name in names)
        assert len(paragraphs(candidate.task)) == len(names) + asked_back


def test_swap_says_the_new_value(variants: Make, room: Any) -> None:
    known = {task.id: task for task in room.tasks("train")}
    for candidate in variants("swap", 10):
        parent = known[candidate.task.origin.parents[0]]
        assert candidate.task.query != parent.query
        assert [a.name for a in candidate.task.solution] == [a.name for a in parent.solution]
        changed = [
            value
            for ours, theirs in zip(candidate.task.solution, parent.solution, strict=True)
            for name, value in ours.arguments.items()
            if value != theirs.arguments[name]
        ]
        assert any(str(value) in candidate.task.query for value in changed)


def test_a_parent_and_its_child_are_of_one_world(variants: Make, room: Any) -> None:
    children = [candidate.task for candidate in variants("swap", 10)]
    known = {task.id: task for task in [*room.tasks("train"), *children]}
    found = variants("recombine", 40, *children)
    scenarios = [{known[parent].payload["scenario"] for parent in c.task.origin.parents} for c in found]
    assert any(len(one) == 1 for one in scenarios)
    assert all(room.keys(c.task).family == f"scenario:{known[c.task.origin.parents[0]].payload['scenario']}" for c in found)
