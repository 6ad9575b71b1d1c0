"""Evaluation says what was scored and when a score is hard to believe; show and summary read a run back."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from coevolve import RolloutGroup, Task, UserError, hookimpl
from coevolve.core.evaluation import run_eval
from coevolve.core.show import show
from coevolve.core.summary import shares
from coevolve.testing import Stockroom


def text_of(print_it: Any) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_it(console)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_samples_and_faults_are_counted(runs: Any) -> None:
    registry = runs.registry()
    report = run_eval(runs.config(registry, "policy.share=0.5"), registry, tasks=10, mode="sampled", samples=3)
    assert (report.tasks, report.samples, report.faults) == (10, 3, 0)
    assert report.success * 30 == pytest.approx(round(report.success * 30)), "a share of thirty rollouts"
    assert 0 < report.success < 1 and report.suspicious() is None
    assert json.loads(report.to_json())["success"] == report.success
    assert "stockroom test, sampled: success" in text_of(report.render)


def test_what_an_environment_tells_beside_its_scores_is_shown(runs: Any) -> None:
    class Telling(Stockroom):
        name = "telling"

        def open(self, task: Task) -> Any:
            episode = super().open(task)
            episode.metrics = lambda: {"calls": 2.0 if "train" in task.id else 4}  # type: ignore[attr-defined]
            return episode

        def provenance(self) -> dict[str, Any]:
            return {"release": "1"}

        def aggregates(self, groups: Sequence[RolloutGroup]) -> dict[str, float]:
            return {"whole": float(len(groups))}

    class Plugin:
        @hookimpl
        def coevolve_environments(self) -> list[type]:
            return [Telling]

    registry = runs.registry(Plugin())
    report = run_eval(runs.config(registry, "environment.name=telling"), registry)
    assert report.metrics == {"calls": 4.0, "whole": float(report.tasks)} and report.provenance == {"release": "1"}
    assert json.loads(report.to_json())["provenance"] == {"release": "1"}
    text = text_of(report.render)
    assert "beside the score: calls 4.000" in text and "with: release 1" in text


def test_the_same_tasks_are_drawn_for_every_run(runs: Any) -> None:
    registry = runs.registry()
    first, second = (run_eval(runs.config(registry, f"seed={s}"), registry, tasks=5).first for s in (1, 2))
    assert [t.task_id for t in first] == [t.task_id for t in second]


@pytest.mark.parametrize(("sets", "score", "words"), [(["policy.strong=50.0"], 1.0, "scorer"), (["policy.strong=-50.0"], 0.0, "calls")])
def test_all_right_and_all_wrong_are_suspicious_and_shown(runs: Any, sets: list[str], score: float, words: str) -> None:
    registry = runs.registry()
    report = run_eval(runs.config(registry, "policy.weak=-50.0", "policy.share=0.0", *sets), registry)
    assert report.success == score
    text = report.suspicious() or ""
    assert words in text and report.first[0].messages[1]["content"] in text
    assert "suspicious" in text_of(report.render)


def test_an_unknown_split_is_named(runs: Any) -> None:
    registry = runs.registry()
    with pytest.raises(UserError, match=r"has no split 'tset' \(did you mean 'test'\?\)"):
        run_eval(runs.config(registry, "evaluation.split=tset"), registry)


def test_a_run_and_its_tasks_can_be_read(runs: Any, folder: Path) -> None:
    runs.run(folder)
    whole = text_of(lambda console: show(folder, None, console))
    assert "after    6 iterations, test greedy" in whole and "The weakest tasks" in whole
    task = next(word for word in whole.split() if word.startswith("stockroom-train"))
    story = text_of(lambda console: show(folder, task, console))
    assert "origin: Origin(kind='seed'" in story and "iteration" in story and "assistant:" in story
    with pytest.raises(UserError, match="unknown task 'stockroom-tra'"):
        show(folder, "stockroom-tra", Console(file=io.StringIO()))
    with pytest.raises(UserError, match="no run folder"):
        show(folder / "nothing", None, Console(file=io.StringIO()))


def test_shares_add_up_and_overhead_is_the_rest() -> None:
    share = shares({"generation": 4.0, "update": 3.0, "environment": 1.0, "synthesis": 0.5, "start": 0.5, "store": 0.25}, wall=10.0)
    assert share["feedback"] == 0.05 and share["start"] == 0.05
    assert share["overhead"] == pytest.approx(0.1), "the store and what no part names"
    assert shares({}, wall=0.0) == {}
