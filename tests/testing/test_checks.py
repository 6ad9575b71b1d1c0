"""The checks pass on what is right and say one sentence about what is wrong."""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, cast

import attrs
import pytest

from coevolve import (
    Action,
    CandidateTask,
    Environment,
    Feedback,
    History,
    Observation,
    Origin,
    RolloutGroup,
    Signal,
    Step,
    Task,
    TaskKeys,
    TaskPool,
    Tool,
    Verdict,
    hookimpl,
)
from coevolve.core import registry
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.testing import (
    Stockroom,
    StockroomOptions,
    check_environment,
    check_sampler,
    check_signal,
    check_synthesizer,
    check_validator,
    make_feedback,
    make_group,
    registered,
)
from coevolve.testing.stockroom import StockroomEpisode

OPTIONS = StockroomOptions(train=12, test=6)


def test_the_stockroom_and_the_desk_keep_the_contract() -> None:
    check_environment(Stockroom(StockroomOptions()), sample=40)
    check_environment(Desk(DeskOptions(train=20, dev=5, test=20)), sample=20)
    check_environment(room(Blocks))


class NoTrain(Stockroom):
    def splits(self) -> tuple[str, ...]:
        return ("test",)


class Twice(Stockroom):
    def tasks(self, split: str) -> Sequence[Task]:
        return (*super().tasks(split), super().tasks(split)[0])


class Shared(Stockroom):
    def keys(self, task: Task) -> TaskKeys:
        return attrs.evolve(super().keys(task), family="one")


class Unstable(Stockroom):
    count = itertools.count()

    def keys(self, task: Task) -> TaskKeys:
        return TaskKeys(str(next(self.count)), "end")


class Schemaless(Stockroom):
    def describe(self) -> Any:
        return attrs.evolve(super().describe(), tools=(Tool("a", "", {"type": "string"}),))


class Crashing(StockroomEpisode):
    def step(self, text: str) -> Observation:
        if text.startswith("nonsense"):
            raise ValueError(text)
        return super().step(text)


class Forgetful(StockroomEpisode):
    def restore(self, snapshot: Any) -> None:
        pass


class Generous(StockroomEpisode):
    def score(self) -> float:
        return 1.0


class Strict(StockroomEpisode):
    def score(self) -> float:
        return 0.4


class Endless(StockroomEpisode):
    def step(self, text: str) -> Observation:
        return super().step(text) if text else Observation()


class Blocks(StockroomEpisode):
    """Each action is a block of code that first looks something up."""

    inner = True

    def step(self, text: str) -> Observation:
        seen = super().step(text)
        looked = tuple(Step(Action("stock.look"), "12", 12, inner=self.inner) for _ in seen.steps)
        return attrs.evolve(seen, steps=(*seen.steps, *looked))


class Unmarked(Blocks):
    inner = False


class Loose(Blocks):
    def step(self, text: str) -> Observation:
        seen = super().step(text)
        return attrs.evolve(seen, steps=seen.steps[::-1])


