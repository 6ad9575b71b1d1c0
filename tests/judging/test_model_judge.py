"""A model that judges: its answers are read strictly, asked for once more, and marked with its name."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from coevolve import InfrastructureFault, Task
from coevolve.core.cli.main import main
from coevolve.core.judging.model_judge import judge_by_model


class Talk:
    def __init__(self, messages: Sequence[Any]) -> None:
        self.messages = list(messages)

    def observe(self, messages: Sequence[Any]) -> None:
        self.messages += messages


class Model:
    """Answers each task with its texts in turn."""

    def __init__(self, *replies: Sequence[Any]) -> None:
        self.replies = [iter(own) for own in replies]
        self.talks: list[Talk] = []

    def begin(self, task: Task, messages: Sequence[Any], tools: Any, row: int) -> Any:
        self.talks.append(Talk(messages))
        return self.talks[-1]

    def complete(self, talks: Sequence[Any], sampling: Any) -> list[Any]:
        assert sampling.temperature == 0
        return [next(self.replies[self.talks.index(talk)]) for talk in talks]


BAD = '{"verdict": "bad", "reasons": ["leak"], "note": "names a tool"}'


def judged(made: Sequence[Task], *replies: Sequence[Any]) -> tuple[list[Any], list[str], Model]:
    model, failed = Model(*replies), []
    shown = [(task, f"text of {task.id}") for task in made[: len(replies)]]
    lots = judge_by_model(model, shown, "model:m", lambda task, why: failed.append(f"{task.id}: {why}"))  # type: ignore[arg-type]
    return [verdict for lot in lots for verdict in lot], failed, model


def test_answers_are_read_also_in_a_fence_and_after_thoughts(made: list[Task]) -> None:
    found, failed, model = judged(made, [BAD], [f"```json\n{BAD}\n```"], ['<think>hm {"a"</think>{"verdict": "good"}'])
    assert [(v.verdict, v.judge) for v in found] == [("bad", "model:m"), ("bad", "model:m"), ("good", "model:m")]
    assert not failed and "`unasked_call`" in model.talks[0].messages[0]["content"]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("It is good.", "is not JSON"),
        ("[1]", "must be an object"),
        ('{"verdict": "good", "score": 3}', "must be an object with verdict, reasons and note alone"),
        ('{"verdict": "fine"}', "has the verdict 'fine'"),
        ('{"verdict": "bad"}', "is bad without a reason"),
        ('{"verdict": "good", "task": "another"}', "must be an object"),
    ],
)
def test_an_answer_that_cannot_be_read_is_asked_for_once_more(reply: str, words: str, made: list[Task]) -> None:
    found, failed, model = judged(made, [reply, BAD])
    assert [v.verdict for v in found] == ["bad"] and not failed
    assert words in model.talks[0].messages[-1]["content"]
    found, failed, _ = judged(made, [reply, reply], [BAD])
    assert [v.task for v in found] == [made[1].id]
    assert len(failed) == 1 and words in failed[0]


def test_a_fault_and_a_prompt_that_is_too_long_give_no_verdict(made: list[Task]) -> None:
    found, failed, _ = judged(made, [InfrastructureFault("it is down")], [None], [BAD])
    assert [v.task for v in found] == [made[2].id]
    assert "it is down" in failed[0] and "too long" in failed[1]


@pytest.mark.usefixtures("no_proxy")
def test_the_command_asks_an_endpoint_and_keeps_its_verdicts(rude: Any, file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rude.answer = lambda request: rude.Reply(BAD)
    line = ["judge", str(file), "--sample", "2", "--model", "m", "--base-url", rude.base_url]
    assert main(line) == 0
    assert "judge model:m: 2 of 2 tasks" in capfd.readouterr().out
    kept = [json.loads(text) for text in file.with_suffix(".verdicts.jsonl").read_text("utf-8").splitlines()]
    assert [row["judge"] for row in kept] == ["model:m"] * 2
    assert main(line) == 0 and capfd.readouterr().out.startswith("0 of 2 tasks are left")
