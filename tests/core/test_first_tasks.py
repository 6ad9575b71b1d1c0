"""The tasks that a run begins with are checked against the held-out ones, in every environment and before anything is written."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from rich.console import Console

from coevolve import Task, TaskKeys, UserError, hookimpl
from coevolve.core.cli.plan import plan
from coevolve.core.cli.show import show
from coevolve.core.run.drive import resume
from coevolve.plugins.reporters.final_table import final_table
from coevolve.testing import SmallRuns, Stockroom

WAYS = {
    "id": lambda task: attrs.evolve(task, query="Quite another request."),
    "text": lambda task: attrs.evolve(task, id="copy", query=f"  {task.query.upper()}! "),
    "family": lambda task: attrs.evolve(task, id="kin", query="Something of that kind."),
    "calls": lambda task: attrs.evolve(task, id="same-calls", query="The same calls."),
    "end state": lambda task: attrs.evolve(task, id="same-end", query="The same end."),
}


class Leaky(Stockroom):
    """Its train split begins with two copies of held-out tasks, made in one of WAYS."""

    name = "leaky"
    way = ""

    def tasks(self, split: str) -> Any:
        own = [attrs.evolve(task, environment=self.name) for task in super().tasks(split)]
        if split != "train" or not self.way:
            return own
        held_out = self.tasks("test")[:2]
        return [attrs.evolve(WAYS[self.way](task), id=f"{WAYS[self.way](task).id}{n or ''}") for n, task in enumerate(held_out)] + own[2:]

    def keys(self, task: Task) -> TaskKeys:
        kind = task.id.rstrip("1")
        return TaskKeys(
            actions="held out" if kind == "same-calls" or self._held_out(task) else task.id,
            end_state="held out" if kind == "same-end" or self._held_out(task) else task.id,
            family="held out" if kind == "kin" or self._held_out(task) else None,
        )

    def _held_out(self, task: Task) -> bool:
        return "-test-" in task.id


def leaky(way: str, *sets: str) -> SmallRuns:
    class Ways(Leaky):
        pass

    Ways.way = way

    class Plugin:
        @hookimpl
        def coevolve_environments(self) -> list[type[Any]]:
            return [Ways]

    return SmallRuns(Plugin(), sets=("environment.name=leaky", "synthesizer.name=none", "initial_tasks=0", *sets))


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_begins_with_held_out_tasks_is_refused_in_one_line(way: str, tmp_path: Path) -> None:
    runs = leaky(way)
    registry = runs.registry()
    for asked in (lambda: runs.run(tmp_path / "run"), lambda: plan(runs.config(registry), registry)):
        with pytest.raises(UserError, match="tasks that the run begins with") as raised:
            asked()
        text = str(raised.value)
        assert text.startswith("2 of the ") and f"(the same {way})" in text and "\n" not in text
        assert "evaluation.overlap=report" in text and "split test" in text
    assert not (tmp_path / "run").exists()


def test_what_is_not_held_out_is_not_refused(tmp_path: Path) -> None:
    runs = leaky("")
    summary = runs.run(tmp_path / "run")
    assert summary["overlap"] == "" and "not held out" not in text_of(final_table(summary))


def test_an_accepted_overlap_is_said_with_every_result(tmp_path: Path) -> None:
    said: list[str] = []

    class Listener:
        @hookimpl
        def coevolve_diagnosed(self, text: str) -> None:
            said.append(text)

    runs, folder = leaky("text", "evaluation.overlap=report"), tmp_path / "run"
    words = "2 of the run's first tasks are tasks of the held-out split test too: this is not the success on tasks it never saw"
    registry = runs.registry()
    assert words in plan(runs.config(registry), registry)
    summary = runs.run(folder, "evaluation.every=3", plugins=[Listener()])
    assert summary["overlap"] == words and words in text_of(final_table(summary))
    assert said.count(words) == 3, "before the first iteration, after the third, after the last"
    assert json.loads((folder / "summary.json").read_text())["overlap"] == words
    console = Console(record=True, width=200)
    show(folder, None, console)
    assert words in console.export_text()
    again = resume(runs.registry(Listener()), folder, ["steps=8"])
    assert again["overlap"] == words and said.count(words) >= 4


def test_seeds_and_held_out_tasks_of_one_split_are_the_same_tasks(tmp_path: Path, runs: SmallRuns) -> None:
    with pytest.raises(UserError, match=r"^20 of the 20 .* \(the same id\): set evaluation\.split to another one \(.*test.* would do\)"):
        runs.run(tmp_path / "run", "evaluation.split=train")


def test_keys_that_cannot_be_computed_do_not_keep_a_run_from_starting(tmp_path: Path) -> None:
    class Broken(Stockroom):
        name = "broken"

        def tasks(self, split: str) -> Any:
            return [attrs.evolve(task, environment=self.name) for task in super().tasks(split)]

        def keys(self, task: Task) -> TaskKeys:
            raise RuntimeError("no keys")

    class Plugin:
        @hookimpl
        def coevolve_environments(self) -> list[type[Any]]:
            return [Broken]

    assert SmallRuns(Plugin(), sets=("environment.name=broken", "synthesizer.name=none")).run(tmp_path / "run")["overlap"] == ""


def test_held_out_tasks_without_a_known_solution_are_counted(tmp_path: Path) -> None:
    said: list[str] = []

    class Shipped(Stockroom):
        name = "shipped"

        def tasks(self, split: str) -> Any:
            own = [attrs.evolve(task, environment=self.name) for task in super().tasks(split)]
            return [attrs.evolve(task, solution=()) for task in own[:3]] + own[3:] if split == "test" else own

    class Plugin:
        @hookimpl
        def coevolve_environments(self) -> list[type[Any]]:
            return [Shipped]

        @hookimpl
        def coevolve_diagnosed(self, text: str) -> None:
            said.append(text)

    runs = SmallRuns(Plugin(), sets=("environment.name=shipped", "synthesizer.name=random"))
    registry = runs.registry()
    (line,) = [line for line in plan(runs.config(registry), registry) if "no known solution" in line]
    assert line.startswith("3 of the ") and "held-out tasks of split test" in line
    runs.run(tmp_path / "run")
    assert said.count(line) == 1


def text_of(table: Any) -> str:
    console = Console(record=True, width=300)
    console.print(table)
    return console.export_text()
