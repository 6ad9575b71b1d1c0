import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

import attrs
import pytest

from coevolve import Action, CandidateTask, Environment, Feedback, Signal, Step, Task, TaskPool
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.synthesizers.links import SolvedTask
from coevolve.synthesizers.operators import Operators, OperatorsOptions
from coevolve.synthesizers.variants import OPERATORS, task_turns, value_pattern
from coevolve.testing import Stockroom, StockroomOptions, check_synthesizer, make_feedback, make_task, replay

ROOM = Stockroom(StockroomOptions())
APPLICABLE = ("swap", "suffix", "prefix", "explore")
"""The operators that need neither several turns nor several tasks of one world."""


def make(environment: Environment, feedback: Feedback, operator: str, count: int = 10, **options: Any) -> list[CandidateTask]:
    made = Operators(OperatorsOptions(operators=(operator,), **options))
    return list(islice(made.synthesize(feedback, environment, random.Random(3)), count))


def names(actions: Sequence[Action]) -> list[str]:
    return [action.name for action in actions]


def test_operators_keep_the_contract_of_a_synthesizer() -> None:
    feedback = make_feedback(ROOM.tasks("train"), signals=[Signal("boundary", ROOM.tasks("train")[0].id, 9, 0.5)])
    found = check_synthesizer(Operators(OperatorsOptions(max_calls=1500)), ROOM, feedback)
    assert len(found) >= 10 and all(replay(ROOM, candidate.task)[1] == 1.0 for candidate in found)
    assert {candidate.task.origin.detail["operator"] for candidate in found} >= {"swap", "suffix", "prefix"}


@pytest.mark.parametrize("operator", APPLICABLE)
def test_each_applicable_operator_makes_tasks_that_are_admitted(operator: str) -> None:
    execution, pool = Execution(ExecutionOptions(all_parents=True)), TaskPool(tuple(ROOM.tasks("train")))
    found = make(ROOM, make_feedback(pool.tasks), operator)
    admitted = [c for c in found if execution.validate(c, ROOM, pool, ROOM.tasks("test")).accepted]
    assert len(found) == 10 and len(admitted) >= 4
    assert {c.task.origin.detail["operator"] for c in found} == {operator}


def test_swap_changes_one_value_in_words_and_calls() -> None:
    known = {task.id: task for task in ROOM.tasks("train")}
    for candidate in make(ROOM, make_feedback(list(known.values())), "swap"):
        parent = known[candidate.task.origin.parents[0]]
        assert names(candidate.task.solution) == names(parent.solution)
        ours, theirs = (Counter(t.query.replace(",", "").rstrip(".").split()) for t in (candidate.task, parent))
        changed = ours - theirs
        assert len(changed) == 1
        literals = [str(value) for action in candidate.task.solution for value in action.arguments.values()]
        assert next(iter(changed)) in literals


def test_suffix_and_prefix_keep_the_parents_calls() -> None:
    known = {task.id: task for task in ROOM.tasks("train")}

    def acts(task: Task) -> list[Action]:
        return [action for action in task.solution if not action.name.endswith(("find", "count"))]

    for candidate in make(ROOM, make_feedback(list(known.values())), "suffix"):
        ours, theirs = candidate.task, known[candidate.task.origin.parents[0]]
        assert acts(ours)[: len(acts(theirs))] == acts(theirs)
        assert len(ours.solution) > len(theirs.solution)
    for candidate in make(ROOM, make_feedback(list(known.values())), "prefix"):
        ours, theirs = candidate.task, known[candidate.task.origin.parents[0]]
        # A count that a later call takes differs where the new calls changed the stock.
        assert names(acts(ours))[len(acts(ours)) - len(acts(theirs)) :] == names(acts(theirs))
        assert len(ours.solution) > len(theirs.solution)


def test_a_value_from_an_earlier_call_follows_the_world() -> None:
    """With more in the stock, the count that is printed on labels is the new one."""
    task = next(t for t in ROOM.tasks("train") if names(t.solution) == ["catalog.find", "stock.count", "catalog.find", "label.print"])
    found = make(ROOM, make_feedback(ROOM.tasks("train"), signals=[Signal("rare", task.id, 9, 1.0)]), "prefix", 20, signalled=1.0)
    added = [c.task for c in found if "stock.add" in names(c.task.solution)]
    assert added
    amount = task.solution[-1].arguments["amount"]
    assert all(other.solution[-1].arguments["amount"] != amount and replay(ROOM, other)[1] == 1.0 for other in added)


