"""`coevolve judge`: what a reader is shown, the ways of verdicts, and one clear line for each mistake."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coevolve import Task
from coevolve.core.cli.main import main
from coevolve.core.judging.sample import digest_of
from coevolve.core.judging.verdicts import kept_verdicts

Shown = Callable[..., str]


@pytest.fixture
def shown(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What the command prints, of a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object) -> str:
        assert main(["judge", *map(str, arguments)]) == 0, capfd.readouterr().err
        return capfd.readouterr().out

    return call


def wrong(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line of an error."""
    capfd.readouterr()
    assert main(["judge", *map(str, arguments)]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    return line.removeprefix("coevolve: ")


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def test_a_reader_sees_the_request_the_calls_with_results_and_the_change(shown: Shown, file: Path, made: list[Task]) -> None:
    text = shown(file)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("What the solution changes:") == len(made) and "PROBLEM" not in text
    flat = " ".join(text.split())
    for task in made:
        assert " ".join(task.query.split()) in flat and task.solution[0].name in flat
    assert "The door said: 2 of 2 attempts solved it" in flat and "operator swap" in flat


def test_the_draw_is_fixed_by_its_seed_and_keeps_the_order(shown: Shown, file: Path, made: list[Task]) -> None:
    def ids(*arguments: object) -> list[str]:
        return [json.loads(line)["task"] for line in shown(file, "--format", "jsonl", *arguments).splitlines()]

    order = [task.id for task in made]
    assert ids() == order
    first = ids("--sample", 3, "--seed", 5)
    assert first == ids("--sample", 3, "--seed", 5) and len(first) == 3 and first == sorted(first, key=order.index)
    assert {tuple(ids("--sample", 3, "--seed", seed)) for seed in range(5)} != {tuple(first)}
    assert ids("--origin", "teacher") == order[4:]


def test_a_filled_in_jsonl_sheet_is_a_file_of_verdicts(shown: Shown, file: Path, tmp_path: Path, made: list[Task]) -> None:
    sheet = tmp_path / "sheet.jsonl"
    shown(file, "--format", "jsonl", "--out", sheet)
    rows = [json.loads(line) for line in sheet.read_text("utf-8").splitlines()]
    rows[0] |= {"verdict": "good", "judge": "anna"}
    rows[1] |= {"verdict": "bad", "reasons": ["leak", "dictated"], "note": "reads like code", "judge": "anna"}
    text = shown(file, "--verdicts", lines(sheet, *rows))
    assert "2 verdicts taken" in text and "judge anna: 2 of 6 tasks" in text
    kept = kept_verdicts(tmp_path / "tasks.verdicts.jsonl", made)
    assert [(v.verdict, v.reasons, v.digest) for v in kept] == [
        ("good", (), digest_of(made[0])),
        ("bad", ("dictated", "leak"), digest_of(made[1])),
    ]
    assert shown(file, "--report") == text.partition("\n")[2]


def test_a_person_judges_stops_and_goes_on(shown: Shown, file: Path, monkeypatch: pytest.MonkeyPatch, made: list[Task]) -> None:
    answers = iter(["x", "g", "", "b", "", "no reason given", "b", "1 leak", "robotic", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    text = shown(file, "--ask", "--judge", "anna")
    assert "is bad without a reason" in text and "judge anna: 2 of 6 tasks" in text
    kept = kept_verdicts(file.with_suffix(".verdicts.jsonl"), made)
    assert [(v.task, v.verdict, v.reasons, v.note) for v in kept] == [
        (made[0].id, "good", (), ""),
        (made[1].id, "bad", ("unnatural", "leak"), "robotic"),
    ]
    monkeypatch.setattr("builtins.input", lambda prompt: "q")
    text = shown(file, "--ask", "--judge", "anna")
    assert text.startswith("4 of 6 tasks are left for judge anna") and made[2].id in text and made[1].id not in text


def test_the_end_of_the_input_ends_the_questions(shown: Shown, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", end)
    assert "no verdict on these 6 tasks yet" in shown(file, "--ask", "--judge", "anna")


def test_two_judges_are_compared(shown: Shown, file: Path, tmp_path: Path, made: list[Task]) -> None:
    def of(judge: str, *grades: str) -> list[dict[str, Any]]:
        return [
            {"task": task.id, "verdict": grade, "reasons": ["leak"] if grade == "bad" else [], "judge": judge}
            for task, grade in zip(made, grades, strict=False)
        ]

    rows = [*of("anna", "good", "good", "bad", "bad", "usable", "good"), *of("bert", "good", "bad", "bad", "bad")]
    text = shown(file, "--verdicts", lines(tmp_path / "v.jsonl", *rows))
    # 3 of 4 agree; by chance 2/4 * 1/4 + 2/4 * 3/4 = 0.5, so kappa is (0.75 - 0.5) / 0.5.
    assert "agreement of anna and bert: 3 of 4 tasks (0.75), Cohen's kappa 0.50" in text
    assert "all" in text and "operators" in text and "teacher" in text
    by = shown(file, "--report", "--by", "operator")
    assert "swap" in by and "teacher" not in by


def test_diversity_stands_beside_as_many_tasks_of_the_benchmark(shown: Shown, file: Path) -> None:
    head, *rows = shown(file, "--diversity", "--beside", "test").splitlines()
    assert head.split() == ["these", "tasks", "split", "test"]
    assert rows[0].split() == ["tasks", "6", "6"] and rows[6].split()[-2:] == ["1.00", "1.00"]


def test_a_run_is_exported_and_read_back(shown: Shown, tmp_path: Path, made: list[Task]) -> None:
    from coevolve.core.model import TaskPool
    from coevolve.core.record.store import Store

    folder, out = tmp_path / "run", tmp_path / "again.jsonl"
    folder.mkdir()
    (folder / "config.toml").write_text(shown_config())
    store = Store(folder / "run.sqlite", create=True)
    store.add_pool(0, TaskPool(tuple(made)), made)
    store.close()
    assert shown(folder, "--sample", 4, "--export", out) == f"4 tasks in {out}\n"
    assert len(out.read_text("utf-8").splitlines()) == 5
    assert shown(out, "--format", "jsonl") == shown(folder, "--sample", 4, "--format", "jsonl")


def shown_config() -> str:
    from coevolve.core.registry import load_plugins
    from coevolve.core.settings.config import dump_toml, load_config

    return dump_toml(load_config(load_plugins(only=["coevolve.*"]), "desk"))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"verdict": "good"}, "is about the task None, which is not there"),
        ({"task": "desk-train-x", "verdict": "good"}, "is about the task 'desk-train-x', which is not there (did you mean"),
        ({"task": 0, "verdict": "great"}, "has the verdict 'great': give \"good\""),
        ({"task": 0, "verdict": "bad", "reasons": ["leek"]}, "has the reason 'leek' (did you mean 'leak'?)"),
        ({"task": 0, "verdict": "bad"}, "is bad without a reason"),
        ({"task": 0, "verdict": "good", "reasons": ["leak"]}, "is good and has reasons"),
        ({"task": 0, "verdict": "bad", "reasons": 3}, "must hold reasons as a list"),
        ({"task": 0, "verdict": "good", "digest": "0" * 12}, "is about another task with the id"),
        ({"task": 0, "verdict": "good", "judge": 3}, "must hold the judge's name as text"),
        ({"task": 0, "verdic": "good"}, "has the key 'verdic' (did you mean 'verdict'?)"),
    ],
)
def test_a_wrong_verdict_is_named_and_nothing_is_kept(
    row: dict[str, Any], words: str, file: Path, tmp_path: Path, made: list[Task], capfd: pytest.CaptureFixture[str]
) -> None:
    right = {"task": made[1].id, "verdict": "good"}
    given = row | ({"task": made[0].id} if row.get("task") == 0 else {})
    text = wrong(capfd, file, "--verdicts", lines(tmp_path / "v.jsonl", right, given))
    assert text.startswith(f"line 2 of {tmp_path / 'v.jsonl'} ") and words in text
    assert not file.with_suffix(".verdicts.jsonl").exists()


