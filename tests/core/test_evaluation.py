"""Evaluation says what was scored and when a score is hard to believe; show and summary read a run back."""

import io
import json
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import attrs
import pytest
from rich.console import Console

from coevolve import Outcome, RolloutGroup, Task, Trajectory, UserError, hookimpl
from coevolve.core.cli.evaluate import read_arms, run_eval
from coevolve.core.cli.show import show
from coevolve.core.cli.why import why
from coevolve.core.record.summary import shares
from coevolve.core.rollouts.evaluation import evaluate
from coevolve.core.rollouts.evaluation_report import Estimate, render_table
from coevolve.testing import Stockroom, TabularPolicy, make_task


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
    assert report.progress is not None and report.success < report.progress < 1.0
    assert f", progress {report.progress:.3f}, " in text_of(report.render) and "stockroom test, sampled: success" in text_of(report.render)
    assert f"{report.progress:.3f}" in text_of(lambda console: render_table([report, report], console))
    assert "progress" not in text_of(attrs.evolve(report, progress=None).render)


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


def test_signals_and_refusals_are_shown_with_what_why_takes(runs: Any, folder: Path) -> None:
    """Also where a refusal's words would be markup, or several lines."""
    runs.run(folder, "synthesizer.name=programmatic", 'signals.names=["boundary"]')
    with sqlite3.connect(folder / "run.sqlite") as db:
        (task, reason) = db.execute(
            "SELECT c.task_id, v.reason FROM verdicts v JOIN candidates c ON c.number = v.candidate_number WHERE NOT v.accepted"
        ).fetchone()
        db.execute("UPDATE verdicts SET detail = 'it [/said]\n[red]so' WHERE NOT accepted")
        (signalled,) = db.execute("SELECT task_id FROM signals ORDER BY number DESC LIMIT 1").fetchone()
    db.close()
    whole = text_of(lambda console: show(folder, None, console))
    signals, refusals = whole.split("The newest signals")[1].split("The newest refusals")
    assert signalled in signals and '"successes"' in signals
    assert task in refusals and reason in refusals and "it [/said] [red]so" in refusals
    assert any("refused" in line for line in why(folder, task))


def test_a_run_and_its_tasks_can_be_read(runs: Any, folder: Path) -> None:
    runs.run(folder)
    whole = text_of(lambda console: show(folder, None, console))
    assert (
        re.search(r"after    6 iterations, test greedy +success \d\.\d+, progress \d\.\d+ of", whole)
        and "The weakest tasks" in whole
        and "The newest signals" in whole
    )
    task = next(word for word in whole.split() if word.startswith("stockroom-train"))
    story = text_of(lambda console: show(folder, task, console))
    assert "origin: Origin(kind='seed'" in story and "iteration" in story and "assistant:" in story
    assert re.search(r"scores \[.*\], progress \d\.\d\d\n", story) and re.search(r"\[completed, score \d\.0, progress \d\.\d\d\]", story)
    with pytest.raises(UserError, match="unknown task 'stockroom-tra'"):
        show(folder, "stockroom-tra", Console(file=io.StringIO()))
    with pytest.raises(UserError, match="is not a run folder"):
        show(folder / "nothing", None, Console(file=io.StringIO()))


def test_shares_add_up_and_overhead_is_the_rest() -> None:
    share = shares({"generation": 4.0, "update": 3.0, "environment": 1.0, "synthesis": 0.5, "start": 0.5, "store": 0.25}, wall=10.0)
    assert share["feedback"] == 0.05 and share["start"] == 0.05
    assert share["overhead"] == pytest.approx(0.1), "the store and what no part names"
    assert shares({}, wall=0.0) == {}


def test_avg_and_best_of_k_by_hand(runs: Any) -> None:
    registry = runs.registry()
    report = run_eval(runs.config(registry, "policy.share=0.5"), registry, tasks=10, mode="sampled", samples=3, seeds=2)
    each = [run_eval(runs.config(registry, "policy.share=0.5", f"seed={s}"), registry, tasks=10, mode="sampled", samples=3) for s in (0, 1)]
    assert report.by_seed == tuple(one.success for one in each) and report.by_seed[0] != report.by_seed[1]
    assert report.success == report.average.mean == pytest.approx(fmean(one.average.mean for one in each))
    assert report.best.mean == pytest.approx(fmean(one.best.mean for one in each)) and report.best.mean > report.average.mean
    assert report.rollouts == 60 and report.sampling["seeds"] == [0, 1]


