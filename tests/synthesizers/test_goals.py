"""Synthesizers in an environment that knows what its users want."""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

import attrs
import pytest
from wishes import Wishes

from coevolve import Action, CandidateTask, Goal, RolloutGroup, Signal, Step, Synthesizer, Task
from coevolve.synthesizers.operators import Operators, OperatorsOptions
from coevolve.synthesizers.programmatic import Programmatic, ProgrammaticOptions
from coevolve.synthesizers.random import RandomExploration, RandomOptions
from coevolve.testing import StockroomOptions, check_synthesizer, make_feedback, make_trajectory, replay

ROOM = Wishes(StockroomOptions())
TASKS = ROOM.tasks("train")


def kinds(found: Sequence[CandidateTask]) -> Counter[Any]:
    return Counter(candidate.task.origin.detail["goal"] for candidate in found)


def drawn(synthesizer: Synthesizer, count: int, seed: int = 3, **feedback: Any) -> list[CandidateTask]:
    return list(islice(synthesizer.synthesize(make_feedback(TASKS, **feedback), ROOM, random.Random(seed)), count))


@pytest.mark.parametrize("synthesizer", [Programmatic(ProgrammaticOptions(max_calls=600)), RandomExploration(RandomOptions(max_calls=600))])
def test_goals_become_tasks_in_the_environments_words(synthesizer: Synthesizer) -> None:
    found = check_synthesizer(synthesizer, ROOM, make_feedback(TASKS))
    assert len(found) >= 10 and set(kinds(found)) == {"admit", "restock"}
    assert all(replay(ROOM, candidate.task)[1] == 1.0 for candidate in found)
    assert all("the poor soul" in c.task.query or "on the books" in c.task.query for c in found)
    assert len({candidate.task.query for candidate in found}) == len(found)
    assert all(c.task.origin.kind == synthesizer.name and c.task.origin.parents[0] in {t.id for t in TASKS} for c in found)


def test_a_goal_whose_call_fails_is_no_candidate_and_ends_nothing() -> None:
    class Broken(Wishes):
        def goals(self, start: Task, seed: int, count: int, after: Sequence[Action] = ()) -> list[Goal]:
            return super().goals(start, seed, count)[:1]

    for synthesizer in (Programmatic(ProgrammaticOptions(max_calls=500)), RandomExploration(RandomOptions(max_calls=500))):
        assert list(synthesizer.synthesize(make_feedback(TASKS), Broken(StockroomOptions()), random.Random(1))) == []


def weak_links(tool: str) -> tuple[list[RolloutGroup], list[Signal]]:
    """Rollouts that fail at every call of `tool`, and signals for their tasks."""
    groups, signals = [], []
    for task in TASKS:
        steps = tuple(Step(action, "", {}) for action in task.solution)
        place = next((n for n, action in enumerate(task.solution) if action.name == tool), None)
        rollouts = [make_trajectory(task.id, 1.0, index=0, steps=steps)]
        if place is not None:
            wrong = attrs.evolve(steps[place], action=Action(tool, {"badge": "B0", "code": "C0", "amount": 1}), error="no")
            rollouts += [make_trajectory(task.id, 0.0, index=n, steps=(*steps[:place], wrong)) for n in (1, 2, 3)]
            signals.append(Signal("boundary", task.id, 1, 0.75))
        groups.append(RolloutGroup(task, 1, tuple(rollouts)))
    return groups, signals


def executed(groups: Sequence[RolloutGroup]) -> list[RolloutGroup]:
    """The same groups with the results that the room gives, so that links between calls can be found."""
    found = []
    for group in groups:
        results = {str(step.action): step for seen in replay(ROOM, group.task)[0] for step in seen.steps}
        rollouts = [attrs.evolve(t, steps=tuple(results.get(str(step.action), step) for step in t.steps)) for t in group.trajectories]
        found.append(attrs.evolve(group, trajectories=tuple(rollouts)))
    return found


def share(kind: str, tool: str | None) -> float:
    """The share of a kind among 60 candidates of several seeds, where rollouts fail at `tool`."""
    groups, signals = weak_links(tool) if tool else ([], [])
    found: list[CandidateTask] = []
    for seed in range(6):
        found += drawn(Programmatic(ProgrammaticOptions()), 10, seed, groups=executed(groups), signals=signals)
    return kinds(found)[kind] / len(found)


def test_the_goal_with_a_weak_link_is_chosen_more_often() -> None:
    assert share("admit", "door.admit") > share("admit", "stock.add") + 0.1
    assert share("restock", "stock.add") > share("restock", "door.admit") + 0.1


def test_a_kind_that_the_pool_has_is_chosen_less_often() -> None:
    have = [attrs.evolve(task, origin=attrs.evolve(task.origin, detail={"goal": "admit"})) for task in TASKS]
    found = list(islice(Programmatic(ProgrammaticOptions()).synthesize(make_feedback(have), ROOM, random.Random(1)), 10))
    assert kinds(found)["restock"] > kinds(found)["admit"]


def test_without_several_turns_the_operators_take_goals_as_they_are_or_not_at_all() -> None:
    found = drawn(Operators(OperatorsOptions(operators=("suffix", "other_kind"), max_calls=400)), 5)
    assert all(replay(ROOM, candidate.task)[1] == 1.0 for candidate in found)