def test_wrong_input_is_one_line_that_names_it(file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    head, first, *_ = file.read_text("utf-8").splitlines()

    def of(*texts: str) -> Path:
        path = tmp_path / "wrong.jsonl"
        path.write_text("\n".join(texts), "utf-8")
        return path

    assert "name the run or the file" in wrong(capfd)
    assert "is neither a run's folder nor a file of tasks" in wrong(capfd, tmp_path / "nothing")
    assert "is not a run folder" in wrong(capfd, tmp_path)
    assert "its first line must be" in wrong(capfd, of(first))
    assert "its first line must be" in wrong(capfd, of())
    assert "holds no tasks" in wrong(capfd, of(head))
    assert "line 2 of" in (text := wrong(capfd, of(head, first[:40]))) and "is not JSON" in text
    assert "line 3 of" in (text := wrong(capfd, of(head, first, '{"task": {"id": 3}}'))) and "is not a task" in text
    assert "a second time" in wrong(capfd, of(head, first, first))
    assert "of environment 'desk', the file is of 'bfcl'" in wrong(capfd, of(head.replace('"desk"', '"bfcl"'), first))
    assert "unknown environment 'dsk'" in wrong(capfd, of(head.replace('"desk"', '"dsk"'), first))
    assert "holds no task of origin 'oprators' (did you mean 'operators'?)" in wrong(capfd, file, "--origin", "oprators")
    assert "did you mean 'markdown'?" in wrong(capfd, file, "--format", "markdwn")
    assert "--ask and --report" in wrong(capfd, file, "--ask", "--report")
    assert "--base-url is of the model" in wrong(capfd, file, "--base-url", "http://127.0.0.1:1/v1")
    assert "--by is of the report" in wrong(capfd, file, "--by", "goal")
    assert "no task notes 'operatr' in its origin (did you mean 'operator'?)" in wrong(capfd, file, "--report", "--by", "operatr")
    assert "--beside names the split" in wrong(capfd, file, "--beside", "test")
    assert "has no split 'tst' (did you mean 'test'?)" in wrong(capfd, file, "--diversity", "--beside", "tst")
    assert "cannot write" in wrong(capfd, file, "--out", tmp_path / "no" / "where")
    assert "cannot read" in wrong(capfd, file, "--verdicts", tmp_path / "nothing")


def test_the_rubric_is_printed_without_a_run(shown: Shown) -> None:
    assert "`unasked_call`" in shown("--rubric")
