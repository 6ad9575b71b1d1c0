"""Progress of rollouts: asked of their episodes, or read off their calls beside those of the task's solution."""

import threading
from types import SimpleNamespace
from typing import Any, ClassVar

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve import Action, HasProgress, Outcome, RolloutGroup, Sampling, Step, Task
from coevolve.core.isolation.checked_environment import checked
from coevolve.core.model import known_progress
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.progress import MOST, Reference, ReferenceCall, executed, mean_progress, settled, share, unexecuted
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.testing import ScriptedOptions, ScriptedPolicy, Stockroom, StockroomOptions, make_group, make_trajectory
from coevolve.testing.stockroom import StockroomEpisode


class Silent(Stockroom):
    """A stockroom whose episodes do not know their progress; it counts how often a task was opened, and may refuse to."""

    def __init__(self, opens: int = 1000) -> None:
        super().__init__(StockroomOptions())
        self.left, self.opened = opens, list[str]()

    def open(self, task: Task) -> StockroomEpisode:
        self.opened.append(task.id)
        self.left -= 1
        if self.left < 0:
            raise OSError("no room left")
        episode = super().open(task)
        episode.progress = None  # type: ignore[assignment, method-assign]
        return episode


def rolled(environment: Stockroom, task: Task, *scripts: tuple[str, ...], again: int = 1) -> list[RolloutGroup]:
    """One group with a rollout for each script, `again` times."""
    runner = RolloutRunner(environment, RolloutLimits(20, 5.0, 2), Clock())
    policy = ScriptedPolicy(ScriptedOptions(lambda task, row: scripts[row]))
    return [runner.run(policy, [task], len(scripts), Sampling(), n)[0] for n in range(again)]


def progress_of(environment: Stockroom, task: Task, *scripts: tuple[str, ...]) -> list[float | None]:
    return [trajectory.progress for trajectory in rolled(environment, task, *scripts)[0].trajectories]


def chain(environment: Stockroom) -> Task:
    """A task that looks up, counts, looks up and mails."""
    wanted = ["catalog.find", "stock.count", "staff.find", "mail.send"]
    tasks = [*environment.tasks("train"), *environment.tasks("test")]
    return next(task for task in tasks if [action.name for action in task.solution] == wanted)


def test_an_episode_is_asked_once_after_the_score() -> None:
    room, asked = Stockroom(StockroomOptions()), list[str]()

    class Asked(StockroomEpisode):
        def score(self) -> float:
            asked.append("score")
            return 0.25

        def progress(self) -> float:
            asked.append("progress")
            return 0.625

    task = room.tasks("train")[0]
    room.open = lambda task: Asked(task, None)  # type: ignore[method-assign]
    assert progress_of(room, task, ("",)) == [0.625] and asked == ["score", "progress"]


@pytest.mark.parametrize(
    ("found", "text"),
    [(1.5, "not in"), (-0.1, "not in"), (float("nan"), "not in"), ("half", "must return a number"), (None, "must return")],
)
def test_a_wrong_progress_costs_no_score(found: object, text: str, caplog: pytest.LogCaptureFixture) -> None:
    room = Stockroom(StockroomOptions())

    task, inside = room.tasks("train")[0], room.open

    def open_(task: Task) -> StockroomEpisode:
        episode = inside(task)
        episode.progress = lambda: found  # type: ignore[assignment, method-assign, return-value]
        return episode

    room.open = open_  # type: ignore[method-assign]
    failed, solved = rolled(room, task, ("",), room.script(task.solution))[0].trajectories
    assert (failed.outcome, failed.score, failed.progress) == (Outcome.COMPLETED, 0.0, None)
    assert (solved.score, solved.progress) == (1.0, 1.0), "a success has done all of its task"
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2 and all(f"task {task.id} is not known: " in line and text in line for line in told)


def test_a_progress_that_never_comes_costs_no_score(caplog: pytest.LogCaptureFixture) -> None:
    room, never = Stockroom(StockroomOptions()), threading.Event()

    class Stuck(StockroomEpisode):
        def progress(self) -> float:
            never.wait()
            return 0.5

    task = room.tasks("train")[0]
    room.open = lambda task: Stuck(task, None)  # type: ignore[method-assign]
    runner = RolloutRunner(room, RolloutLimits(20, 0.3, 1), Clock())
    (group,) = runner.run(ScriptedPolicy(ScriptedOptions(lambda task, row: ("",))), [task], 1, Sampling(), 1)
    never.set()
    assert (group.scores, group.progress) == ((0.0,), None) and "no answer within 0.3 s" in caplog.text


