"""An environment that hands over what it should not: the rollout is an infrastructure fault that says why, and nothing else breaks."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from coevolve import Action, Goal, InfrastructureFault, Observation, Outcome, Sampling, Step, Task, UserError, hookimpl
from coevolve.core.cli.evaluate import run_eval
from coevolve.core.isolation import returned_values
from coevolve.core.isolation.guard import Guard, tasks_of
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.testing import ScriptedOptions, ScriptedPolicy, Stockroom, StockroomOptions


class Odd(Stockroom):
    """A stockroom whose second train task gives `value` at one point; a value that is a function is called."""

    name = "odd"

    def __init__(self, where: str, value: Any) -> None:
        super().__init__(StockroomOptions())
        self.where, self.value = where, value
        self.bad = super().tasks("train")[1].id

    def give(self) -> Any:
        return self.value() if callable(self.value) else self.value

    def open(self, task: Task) -> Any:
        if task.id != self.bad:
            return super().open(task)
        if self.where == "open":
            return self.give()
        episode = super().open(task)
        if self.where == "messages":
            episode.messages = self.give()
        elif self.where in ("step", "score"):
            setattr(episode, self.where, lambda *_: self.give())
        return episode

    def patterns(self, trajectory: Any) -> Any:
        return self.give() if self.where == "patterns" and trajectory.task_id == self.bad else super().patterns(trajectory)


def ended() -> Any:
    raise SystemExit(7)


MESSAGE = {"role": "tool", "content": "seen"}
CASES: list[tuple[str, Any, str]] = [
    ("open", None, "open: TypeError: open() must return an Episode, but NoneType has no step"),
    ("open", ended, "open: InfrastructureFault: it tried to end the program (SystemExit(7))"),
    ("messages", None, "open: TypeError: messages must be a tuple of messages, not None"),
    ("messages", ("hello",), "open: TypeError: a message must be a mapping with texts under role and content, not 'hello'"),
    ("step", None, "step: TypeError: step() must return an Observation, not None"),
    ("step", "text", "step: TypeError: step() must return an Observation, not 'text'"),
    ("step", ended, "step: InfrastructureFault: it tried to end the program (SystemExit(7))"),
    ("step", Observation(messages=None), "step: TypeError: messages must be a tuple of messages, not None"),  # type: ignore[arg-type]
    ("step", Observation(({"role": "tool"},)), "step: TypeError: a message must be a mapping with texts under role and content"),
    ("step", Observation(({**MESSAGE, "content": "a\ud800"},)), "step: UnicodeEncodeError"),
    ("step", Observation(({**MESSAGE, "more": {1}},)), "step: TypeError: messages must be JSON values"),
    ("step", Observation(steps=None), "step: TypeError: Observation.steps must hold Steps, not None"),  # type: ignore[arg-type]
    ("step", Observation(steps=("x",)), "step: TypeError: Observation.steps must hold Steps, not ('x',)"),  # type: ignore[arg-type]
    ("step", Observation(steps=(Step(Action("f", {"x": {1}}), ""),)), "step: TypeError: arguments and result of f must be JSON values"),
    ("step", Observation(steps=(Step(Action("f", None), ""),)), "step: TypeError: the arguments of an Action"),  # type: ignore[arg-type]
    ("step", Observation(fault=3), "step: TypeError: Observation.fault must be a text or None, not 3"),  # type: ignore[arg-type]
    ("score", None, "score: TypeError: score() must return a number in [0, 1], not None"),
    ("score", "1", "score: TypeError: score() must return a number in [0, 1], not '1'"),
    ("score", float("nan"), "score: ValueError: nan is not in [0, 1]"),
    ("score", ended, "score: InfrastructureFault: it tried to end the program (SystemExit(7))"),
    ("patterns", None, "patterns: TypeError: patterns() must return texts, not None"),
    ("patterns", "text", "patterns: TypeError: patterns() must return texts, not 'text'"),
]


@pytest.mark.parametrize(("where", "value", "fault"), CASES)
def test_it_is_a_fault_of_that_rollout_alone(where: str, value: Any, fault: str) -> None:
    environment = Odd(where, value)
    policy = ScriptedPolicy(ScriptedOptions(lambda task, row: environment.script(task.solution)))
    runner = RolloutRunner(environment, RolloutLimits(20, 20.0, 1), Clock())
    groups = runner.run(policy, environment.tasks("train")[:3], 2, Sampling(), 1)
    runner.close()
    assert [group.scores for group in groups] == [(1.0, 1.0), (), (1.0, 1.0)]
    for trajectory in groups[1].trajectories:
        assert trajectory.outcome is Outcome.INFRASTRUCTURE_FAULT and trajectory.score is None
        assert trajectory.fault is not None and trajectory.fault.startswith(fault)


@pytest.mark.parametrize("value", [1, 0.5, True, np.float32(0.5)])
def test_any_number_is_a_score(value: Any) -> None:
    assert returned_values.score(value) == float(value) and type(returned_values.score(value)) is float


@pytest.mark.parametrize(
    ("method", "call", "words"),
    [
        ("compose", lambda e, t: e.compose(t, (), "x"), "compose: TypeError: compose() must return a Task, not 7"),
        ("keys", lambda e, t: e.keys(t), "keys: TypeError: keys() must return a TaskKeys, not 7"),
        ("describe", lambda e, t: e.describe(), "describe: TypeError: describe() must return a Description, not 7"),
        ("open", lambda e, t: e.open(t), "open: TypeError: open() must return an Episode, but int has no step"),
    ],
)
def test_an_exploration_meets_the_fault_where_it_asked(method: str, call: Callable[..., Any], words: str) -> None:
    environment = Stockroom(StockroomOptions())
    setattr(environment, method, lambda *_, **__: 7)
    guard = Guard(environment, 20.0)
    task = Stockroom(StockroomOptions()).tasks("train")[0]
    with pytest.raises(InfrastructureFault) as caught:
        guard.run(lambda: call(guard.environment, task))
    guard.close()
    assert str(caught.value) == f"environment failed in {words}"


class Untold(Stockroom):
    """A stockroom that cannot give its tasks."""

    name = "untold"
    found: Any = None

    def tasks(self, split: str) -> Sequence[Task]:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found  # type: ignore[no-any-return]


class UntoldPlugin:
    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return [Untold]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, r"environment 'untold' cannot return its tasks: TypeError: tasks\(\) must return a sequence of Tasks, not None"),
        ([3], r"cannot return its tasks: TypeError: tasks\(\) must return a sequence of Tasks, not \[3\]"),
        (OSError("burst"), r"cannot return its tasks: OSError: burst"),
    ],
)
def test_tasks_that_cannot_be_had_are_one_line(runs: Any, folder: Path, found: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Untold, "found", found)
    with pytest.raises(InfrastructureFault, match=words):
        runs.run(folder, "environment.name=untold", plugins=(UntoldPlugin(),))
    assert not folder.exists()
    registry = runs.registry(UntoldPlugin())
    with pytest.raises(InfrastructureFault, match=words):
        run_eval(runs.config(registry, "environment.name=untold"), registry)


def test_what_a_user_can_mend_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Untold, "found", UserError("fetch it first"))
    with pytest.raises(UserError, match="fetch it first"):
        tasks_of(Untold(StockroomOptions()), "test", 20.0)


class Dark(Stockroom):
    name = "dark"

    def open(self, task: Task) -> Any:
        raise OSError("no light")


class DarkPlugin:
    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return [Dark]


def test_an_evaluation_without_a_score_is_no_success_of_zero(runs: Any) -> None:
    registry = runs.registry(DarkPlugin())
    with pytest.raises(InfrastructureFault, match=r"none of the 20 rollouts on test has a score; the first: open: OSError: no light"):
        run_eval(runs.config(registry, "environment.name=dark"), registry)


def test_goals_have_calls_and_a_paragraph_for_each_turn() -> None:
    fine = Goal("k", "One.\n\nTwo.", (Action("f", {}, 1),))
    assert returned_values.goals([fine]) == [fine]
    for wrong in (None, "goals", [3], [attrs.evolve(fine, actions=())], [attrs.evolve(fine, query="One.")]):
        with pytest.raises((TypeError, ValueError), match=r"goals\(\)"):
            returned_values.goals(wrong)
    for wrong in (None, [fine]):
        with pytest.raises(TypeError, match=r"variants\(\)"):
            returned_values.variants(wrong)
