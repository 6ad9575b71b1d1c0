"""Each signal alone leads guided exploration to a planted weakness of its kind, and without it the exploration does not find it."""

import random
from collections.abc import Sequence

import pytest

from coevolve import CandidateTask, Feedback, History, Outcome, RolloutGroup, Signal, SignalDetector, TaskPool, Trajectory
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.environments.desk.tools import TOOLS
from coevolve.signals.boundary import Boundary, BoundaryOptions
from coevolve.signals.forgetting import Forgetting, ForgettingOptions
from coevolve.signals.rare import Rare, RareOptions
from coevolve.synthesizers.catalog import catalog_of
from coevolve.synthesizers.links import SolvedTask, Survey
from coevolve.synthesizers.programmatic import Programmatic, ProgrammaticOptions

DESK = Desk(DeskOptions(train=96))
CATALOG = catalog_of(DESK.describe())
SOLVED = Survey().solved(DESK.tasks("train"), DESK, CATALOG)
POOL = TaskPool(tuple(one.task for one in SOLVED))
WANTED = 40


def group(one: SolvedTask, scores: Sequence[float], iteration: int) -> RolloutGroup:
    """Rollouts of a task: a success makes the calls of its solution, a failure ends after the first one."""
    made = []
    for index, score in enumerate(scores):
        steps = one.steps if score else one.steps[:1]
        trajectory = Trajectory(one.task.id, iteration, index, (), steps, Outcome.COMPLETED, score)
        made.append(Trajectory(one.task.id, iteration, index, (), steps, Outcome.COMPLETED, score, patterns=DESK.patterns(trajectory)))
    return RolloutGroup(one.task, iteration, tuple(made))


def explored(groups: Sequence[RolloutGroup], detectors: Sequence[SignalDetector], **options: float) -> list[CandidateTask]:
    history = History().with_groups(groups)
    last = max(group.iteration for group in groups)
    recent = [group for group in groups if group.iteration == last]
    signals: list[Signal] = [signal for detector in detectors for signal in detector.detect(recent, history)]
    feedback = Feedback(last, tuple(signals), tuple(recent), history, POOL, WANTED)
    made = Programmatic(ProgrammaticOptions(**options)).synthesize(feedback, DESK, random.Random(5))  # type: ignore[arg-type]
    return [candidate for candidate, _ in zip(made, range(WANTED), strict=False)]


def share(candidates: Sequence[CandidateTask], app: str) -> float:
    """The share of candidates in which a lookup of `app` hands its value on."""
    return sum(
        any(use.startswith(f"{app}.") for use in (candidate.context.targets if candidate.context else ())) for candidate in candidates
    ) / len(candidates)


def apps_of(one: SolvedTask) -> set[str]:
    return {TOOLS[use.link.producer].app for use in one.link_uses}


APP = max(sorted({app for one in SOLVED for app in apps_of(one)}), key=lambda app: sum(app in apps_of(one) for one in SOLVED))
"""The app that most tasks take values from: there the weaknesses are planted."""


@pytest.mark.parametrize("shipped", [0, 1, 2])
def test_boundary_alone_finds_a_half_known_skill(shipped: int) -> None:
    half = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0][shipped:]
    groups = [group(one, half if APP in apps_of(one) else [1.0] * len(half), 10) for one in SOLVED]
    found = share(explored(groups, [Boundary(BoundaryOptions())]), APP)
    assert found > 0.5 > 2 * share(explored(groups, []), APP)


def test_forgetting_alone_finds_a_forgotten_skill() -> None:
    before = [group(one, [1.0] * 8, iteration) for iteration in (1, 2) for one in SOLVED]
    now = [group(one, [0.0] * 8 if APP in apps_of(one) else [1.0] * 8, 10) for one in SOLVED]
    candidates = explored([*before, *now], [Forgetting(ForgettingOptions())])
    assert share(candidates, APP) > 0.5 > 2 * share(explored([*before, *now], []), APP)
    neighbours = [one for one in candidates if one.context and one.context.targets[0].startswith("a neighbour of")]
    assert len(neighbours) == int(ProgrammaticOptions().neighbours * WANTED)
    for one in neighbours:
        assert one.context is not None and one.context.signal is not None
        assert APP in apps_of(next(known for known in SOLVED if known.task.id == one.context.signal.task_id))


def test_rare_alone_finds_hardly_seen_tools() -> None:
    found = {0.0: 0, 30.0: 0}
    for tool in ("calendar.free_room", "chat.hotline", "chat.pinned", "contacts.team_phone"):
        with_it = [one for one in SOLVED if any(step.action.name == tool for step in one.steps)]
        others = [group(one, [1.0] * 8, iteration) for iteration in range(1, 10) for one in SOLVED if one not in with_it]
        now = [group(one, [1.0] * 8, 10) for one in SOLVED if one not in with_it[1:]]
        for rare in found:
            candidates = explored([*others, *now], [Rare(RareOptions(theta=0.15))], rare=rare)
            found[rare] += sum(any(f"{tool}[" in target for target in one.context.targets) for one in candidates if one.context)
    assert found[30.0] > 4 * found[0.0]