def test_a_success_is_one_and_a_failure_is_less() -> None:
    assert settled(1.0, 0.2) == settled(0.5, None) == 1.0
    assert settled(0.49, 1.0) == MOST < 1.0 and settled(0.0, 0.3) == 0.3 and settled(0.0, None) is None and settled(None, 0.3) is None


def test_the_stockroom_counts_what_its_goal_changes() -> None:
    room = Stockroom(StockroomOptions())
    task = next(task for task in room.tasks("train") if len(task.solution) == 4 and task.solution[1].name != "stock.count")
    script = room.script(task.solution)
    none, half, whole, spoilt = progress_of(room, task, ("",), (*script[:2], ""), script, (*script[:2], script[1], ""))
    assert (none, half, whole) == (0.0, 0.5, 1.0) and spoilt is not None and spoilt < 0.5


def test_calls_stand_in_where_the_episode_does_not_know() -> None:
    room = Silent()
    task = chain(room)
    find, count, who, mail, end = room.script(task.solution)
    bad = find.replace(task.solution[0].arguments["item"], "unicorn")
    found = progress_of(
        room,
        task,
        ("",),
        (find, ""),
        (find, find, find, ""),
        (who, find, ""),
        (bad, end),
        (find, count, who, end),
        (find, count, who, mail, end),
    )
    assert found == [0.0, 0.2, 0.2, 0.4, 0.0, 0.6, 1.0]


def test_the_world_that_the_solution_leaves_counts_whatever_the_calls_were() -> None:
    room = Silent()
    task = chain(room)
    reference = executed(checked(room), task)
    assert [call.changes for call in reference.calls] == [False, False, False, True]
    assert share(reference, (), reference.end) == 0.2 and share(reference, (), "another end") == 0.0


def test_a_solution_is_executed_once_and_only_for_failures() -> None:
    room = Silent()
    task = chain(room)
    rolled(room, task, room.script(task.solution), again=2)
    assert len(room.opened) == 2
    rolled(room, task, ("",), ("",), again=3)
    assert len(room.opened) == 2 + 3 * 2 + 1


def test_an_execution_that_raised_is_tried_again_at_the_next_failure(caplog: pytest.LogCaptureFixture) -> None:
    room = Silent(opens=1)
    task = chain(room)
    find, count, *_ = room.script(task.solution)
    runner = RolloutRunner(room, RolloutLimits(20, 5.0, 2), Clock())
    policy = ScriptedPolicy(ScriptedOptions(lambda task, row: (find, count, "")))
    (first,) = runner.run(policy, [task], 1, Sampling(), 1)[0].trajectories
    assert (first.outcome, first.score, first.progress) == (Outcome.COMPLETED, 0.0, None), "nothing is rated by half of what is known"
    assert f"the solution of task {task.id} could not be executed" in caplog.text and "no room left" in caplog.text
    room.left = 1000
    assert [runner.run(policy, [task], 1, Sampling(), n)[0].progress for n in (2, 3)] == [0.4, 0.4]
    assert len(room.opened) == 2 + 2 + 1, "what was found is remembered"


def test_a_state_that_cannot_be_read_leaves_the_progress_unknown() -> None:
    room = Silent()
    task = chain(room)

    def broken(self: StockroomEpisode) -> str:
        raise OSError("no room left")

    find, *_ = room.script(task.solution)
    inside = room.open

    def open_(task: Task) -> StockroomEpisode:
        episode = inside(task)
        if len(room.opened) == 1:
            episode.state = broken.__get__(episode)  # type: ignore[method-assign]
        return episode

    room.open = open_  # type: ignore[method-assign]
    assert progress_of(room, task, (find, "")) == [None]


def test_a_solution_that_fails_is_compared_by_its_calls() -> None:
    task = chain(Silent())
    wrong = attrs.evolve(task, solution=(Action("catalog.find", {"item": "unicorn", "as": "code"}), *task.solution))
    assert executed(checked(Silent()), wrong) == unexecuted(wrong)


class Light:
    """What an environment must have at least: the solution's texts are not known, so they are not understood."""

    name: ClassVar[str] = "light"
    Options: ClassVar[type] = StockroomOptions

    def __init__(self, room: Stockroom, knows: bool) -> None:
        self.room, self.knows = room, knows

    def tasks(self, split: str) -> list[Task]:
        return list(self.room.tasks(split))

    def open(self, task: Task) -> Any:
        inside = self.room.open(task)
        methods = ("step", "score", "progress") if self.knows else ("step", "score")
        return SimpleNamespace(**{name: getattr(inside, name) for name in methods})


