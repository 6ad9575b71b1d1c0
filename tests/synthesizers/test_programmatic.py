import random
from collections import Counter
from itertools import islice
from typing import Any

import attrs

from coevolve import CandidateTask, Environment, Feedback, RolloutGroup, Signal, Step, Task, TaskPool
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.synthesizers.catalog import catalog_of
from coevolve.synthesizers.links import Survey, link_uses
from coevolve.synthesizers.programmatic import Programmatic, ProgrammaticOptions
from coevolve.testing import Stockroom, StockroomOptions, check_synthesizer, make_feedback, make_trajectory, replay

ROOM = Stockroom(StockroomOptions())
DESK = Desk(DeskOptions(train=64, test=100, dev=1))
CATALOG = catalog_of(DESK.describe())


def explore(environment: Environment, feedback: Feedback, count: int = 16, seed: int = 3, **options: Any) -> list[CandidateTask]:
    made = Programmatic(ProgrammaticOptions(**options)).synthesize(feedback, environment, random.Random(seed))
    return list(islice(made, count))


def weak(tasks: list[Task], app: str) -> tuple[list[RolloutGroup], list[Signal]]:
    """Rollouts of a policy that looks up the wrong form whenever a later call takes a value from `app`, and their boundary signals."""
    groups, signals = [], []
    for one in Survey().solved(tasks, DESK, CATALOG, 10**6):
        bad = [h.source for h in one.link_uses if CATALOG.group(h.link.producer) == app]
        steps, rollouts = one.steps, [make_trajectory(one.task.id, 1.0, index=0, steps=one.steps)]
        if bad:
            lookup = steps[bad[0]].action
            choices = next(c for c in DESK.describe().tools if c.name == lookup.name).parameters["properties"]["as"]["enum"]
            other = next(c for c in choices if c != lookup.arguments["as"])
            wrong = Step(attrs.evolve(lookup, arguments={**lookup.arguments, "as": other}), "?", "?")
            rollouts += [make_trajectory(one.task.id, 0.0, index=n, steps=(*steps[: bad[0]], wrong)) for n in (1, 2, 3)]
        groups.append(RolloutGroup(one.task, 1, tuple(rollouts)))
        signals.append(Signal("boundary", one.task.id, 1, 0.75))
    return groups, signals


def producers(candidates: list[CandidateTask]) -> Counter[str]:
    """How many targets each producing app has."""
    return Counter(candidate.context.targets[0].partition(".")[0] for candidate in candidates if candidate.context)


def test_guided_exploration_keeps_the_contract_of_a_synthesizer() -> None:
    groups = [RolloutGroup(task, 1, (make_trajectory(task.id, 0.0), make_trajectory(task.id, 1.0))) for task in ROOM.tasks("train")]
    signals = [Signal("boundary", group.task.id, 1, 1.0) for group in groups]
    feedback = make_feedback(ROOM.tasks("train"), groups, signals)
    found = check_synthesizer(Programmatic(ProgrammaticOptions(max_calls=400)), ROOM, feedback)
    assert found and all(replay(ROOM, candidate.task)[1] == 1.0 for candidate in found)


def test_a_weakness_draws_the_exploration_to_links_that_the_pool_lacks() -> None:
    tasks = list(DESK.tasks("train"))
    app = Counter(CATALOG.group(h.link.producer) for one in Survey().solved(tasks, DESK, CATALOG, 999) for h in one.link_uses).most_common(
        1
    )[0][0]
    groups, signals = weak(tasks, app)
    feedback = make_feedback(tasks, groups, signals)
    guided = producers(explore(DESK, feedback, 24))
    unguided = producers(explore(DESK, feedback, 24, use_signals=False))
    assert guided[app] > 2 * unguided[app] and guided[app] >= 8


def test_candidates_record_the_signal_and_the_links_that_they_explore() -> None:
    tasks = list(DESK.tasks("train"))
    groups, signals = weak(tasks, "notes")
    known = {signal.id: signal for signal in signals}
    for candidate in explore(DESK, make_feedback(tasks, groups, signals), 12):
        context = candidate.context
        assert context is not None and context.signal is not None and context.targets
        assert candidate.task.origin.signal == context.signal.id and context.signal.id in known
        assert "estimated failure rate" in context.weakness and candidate.task.origin.detail["targets"] == list(context.targets)
        links = {str(handing.link) for handing in link_uses(candidate.exploration, CATALOG)}
        assert set(context.targets) <= links
        solved = Survey().solved([candidate.task], DESK, CATALOG, 1)[0]
        assert set(context.targets) <= {str(handing.link) for handing in solved.link_uses}