@pytest.mark.parametrize(
    ("scores", "seeds", "average", "best"),
    [
        ([[1, 0, 0, 0], [0, 0, 0, 0]], 2, Estimate(0.125, 0.125), Estimate(0.25, 0.25)),
        ([[1, 0, 0, 0], [0, 0, 0, 0]], 1, Estimate(0.125, 0.125), Estimate(0.5, 0.5)),
        ([[1, None], [None, None], [1, 1]], 1, Estimate(1.0, 0.0), Estimate(1.0, 0.0)),
        ([[None, 1, 0, 0]], 2, Estimate(1 / 3, None), Estimate(0.5, None)),
    ],
)
def test_estimates_over_tasks_leave_out_what_has_no_score(
    runs: Any, scores: list[list[float | None]], seeds: int, average: Estimate, best: Estimate
) -> None:
    config = runs.config(runs.registry())
    tasks = [make_task(f"t{n}") for n in range(len(scores))]
    samples = len(scores[0]) // seeds

    class Table:
        environment = Stockroom(Stockroom.Options())
        asked = 0

        def run(self, policy: Any, tasks: Any, count: int, sampling: Any, iteration: int) -> list[RolloutGroup]:
            first, self.asked = self.asked * count, self.asked + 1
            return [
                RolloutGroup(task, 0, tuple(made(task.id, score) for score in row[first : first + count]))
                for task, row in zip(tasks, scores, strict=True)
            ]

    def made(task: str, score: float | None) -> Trajectory:
        outcome = Outcome.INFRASTRUCTURE_FAULT if score is None else Outcome.COMPLETED
        return Trajectory(task, 0, 0, ({"role": "user", "content": "q"},), (), outcome, score)

    runner: Any = Table()
    report = evaluate(runner, TabularPolicy(TabularPolicy.Options()), tasks, "sampled", config, samples=samples, seeds=seeds)
    for found, wanted in ((report.average, average), (report.best, best)):
        assert found.mean == pytest.approx(wanted.mean)
        assert found.error == (None if wanted.error is None else pytest.approx(wanted.error))


def test_a_result_names_what_it_was_got_with(runs: Any) -> None:
    registry = runs.registry()
    first, same, other = (
        run_eval(runs.config(registry, *sets), registry, tasks=4) for sets in ([], ["policy.share=0.9"], ["evaluation.split=train"])
    )
    told = json.loads(first.to_json())
    assert told["policy"] == "tabular" and told["scorer"].startswith("stockroom of ")
    assert told["sampling"] == {"temperature": 0.0, "max_new_tokens": 256, "seeds": [0]}
    assert len(told["prompts"]) == 12 and first.prompts == same.prompts != other.prompts
    text = text_of(first.render)
    assert all(word in text for word in ("engine tabular", "temperature 0.0", "seeds 0", f"prompts {first.prompts}", "scorer stockroom"))


def test_several_policies_stand_in_one_table(runs: Any) -> None:
    registry = runs.registry()
    reports = [
        run_eval(runs.config(registry, f"policy.share={share}"), registry, tasks=8, mode="sampled", samples=2) for share in (0.0, 1.0)
    ]
    reports[1] = attrs.evolve(reports[1], model="b", usage={"calls": 16, "cost": 0.25})
    text = text_of(lambda console: render_table(reports, console))
    assert "8 tasks, 2 rollouts each" in text and "avg@2" in text and "best@2" in text and "0.2500" in text
    assert str(reports[0].average) in text and str(reports[1].best) in text
    assert "engine tabular, temperature 1.0" in text and f"prompts {reports[0].prompts}" in text


def test_a_file_of_policies_holds_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "arms.toml"
    file.write_text('[[policy]]\nname = "scripted"\n\n[[policy]]\nname = "openai"\nmodel = "m"\n')
    first, second = read_arms(file)
    assert (first.source, first.values) == (f"{file}, policy 1", {"policy": {"name": "scripted"}})
    assert second.values == {"policy": {"name": "openai", "model": "m"}}
    listed = ("policy = ['x']", "policy = [1]", "policy = 1", "policy = []")
    for text in ("", "[policy]\nname = 'x'", "[[policy]]\nmodel = 'm'", "steps = 3\n[[policy]]\nname = 'x'", "[[policy", *listed):
        file.write_text(text)
        with pytest.raises(UserError, match=r"arms\.toml"):
            read_arms(file)
    with pytest.raises(UserError, match=r"cannot read .*nothing\.toml: No such file or directory; name an existing TOML file"):
        read_arms(tmp_path / "nothing.toml")