@pytest.mark.parametrize(("knows", "found"), [(True, [0.0, 0.0, 0.5]), (False, [0.0, 0.2, 0.2])])
def test_an_environment_with_the_least_methods_has_progress(knows: bool, found: list[float]) -> None:
    room = Stockroom(StockroomOptions())
    task = chain(room)
    find, _, _, mail, _ = room.script(task.solution)
    texts = [("",), (find, ""), (mail, mail, "")]
    runner = RolloutRunner(checked(Light(room, knows)), RolloutLimits(20, 5.0, 1), Clock())
    (group,) = runner.run(ScriptedPolicy(ScriptedOptions(lambda task, row: texts[row])), [task], 3, Sampling(), 1)
    assert [trajectory.progress for trajectory in group.trajectories] == found


def test_a_task_without_a_solution_has_no_progress() -> None:
    room = Silent()
    task = attrs.evolve(chain(room), solution=())
    assert progress_of(room, task, ("",)) == [None] and len(room.opened) == 1


def look(name: str, result: object = "A17", error: str | None = None, **arguments: object) -> Step:
    return Step(Action(name, arguments), "", result, error)


LOOKUP = Reference((ReferenceCall('["find", {"n": 65}]', '"A17"', False),))


@pytest.mark.parametrize(
    ("step", "found"),
    [
        (look("find", n=65.0), 0.5),
        (look("find", result="else", n=65), 0.5),
        (look("search"), 0.5),
        (look("search", "B2"), 0.0),
        (look("find", error="gone", n=65), 0.0),
        (look("search", None), 0.0),
    ],
)
def test_a_lookup_counts_by_its_call_or_by_its_result(step: Step, found: float) -> None:
    assert share(LOOKUP, (step,), None) == found


@pytest.mark.parametrize("result", [None, True, 3, "x", {"ok": True}, [], {"count": 9}])
def test_a_result_that_says_little_matches_nothing(result: object) -> None:
    room = Reference((ReferenceCall("[]", None, False),))
    assert share(room, (look("other", result),), None) == 0.0


def test_calls_that_change_the_world_count_in_order() -> None:
    reference = Reference(tuple(ReferenceCall(f'["{name}", {{}}]') for name in "abc"), "end")
    for made, found in (("abc", 3), ("acb", 2), ("cba", 1), ("aaa", 1), ("xaxbx", 2), ("", 0)):
        assert share(reference, [look(name) for name in made], "elsewhere") == found / 4
    assert share(reference, [look("x")], "end") == 0.75


steps = st.lists(
    st.builds(look, st.sampled_from("abc"), st.sampled_from(["R1", "R2", None, True]), st.sampled_from([None, "no"])), max_size=8
)
calls = st.builds(ReferenceCall, st.sampled_from([f'["{c}", {{}}]' for c in "abc"]), st.sampled_from(['"R1"', '"R2"', None]), st.booleans())


@given(st.lists(calls, min_size=1, max_size=5).map(tuple), steps, steps)
def test_more_calls_never_take_away_and_never_reach_one(wanted: tuple[ReferenceCall, ...], made: list[Step], more: list[Step]) -> None:
    before, after = share(Reference(wanted), made, None), share(Reference(wanted), made + more, None)
    assert before is not None and after is not None and 0.0 <= before <= after < 1.0


def test_there_is_one_mean_of_progress() -> None:
    rows = tuple(attrs.evolve(make_trajectory(score=0.0), progress=p) for p in (0.1, 0.1, 0.7, None))
    group = RolloutGroup(make_group().task, 1, rows)
    assert group.progress == known_progress(rows) == mean_progress([group])["progress"] == pytest.approx(0.3)


def test_the_metric_is_the_mean_over_rollouts_that_know_theirs() -> None:
    rows = [attrs.evolve(make_trajectory(score=0.0), progress=p) for p in (0.25, None, 0.75)]
    assert mean_progress([RolloutGroup(make_group().task, 1, tuple(rows))]) == {"progress": 0.5}
    assert mean_progress([make_group(scores=(0.0, None))]) == {}


def test_checked_episodes_offer_progress_only_where_the_environment_does() -> None:
    room, silent = Stockroom(StockroomOptions()), Silent()
    task = chain(room)
    assert isinstance(checked(room).open(task), HasProgress) and not isinstance(checked(silent).open(task), HasProgress)