def test_most_candidates_are_admitted_and_bring_new_links() -> None:
    tasks = DESK.tasks("train")
    pool, execution = TaskPool(tuple(tasks)), Execution(ExecutionOptions())
    known = {h.link for one in Survey().solved(tasks, DESK, CATALOG, 999) for h in one.link_uses}
    candidates = explore(DESK, make_feedback(tasks), 24)
    admitted = [c for c in candidates if execution.validate(c, DESK, pool, DESK.tasks("test")).accepted]
    assert len(admitted) >= 18
    fresh = {h.link for c in admitted for h in link_uses(c.exploration, CATALOG)} - known
    assert len(fresh) >= 8


def test_the_cover_arm_uses_no_signal() -> None:
    tasks = list(DESK.tasks("train"))
    groups, signals = weak(tasks, "notes")
    with_signals = explore(DESK, make_feedback(tasks, groups, signals), 8, use_signals=False)
    assert [c.task.query for c in with_signals] == [c.task.query for c in explore(DESK, make_feedback(tasks), 8, use_signals=False)]
    assert all(c.context is not None and c.context.signal is None and c.task.origin.signal is None for c in with_signals)


def test_levels_read_the_rollouts_of_signalled_tasks_alone() -> None:
    tasks = list(DESK.tasks("train"))
    groups, signals = weak(tasks, "notes")
    other = Signal("boundary", "gone", 1, 1.0)
    unread = explore(DESK, make_feedback(tasks, groups, [other]), 8, estimates="levels")
    assert [c.task.query for c in unread] == [c.task.query for c in explore(DESK, make_feedback(tasks, [], [other]), 8, estimates="levels")]
    read = explore(DESK, make_feedback(tasks, groups, signals), 8, estimates="levels")
    assert [c.task.query for c in unread] != [c.task.query for c in read]


def test_effects_read_all_scores_and_only_where_there_is_a_signal() -> None:
    tasks = list(DESK.tasks("train"))
    groups, _ = weak(tasks, "notes")
    other = Signal("boundary", "gone", 1, 1.0)
    read, unread, without = (
        [c.task.query for c in explore(DESK, make_feedback(tasks, some, signals), 8)]
        for some, signals in ((groups, [other]), ([], [other]), (groups, []))
    )
    assert read != unread and read != without


def test_an_evolution_without_signals_covers_or_yields_nothing() -> None:
    feedback = make_feedback(DESK.tasks("train"))
    assert explore(DESK, feedback, 4, without_signals="nothing") == []
    assert len(explore(DESK, feedback, 4)) == 4


def test_forgotten_tasks_come_back_as_neighbours() -> None:
    tasks = [task for task in DESK.tasks("train") if len(task.solution) == 3][:4]
    signals = [Signal("forgetting", task.id, 9, 1.0, {"recent": [1.0], "now": 0.0}) for task in tasks]
    feedback = make_feedback(list(DESK.tasks("train")), signals=signals, wanted=16)
    found = [c for c in explore(DESK, feedback, 16) if c.context and c.context.targets[0].startswith("a neighbour")]
    assert 1 <= len(found) <= 2
    for candidate in found:
        assert candidate.context is not None and candidate.context.signal is not None
        source = next(task for task in tasks if task.id == candidate.context.signal.task_id)
        assert [a.name for a in candidate.task.solution] == [a.name for a in source.solution]
        assert candidate.task.query != source.query and source.id in candidate.task.origin.parents
    assert not [c for c in explore(DESK, feedback, 16, neighbours=0.0) if c.context and "neighbour" in c.context.targets[0]]


def test_a_hopeless_environment_ends_with_the_budget() -> None:
    class Mute(Stockroom):
        def compose(self, start: Task, steps: Any, task_id: str, query: str | None = None) -> Task | None:
            return None

    room = Mute(StockroomOptions())
    assert explore(room, make_feedback(room.tasks("train")), 5, max_calls=300) == []
    assert explore(room, make_feedback([]), 5) == []
