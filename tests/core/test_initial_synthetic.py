"""A first pool that the synthesizer makes (`initial_synthetic`), as the paper's runs begin."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from coevolve import CandidateTask, Environment, Reason, Refusal, Task, TaskPool, UserError, Verdict, hookimpl
from coevolve.core.cli.plan import plan
from coevolve.core.run.drive import resume


def tables(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows that say what happened, without times."""
    with sqlite3.connect(folder / "run.sqlite") as db:
        names = ("tasks", "pools", "groups", "signals", "candidates", "verdicts", "evaluations")
        found = {name: db.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in names}
    db.close()
    return found


def test_the_first_pool_is_made_by_the_synthesizer_and_passed_the_door(runs: Any, tmp_path: Path) -> None:
    summary = runs.run(tmp_path / "run", "steps=2", "initial_synthetic=6")
    found = tables(tmp_path / "run")
    first = [json.loads(row[5]) for row in found["tasks"] if row[2] == 0]
    assert len(first) == 6 == found["pools"][0][2] and summary["pool"]["random"] >= 6 and "seed" not in summary["pool"]
    assert {task["origin"]["kind"] for task in first} == {"random"} and {task["origin"]["iteration"] for task in first} == {0}
    accepted = {row[0] for row in found["verdicts"] if row[1] == 0 and row[2]}
    assert [row[2] for row in found["candidates"] if row[0] in accepted] == [task["id"] for task in first]
    trained = {row[2] for row in found["groups"]}
    assert trained <= {row[1] for row in found["tasks"]}


def test_a_static_synthetic_pool_stays_as_it_begins(runs: Any, tmp_path: Path) -> None:
    runs.run(tmp_path / "run", "steps=4", "initial_synthetic=6", "tasks_per_evolution=0")
    found = tables(tmp_path / "run")
    assert len(found["pools"]) == 1 and len(found["tasks"]) == 6
    assert all(row[1] == 0 for row in found["candidates"])


def test_a_run_with_synthetic_initial_tasks_is_resumed_bit_for_bit(runs: Any, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    runs.run(whole, "steps=6", "initial_synthetic=6")
    runs.run(parts, "steps=3", "initial_synthetic=6")
    resume(runs.registry(), parts, ["steps=6"])
    one, other = tables(whole), tables(parts)
    # The shorter run was also evaluated at its own end.
    one.pop("evaluations"), other.pop("evaluations")
    assert one == other


@frozen
class NoOptions:
    """A validator of these tests has none."""


class StopsAt:
    """Offers the validator "stopping", which accepts all candidates and stops the run at the one of that number (0: never)."""

    def __init__(self, number: int) -> None:
        self.number = number

    @hookimpl
    def coevolve_validators(self) -> list[type[Any]]:
        left = iter(range(self.number - 1, -1_000, -1))

        class Stopping:
            name = "stopping"
            Options = NoOptions

            def __init__(self, options: NoOptions) -> None:
                pass

            def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
                if next(left) == 0:
                    raise KeyboardInterrupt
                return Verdict(True, "accepted")

        return [Stopping]


def test_a_run_that_was_stopped_while_its_first_tasks_were_made_begins_anew(runs: Any, tmp_path: Path) -> None:
    settings = ("steps=2", "initial_synthetic=6", 'validators.names=["execution", "stopping"]')
    runs.run(tmp_path / "whole", *settings, plugins=[StopsAt(0)])
    with pytest.raises(KeyboardInterrupt):
        runs.run(tmp_path / "run", *settings, plugins=[StopsAt(3)])
    assert not tables(tmp_path / "run")["tasks"]
    resume(runs.registry(StopsAt(0)), tmp_path / "run")
    assert tables(tmp_path / "run") == tables(tmp_path / "whole")


class NothingPasses:
    name = "nothing"
    Options = NoOptions

    def __init__(self, options: NoOptions) -> None:
        pass

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        return Refusal(Reason.HARMFUL).verdict


class NothingPlugin:
    @hookimpl
    def coevolve_validators(self) -> list[type[Any]]:
        return [NothingPasses]


def test_a_door_that_admits_nothing_ends_the_run_with_one_line(runs: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no synthetic task was admitted to begin with: see the refusals"):
        runs.run(tmp_path / "run", "initial_synthetic=3", 'validators.names=["nothing"]', plugins=[NothingPlugin()])


def test_synthetic_initial_tasks_need_a_synthesizer(runs: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="initial_synthetic is 3, but the run has no synthesizer"):
        runs.run(tmp_path / "run", "initial_synthetic=3", "synthesizer.name=none")
    assert not (tmp_path / "run").exists()
    registry = runs.registry()
    with pytest.raises(UserError, match="the run has no synthesizer"):
        plan(runs.config(registry, "initial_synthetic=3", "synthesizer.name=none"), registry)


def test_a_plan_counts_the_first_synthesis(runs: Any) -> None:
    registry = runs.registry()

    def lines(*sets: str) -> str:
        return "\n".join(plan(runs.config(registry, *sets), registry))

    found = lines("initial_synthetic=6", "candidates_per_task=2")
    assert "initial tasks: 6, made in the worlds of 20" in found
    assert "evolutions: 2, at most 6 new tasks of 24 candidates, those of the initial 6 tasks included" in found
    static = lines("initial_synthetic=6", "tasks_per_evolution=0")
    assert "evolutions: none, the pool stays as it is" in static and "exploration by random: at most" in static