def test_tasks_of_one_world_are_recombined() -> None:
    parents = list(ROOM.tasks("train"))
    children = [candidate.task for candidate in make(ROOM, make_feedback(parents), "swap", 20)]
    known = {task.id: task for task in [*parents, *children]}
    found = make(ROOM, make_feedback(list(known.values())), "recombine", 10, max_calls=8000)
    assert len(found) >= 5
    together = [c for c in found if len({known[p].payload["world"] for p in c.task.origin.parents}) == 1]
    assert together
    for candidate in together:
        first, second = (known[parent] for parent in candidate.task.origin.parents)
        kept = {str(action) for action in candidate.task.solution if not action.name.endswith("find")}
        assert kept <= {str(action) for action in (*first.solution, *second.solution)}


def test_parents_are_drawn_from_signalled_tasks() -> None:
    tasks = ROOM.tasks("train")
    signals = [Signal("boundary", tasks[0].id, 9, 1.0), Signal("boundary", "gone", 9, 1.0)]
    feedback = make_feedback(tasks, signals=signals)
    found = make(ROOM, feedback, "suffix", 8, signalled=1.0)
    assert found and {c.task.origin.parents for c in found} == {(tasks[0].id,)}
    assert {c.task.origin.signal for c in found} == {signals[0].id}
    assert all(c.context is not None and c.context.signal is signals[0] and c.context.targets == ("suffix",) for c in found)
    assert {c.task.origin.signal for c in make(ROOM, feedback, "suffix", 8, signalled=0.0)} == {None}


def test_environment_calls_are_bounded() -> None:
    calls: Counter[str] = Counter()

    class Mute(Stockroom):
        def open(self, task: Task) -> Any:
            calls["open"] += 1
            return super().open(task)

        def compose(self, start: Task, steps: Any, task_id: str, query: str | None = None) -> Task | None:
            calls["compose"] += 1
            return None

    room = Mute(StockroomOptions())
    assert list(Operators(OperatorsOptions(max_calls=200)).synthesize(make_feedback(room.tasks("train")), room, random.Random(1))) == []
    assert calls["open"] + calls["compose"] <= 200 + len(room.tasks("train"))
    assert make(room, make_feedback([]), "swap") == []
    unknown = attrs.evolve(make_task(solution=[Action("fly")]), payload={"world": 1})
    assert make(ROOM, make_feedback([unknown]), "swap", max_calls=50) == []


def test_a_call_that_the_scorer_does_not_miss_is_removed() -> None:
    """This scorer accepts everything, so it misses no call that the parent's words ask for."""

    class Careless(Stockroom):
        def open(self, task: Task) -> Any:
            episode = super().open(task)
            episode.score = lambda: 1.0  # type: ignore[method-assign]
            return episode

    room = Careless(StockroomOptions())
    lone = make(room, make_feedback(room.tasks("train")), "suffix", max_calls=2000)
    for candidate in lone:
        kept = [step for step in candidate.exploration if not step.action.name.endswith(("find", "count"))]
        assert len(kept) <= 1


@pytest.mark.parametrize(
    ("value", "text", "said"),
    [
        (20, "the last 20 lines", True),
        (20, "the last 20.5 lines", False),
        (20.0, "20.", True),
        (20, "20.0 l", True),
        ("log", "log.txt", False),
        ("log.txt", "open 'log.txt'.", True),
        ("a+b", "it is a+b?", True),
        ("ana", "banana", False),
        (5, "a-5", False),
    ],
)
def test_values_are_found_as_words(value: Any, text: str, said: bool) -> None:
    assert bool(value_pattern(value).search(text)) == said


def test_an_unknown_operator_is_refused() -> None:
    with pytest.raises(ValueError, match="must be in"):
        OperatorsOptions(operators=("sawp",))
    OperatorsOptions(operators=(*OPERATORS, "other_kind"))


@pytest.mark.parametrize(
    ("query", "numbers", "texts"),
    [
        ("a\n\nb", (0, 0, 1), ("a", "b")),
        ("a\n\nb\n\nc", (0, 2), ("a", "b\nc")),
        ("a\n\nb", (0, 2), ("a", "b")),
        ("a\n\nb\n\nc", (0, 1), None),
        ("a", (0, 1), None),
    ],
)
def test_words_belong_to_the_turn_in_which_they_are_acted_on(query: str, numbers: tuple[int, ...], texts: tuple[str, ...] | None) -> None:
    actions = [Action("f", {"n": n}, turn) for n, turn in enumerate(numbers)]
    one = SolvedTask(make_task(query=query, solution=actions), tuple(Step(action, "") for action in actions), ())
    kept = task_turns(one, several=True)
    assert (kept.texts if kept else None) == texts
    whole = task_turns(one, several=False)
    assert whole is not None and whole.groups == (tuple(range(len(numbers))),)
    assert task_turns(SolvedTask(one.task, one.steps[:-1], ()), several=True) is None
