"""Plugins that hang by themselves: each is given up at the deadline that its setting names, and says so in one line."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import frozen

from coevolve import CandidateTask, Environment, Feedback, InfrastructureFault, Task, hookimpl
from coevolve.core.cli.evaluate import run_eval
from coevolve.core.isolation.deadlines import TimeLimit
from coevolve.core.isolation.guard import Guard
from coevolve.core.run.drive import resume
from coevolve.testing import Stockroom

NEVER = threading.Event()


@frozen
class NoOptions:
    """None."""


class Hanging:
    """Hands over a candidate, then hangs; or hangs before it has any (`first`)."""

    name: ClassVar[str] = "hanging"
    Options: ClassVar[type] = NoOptions
    first = False
    entered = 0

    def __init__(self, options: Any) -> None:
        pass

    def synthesize(self, feedback: Feedback, environment: Environment, rng: Any) -> Any:
        type(self).entered += 1
        if self.first:
            NEVER.wait()
        return self.found(feedback)

    def found(self, feedback: Feedback) -> Iterator[CandidateTask]:
        task = feedback.pool.tasks[0]
        yield CandidateTask(Task(f"new-{feedback.iteration}", task.environment, "Once more.", "", task.solution, dict(task.payload)))
        NEVER.wait()


class Dumb(Stockroom):
    """Never tells what the class says."""

    name = "dumb"
    method = "tasks"

    def splits(self) -> tuple[str, ...]:
        if self.method == "splits":
            NEVER.wait()
        return super().splits()

    def tasks(self, split: str) -> Sequence[Task]:
        if self.method == split:
            NEVER.wait()
        return super().tasks(split)


class Plugin:
    def __init__(self) -> None:
        self.texts: list[str] = []

    @hookimpl
    def coevolve_synthesizers(self) -> list[type]:
        return [Hanging]

    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return [Dumb]

    @hookimpl
    def coevolve_diagnosed(self, iteration: int, text: str) -> None:
        self.texts.append(text)


SETS = ("synthesizer.name=hanging", "validators.names=[]", "synthesis_timeout=0.3")


@pytest.mark.parametrize("first", [True, False])
def test_a_synthesizer_that_hangs_ends_its_evolution_and_keeps_what_it_handed_over(
    runs: Any, folder: Path, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Hanging, "first", first)
    monkeypatch.setattr(Hanging, "entered", 0)
    plugin = Plugin()
    summary = runs.run(folder, *SETS, plugins=(plugin,))
    assert summary["iterations"] == 6
    assert sum(summary["pool"].values()) == (20 if first else 21)
    told = [text.removeprefix("the exploration ended early: ") for text in plugin.texts if "ended early" in text]
    late = "synthesizer 'hanging' found no candidate within 0.3 s; if it needs longer, set synthesis_timeout to more"
    assert told == [late, f"{late} (that was earlier, and that call is still running)"] and Hanging.entered == 1


def test_the_run_that_it_hung_in_can_be_made_longer(runs: Any, folder: Path) -> None:
    runs.run(folder, *SETS, "steps=3", plugins=(Plugin(),))
    summary = resume(runs.registry(Plugin()), folder, ["steps=6", "synthesizer.name=none"])
    assert summary["iterations"] == 6 and sum(summary["pool"].values()) == 21


def test_one_that_came_back_is_asked_again() -> None:
    guard = Guard(Stockroom(Stockroom.Options()), 20.0, limit=TimeLimit(0.2, "too slow"))
    gate, left = threading.Event(), threading.Event()

    def slow() -> Iterator[int]:
        yield 1
        gate.wait()
        left.set()

    found = guard.each(slow)
    assert next(found) == 1
    with pytest.raises(InfrastructureFault, match="too slow"):
        next(found)
    with pytest.raises(InfrastructureFault, match="that call is still running"):
        list(guard.each(lambda: iter([2])))
    gate.set()
    assert left.wait(20)
    late = guard._late
    assert late is not None and late.acquire(timeout=20)  # between the event and the end of the thread's call
    late.release()
    assert list(guard.each(lambda: [3, 4])) == [3, 4]
    guard.close()


@pytest.mark.parametrize(("method", "what"), [("splits", "splits"), ("train", "tasks"), ("test", "tasks")])
def test_an_environment_that_does_not_tell_its_tasks_is_given_up(
    runs: Any, folder: Path, method: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dumb, "method", method)
    words = rf"^environment 'dumb' did not return its {what} within 0\.3 s; if it needs longer, set tasks_timeout to more$"
    with pytest.raises(InfrastructureFault, match=words):
        runs.run(folder, "environment.name=dumb", "tasks_timeout=0.3", plugins=(Plugin(),))
    if method != "train":
        registry = runs.registry(Plugin())
        with pytest.raises(InfrastructureFault, match=words):
            run_eval(runs.config(registry, "environment.name=dumb", "tasks_timeout=0.3"), registry)
