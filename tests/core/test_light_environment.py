"""An environment with `tasks` and `open`, whose episodes have `step` and `score`, trains: defaults stand in for the rest."""

import importlib
import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from coevolve import Action, InfrastructureFault, LightEnvironment, LightEpisode, Observation, Step, Task, Trajectory, UserError, hookimpl
from coevolve.core.environment_defaults import complete, complete_episode
from coevolve.core.isolation.checked_environment import METHODS, CheckedEnvironment, checked
from coevolve.core.isolation.guard import Guard
from coevolve.testing import SmallRuns, Stockroom, StockroomOptions, check_environment

LIGHT = '''
"""A stockroom that shows no more than it must, in a module that a worker can import."""

import attrs

from coevolve.testing import Stockroom, StockroomOptions


class LightRoomEpisode:
    def __init__(self, episode):
        self._inside = episode

    def step(self, text):
        return self._inside.step(text)

    def score(self):
        return self._inside.score()


class LightRoom:
    name = "light"
    Options = StockroomOptions

    def __init__(self, options):
        self._room = Stockroom(options)

    def tasks(self, split):
        return [attrs.evolve(task, environment="light") for task in self._room.tasks({"valid": "test"}.get(split, split))]

    def open(self, task):
        return LightRoomEpisode(self._room.open(task))
'''


@pytest.fixture
def light(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Any]]:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "coevolve_test_light.py").write_text(LIGHT)
    monkeypatch.syspath_prepend(tmp_path / "modules")
    yield importlib.import_module("coevolve_test_light").LightRoom
    del sys.modules["coevolve_test_light"]


@pytest.fixture
def light_runs(light: type[Any]) -> SmallRuns:
    class Plugin:
        @hookimpl
        def coevolve_environments(self) -> list[type[Any]]:
            return [light]

    return SmallRuns(Plugin(), sets=("environment.name=light", "synthesizer.name=none", "evaluation.split=valid"))


def scores(folder: Path) -> list[Any]:
    with sqlite3.connect(folder / "run.sqlite") as db:
        found = db.execute("SELECT iteration, task_id, mean FROM groups ORDER BY number").fetchall()
    db.close()
    return found


def test_it_trains_as_the_full_environment_does_here_and_in_workers(light_runs: SmallRuns, runs: SmallRuns, tmp_path: Path) -> None:
    summary = light_runs.run(tmp_path / "light", 'signals.names=["boundary","rare"]')
    light_runs.run(tmp_path / "workers", 'signals.names=["boundary","rare"]', "executor.name=processes")
    runs.run(tmp_path / "full", "synthesizer.name=none")
    assert summary["iterations"] == 6 and summary["pool"] == {"seed": 20}
    assert scores(tmp_path / "light") == scores(tmp_path / "workers") == scores(tmp_path / "full")
    tables = [json.loads((tmp_path / name / "policy" / "table.json").read_text()) for name in ("light", "workers", "full")]
    assert tables[0] == tables[1] == tables[2]


def test_synthesis_asks_for_compose_before_anything_is_written(light_runs: SmallRuns, tmp_path: Path) -> None:
    words = r"^environment 'light' has no compose\(\): .*; implement it or set synthesizer\.name=none$"
    with pytest.raises(UserError, match=words):
        light_runs.run(tmp_path / "run", "synthesizer.name=random")
    assert not (tmp_path / "run").exists()


def test_it_passes_the_check_of_environments(light: type[Any]) -> None:
    check_environment(light(StockroomOptions()))


def test_the_defaults_are_those_that_the_contract_names(light: type[Any]) -> None:
    plain = light(StockroomOptions())
    environment = complete(plain, ("train", "valid"))
    first, second = environment.tasks("train")[:2]
    assert environment.splits() == ("train", "valid")
    assert (environment.describe().tools, environment.describe().notes) == ((), "")
    steps = (Step(Action("f"), ""), Step(Action("g"), ""), Step(Action("f"), ""))
    assert environment.patterns(attrs.evolve(TRAJECTORY, steps=steps)) == ("f", "g", "f")
    assert environment.script([Action("f", {"x": 1})]) == ('{"name": "f", "arguments": {"x": 1}}',)
    same = attrs.evolve(first, id="another", query="In other words.")
    keys, others = environment.keys(first), environment.keys(same)
    assert keys.actions != others.actions and keys.end_state == others.end_state != environment.keys(second).end_state
    bare = [environment.keys(Task(name, "light", name)) for name in "ab"]
    assert bare[0].end_state != bare[1].end_state
    assert not hasattr(environment, "compose")


TRAJECTORY = Trajectory("t", 1, 0, (), (), "completed", 1.0)  # type: ignore[arg-type]