def room(episode: type[StockroomEpisode]) -> Environment:
    class Room(Stockroom):
        def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
            return super().compose(start, [step for step in steps if not step.inner], task_id, query)

        def open(self, task: Task) -> StockroomEpisode:
            made = super().open(task)
            made.__class__ = episode
            return made

    return Room(OPTIONS)


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        (NoTrain(OPTIONS), "must name 'train'"),
        (Twice(OPTIONS), "a task id occurs twice"),
        (Shared(OPTIONS), "share the families"),
        (Unstable(OPTIONS), "the same keys each time"),
        (Schemaless(OPTIONS), "must be a JSON schema of type 'object'"),
        (room(Crashing), "nonsense must be observed"),
        (room(Forgetful), "restore\\(\\) does not bring the state back"),
        (room(Generous), "doing nothing solves it"),
        (room(Strict), "its own solution scores 0.4"),
        (room(Endless), "was not done after"),
        (room(Unmarked), "script\\(\\) does other calls"),
        (room(Loose), "an inner step must follow the step that it was done by"),
    ],
)
def test_a_broken_environment_is_named(environment: Environment, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_environment(environment)


@attrs.frozen
class Nothing:
    """No options."""


class Detector:
    """Gives one signal for each group, made by `make`."""

    name: ClassVar[str] = "d"
    Options: ClassVar[type] = Nothing

    def __init__(self, kind: str = "d", strength: float = 1.0, evidence: Any = None, drift: bool = False) -> None:
        self.kind, self.strength, self.evidence, self.drift, self.calls = kind, strength, evidence or {}, drift, 0

    def detect(self, groups: Sequence[RolloutGroup], history: History) -> list[Signal]:
        self.calls += 1
        found = {g.task.id: g for g in groups if g.scores}
        strength = self.strength / self.calls if self.drift else self.strength
        return [Signal(self.kind, g.task.id, g.iteration, strength, self.evidence) for g in found.values()]


@pytest.mark.parametrize(
    ("detector", "sentence"),
    [
        (Detector(kind="other"), "not the detector's name"),
        (Detector(strength=1.5), "not in \\[0, 1\\]"),
        (Detector(evidence={"x": {1}}), "not made of JSON values"),
        (Detector(evidence={"x": float("nan")}), "not made of JSON values"),
        (Detector(drift=True), "must be pure"),
    ],
)
def test_a_broken_detector_is_named(detector: Detector, sentence: str) -> None:
    check_signal(Detector())
    with pytest.raises(AssertionError, match=sentence):
        check_signal(detector)


class Sampler:
    name: ClassVar[str] = "s"
    Options: ClassVar[type] = Nothing

    def pick(self, pool: TaskPool, history: History, count: int, rng: random.Random) -> list[Task]:
        return [pool.tasks[0]] * count


def test_a_sampler_that_repeats_itself_is_named() -> None:
    with pytest.raises(AssertionError, match="1 distinct tasks"):
        check_sampler(Sampler())


class Synthesizer:
    name: ClassVar[str] = "y"
    Options: ClassVar[type] = Nothing

    def __init__(self, endless: bool = False, kind: str = "y", same: bool = False) -> None:
        self.endless, self.kind, self.same = endless, kind, same

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        for number in itertools.count() if self.endless else range(3):
            task = feedback.pool.tasks[0]
            task_id = task.id if self.same else f"y{number}"
            yield CandidateTask(attrs.evolve(task, id=task_id, origin=Origin(self.kind, feedback.iteration)))


def test_a_broken_synthesizer_is_named() -> None:
    stock = Stockroom(OPTIONS)
    feedback = make_feedback(stock.tasks("train"), [make_group(stock.tasks("train")[0])])
    assert len(check_synthesizer(Synthesizer(), stock, feedback)) == 3
    for broken, sentence in (
        (Synthesizer(endless=True), "did not end"),
        (Synthesizer(kind="z"), "the origin"),
        (Synthesizer(same=True), "is taken"),
    ):
        with pytest.raises(AssertionError, match=sentence):
            check_synthesizer(broken, stock, feedback)


class OpenDoor:
    name: ClassVar[str] = "v"
    Options: ClassVar[type] = Nothing

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        return Verdict(True, "accepted")


def test_a_validator_that_lets_duplicates_in_is_named() -> None:
    with pytest.raises(AssertionError, match="although the pool holds it"):
        check_validator(OpenDoor(), Stockroom(OPTIONS))


class Plugin:
    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return [Stockroom]


class Misspelt:
    @hookimpl
    def coevolve_enviroments(self) -> list[type]:
        return [Stockroom]


def test_a_plugin_is_registered_for_a_while() -> None:
    before = registry.DEFAULT_PLUGINS
    with registered(Plugin()) as plugins:
        assert plugins.component("environment", "stockroom") is Stockroom
        assert registry.load_plugins().component("environment", "stockroom") is Stockroom
    assert before == registry.DEFAULT_PLUGINS
    assert "stockroom" not in registry.load_plugins().names("environment")
    with pytest.raises(AssertionError, match="did you mean 'coevolve_environments'"), registered(Misspelt()):
        pass
    assert cast(tuple[str, ...], before) == registry.DEFAULT_PLUGINS
