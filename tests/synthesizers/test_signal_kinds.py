"""Each signal alone leads guided exploration to a planted weakness of its kind, and without it the exploration does not find it.

With the default estimates ("effects") any signal makes the synthesizer read the last scores of all tasks. So which tasks are tagged decides
nothing about the estimates; it decides which tasks get neighbours (forgetting) and which tools get a bonus (rare). With "levels" only the
rollouts of tagged tasks are read. The tests move the tags to other tasks to show both.
"""

import random
from collections.abc import Sequence
from statistics import mean

import attrs
import pytest

from coevolve import CandidateTask, Feedback, History, Outcome, RolloutGroup, Signal, SignalDetector, TaskPool, Trajectory
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.environments.desk.tools import TOOLS
from coevolve.signals.boundary import Boundary, BoundaryOptions
from coevolve.signals.forgetting import Forgetting, ForgettingOptions
from coevolve.signals.rare import Rare, RareOptions
from coevolve.synthesizers.catalog import catalog_of
from coevolve.synthesizers.link_weights import Weighing, link_weights
from coevolve.synthesizers.links import SolvedTask, Survey
from coevolve.synthesizers.programmatic import Programmatic, ProgrammaticOptions

DESK = Desk(DeskOptions(train=96))
CATALOG = catalog_of(DESK.describe())
SOLVED = Survey().solved(DESK.tasks("train"), DESK, CATALOG)
POOL = TaskPool(tuple(one.task for one in SOLVED))
WANTED = 40


def apps_of(one: SolvedTask) -> set[str]:
    return {TOOLS[use.link.producer].app for use in one.link_uses}


APP = max(sorted({app for one in SOLVED for app in apps_of(one)}), key=lambda app: sum(app in apps_of(one) for one in SOLVED))
"""The app that most tasks take values from: there the weaknesses are planted."""


def group(one: SolvedTask, scores: Sequence[float], iteration: int) -> RolloutGroup:
    """Rollouts of a task: a success makes the calls of its solution, a failure ends before the call that takes a value from APP."""
    made = []
    takers = [use.target for use in one.link_uses if TOOLS[use.link.producer].app == APP]
    for index, score in enumerate(scores):
        steps = one.steps if score else one.steps[: takers[0]]
        trajectory = Trajectory(one.task.id, iteration, index, (), steps, Outcome.COMPLETED, score)
        made.append(Trajectory(one.task.id, iteration, index, (), steps, Outcome.COMPLETED, score, patterns=DESK.patterns(trajectory)))
    return RolloutGroup(one.task, iteration, tuple(made))


def read(groups: Sequence[RolloutGroup], detectors: Sequence[SignalDetector], moved: bool = False) -> Feedback:
    """What the detectors say of the last iteration; `moved`: their tags are moved to tasks that take nothing from APP."""
    history = History().with_groups(groups)
    last = max(group.iteration for group in groups)
    recent = [group for group in groups if group.iteration == last]
    signals: list[Signal] = [signal for detector in detectors for signal in detector.detect(recent, history)]
    if moved:
        others = [one.task.id for one in SOLVED if APP not in apps_of(one)]
        signals = [attrs.evolve(signal, task_id=other) for signal, other in zip(signals, others, strict=False)]
    return Feedback(last, tuple(signals), tuple(recent), history, POOL, WANTED)


def explored(
    groups: Sequence[RolloutGroup], detectors: Sequence[SignalDetector], moved: bool = False, **options: float
) -> list[CandidateTask]:
    feedback = read(groups, detectors, moved)
    made = Programmatic(ProgrammaticOptions(**options)).synthesize(feedback, DESK, random.Random(5))  # type: ignore[arg-type]
    return [candidate for candidate, _ in zip(made, range(WANTED), strict=False)]


def share(candidates: Sequence[CandidateTask], app: str) -> float:
    """The share of candidates in which a lookup of `app` hands its value on."""
    return sum(
        any(use.startswith(f"{app}.") for use in (candidate.context.targets if candidate.context else ())) for candidate in candidates
    ) / len(candidates)


def half_known(left_out: int = 0) -> list[RolloutGroup]:
    """Tasks that take a value from APP are solved in 3 of 8 rollouts, all others always. `left_out`: rollouts that are missing."""
    half = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0][left_out:]
    return [group(one, half if APP in apps_of(one) else [1.0] * len(half), 10) for one in SOLVED]


def forgotten() -> list[RolloutGroup]:
    """Tasks that take a value from APP were always solved and are never solved now, all others always."""
    before = [group(one, [1.0] * 8, iteration) for iteration in (1, 2) for one in SOLVED]
    return [*before, *(group(one, [0.0] * 8 if APP in apps_of(one) else [1.0] * 8, 10) for one in SOLVED)]


def contrast(feedback: Feedback, estimates: str) -> float:
    """How far the mean estimate of APP's links lies above that of any other app."""
    weights = link_weights(feedback, feedback.signals, SOLVED, CATALOG, Weighing(estimates))
    rates: dict[str, set[float]] = {}
    for use in (use for one in SOLVED for use in one.link_uses):
        rates.setdefault(TOOLS[use.link.producer].app, set()).add(weights.estimate(use.link))
    means = {app: mean(some) for app, some in rates.items()}
    return means.pop(APP) - max(means.values())


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_boundary_alone_finds_a_half_known_skill(left_out: int) -> None:
    groups = half_known(left_out)
    found = share(explored(groups, [Boundary(BoundaryOptions())]), APP)
    assert found > 0.5 > 2 * share(explored(groups, []), APP)


def test_forgetting_alone_finds_a_forgotten_skill() -> None:
    candidates = explored(forgotten(), [Forgetting(ForgettingOptions())])
    assert share(candidates, APP) > 0.5 > 2 * share(explored(forgotten(), []), APP)


@pytest.mark.parametrize("moved", [False, True])
def test_the_tasks_that_are_tagged_as_forgotten_get_neighbours(moved: bool) -> None:
    candidates = explored(forgotten(), [Forgetting(ForgettingOptions())], moved)
    neighbours = [one for one in candidates if one.context and one.context.targets[0].startswith("a neighbour of")]
    assert len(neighbours) == int(ProgrammaticOptions().neighbours * WANTED)
    for one in neighbours:
        assert one.context is not None and one.context.signal is not None
        assert moved != (APP in apps_of(next(known for known in SOLVED if known.task.id == one.context.signal.task_id)))


@pytest.mark.parametrize(
    ("groups", "detector"),
    [(half_known(), Boundary(BoundaryOptions())), (forgotten(), Forgetting(ForgettingOptions()))],
    ids=["boundary", "forgetting"],
)
def test_effects_read_all_scores_and_levels_the_tagged_tasks_alone(groups: list[RolloutGroup], detector: SignalDetector) -> None:
    right, wrong = read(groups, [detector]), read(groups, [detector], moved=True)
    assert len(right.signals) == len(wrong.signals) >= 10
    assert contrast(right, "effects") == contrast(wrong, "effects") > 0.2
    assert contrast(right, "levels") > 0.1 > 0.0 >= contrast(wrong, "levels")


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