def test_snapshots_and_states_of_a_light_episode_are_replays(light: type[Any]) -> None:
    room, plain = Stockroom(StockroomOptions()), light(StockroomOptions())
    task = max(plain.tasks("train"), key=lambda task: len(task.solution))
    texts = room.script(task.solution)
    with complete_episode(plain, task, plain.open(task)) as episode:
        assert episode.messages == ({"role": "user", "content": task.query},) and episode.tools is None
        start, first = episode.state(), episode.step(texts[0])
        half, middle = episode.snapshot(), episode.state()
        ends = []
        for _ in range(2):
            ends.append(([episode.step(text) for text in texts[1:]], episode.state(), episode.score()))
            episode.restore(half)
            assert episode.state() == middle != start
        assert ends[0] == ends[1] and ends[0][2] == 1.0
        assert first == room.open(task).step(texts[0])


def test_a_full_environment_is_used_as_it_is() -> None:
    room = Stockroom(StockroomOptions())
    task = room.tasks("train")[0]
    episode = room.open(task)
    assert complete(room) is room and complete_episode(room, task, episode) is episode
    once = checked(room)
    assert checked(once) is once and isinstance(once, CheckedEnvironment)
    assert all(callable(getattr(once, name)) for name in METHODS)


class Half:
    """Episodes with a context manager and without `close`."""

    name: ClassVar[str] = "half"
    Options: ClassVar[type] = StockroomOptions

    def __init__(self) -> None:
        self.left = 0

    def tasks(self, split: str) -> list[Task]:
        return [Task("a", "half", "Do it.")]

    def open(self, task: Task) -> LightEpisode:
        environment = self

        class HalfEpisode:
            def step(self, text: str) -> Observation:
                return Observation(done=True)

            def score(self) -> float:
                return 1.0

            def __exit__(self, *_: object) -> None:
                environment.left += 1

        return HalfEpisode()


def test_close_and_the_context_manager_stand_in_for_each_other() -> None:
    environment: LightEnvironment = Half()
    guard = Guard(checked(environment), 20.0)
    with guard.environment.open(environment.tasks("train")[0]) as episode:
        assert episode.step("x").done and episode.score() == 1.0
    guard.close()
    assert isinstance(environment, Half) and environment.left == 1


def test_the_splits_are_asked_for_once_at_the_start_of_a_run(runs: SmallRuns, folder: Path) -> None:
    asked: list[str] = []

    class Counting(Stockroom):
        name = "counting"

        def splits(self) -> tuple[str, ...]:
            asked.append("splits")
            return super().splits()

    class Plugin:
        @hookimpl
        def coevolve_environments(self) -> list[type[Any]]:
            return [Counting]

    runs.run(folder, "environment.name=counting", "steps=1", plugins=(Plugin(),))
    assert asked == ["splits"]


ROOM = Task("a", "odd", "Do it.")


@pytest.mark.parametrize(
    ("method", "value", "words"),
    [
        ("tasks", [ROOM, ROOM], "cannot return its tasks: ValueError: two tasks have the id 'a'"),
        ("tasks", [attrs.evolve(ROOM, id=3)], "cannot return its tasks: TypeError: Task.id must be a text, not 3"),  # type: ignore[arg-type]  # on purpose
        ("tasks", [attrs.evolve(ROOM, query=None)], "cannot return its tasks: TypeError: Task.query must be a text, not None"),  # type: ignore[arg-type]  # on purpose
        ("tasks", [attrs.evolve(ROOM, query="\udc80")], "cannot return its tasks: ValueError: Task.query must be text in UTF-8, not "),
        ("tasks", [attrs.evolve(ROOM, solution="abc")], "cannot return its tasks: TypeError: Task.solution must hold Actions, not 'abc'"),  # type: ignore[arg-type]  # on purpose
        ("splits", "train", "cannot return its splits: TypeError: splits() must return a tuple of texts, not 'train'"),
        ("splits", (1, 2), "cannot return its splits: TypeError: splits() must return a tuple of texts, not (1, 2)"),
        ("describe", None, "failed in describe: TypeError: describe() must return a Description, not None"),
    ],
)
def test_a_wrong_value_is_a_fault_that_names_the_environment(runs: SmallRuns, folder: Path, method: str, value: Any, words: str) -> None:
    odd = type("Odd", (Stockroom,), {"name": "odd", method: lambda *_: value})

    class Plugin:
        @hookimpl
        def coevolve_environments(self) -> list[type[Any]]:
            return [odd]

    with pytest.raises(InfrastructureFault) as caught:
        runs.run(folder, "environment.name=odd", "steps=1", plugins=(Plugin(),))
    assert str(caught.value).startswith(f"environment 'odd' {words}")
