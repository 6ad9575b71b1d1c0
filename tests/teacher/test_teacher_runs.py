"""Whole runs over real sockets with a teacher that knows the stockroom: reliable or not, replayed, resumed, capped."""

import json
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from coevolve import Action, Conversation, Message, Sampling, Task, TooManyFaults, UserError, hookimpl
from coevolve.core.registry import Registry, load_plugins
from coevolve.core.run.drive import resume, start
from coevolve.core.settings.config import load_config
from coevolve.testing import Stockroom, TabularPolicy, TabularTrainer
from coevolve.testing.learner import Talk
from coevolve.testing.stockroom import ITEMS, PEOPLE, World

BASE = (
    "environment.name=stockroom", "policy.name=talking", "trainer.name=tabular", "sampler.name=uniform",
    'signals.names=["boundary","rare"]', "synthesizer.name=teacher", "synthesizer.queries=environment", "synthesizer.rounds=1",
    "synthesizer.steps=4", "synthesizer.explorations=4", "synthesizer.concurrency=3",
    'validators.names=["execution"]', "steps=6", "evolve_every=2", "batch=6",
    "rollouts=4", "initial_tasks=20", "tasks_per_evolution=3", "checkpoint_every=2", "max_completions=20", "evaluation.every=3",
)  # fmt: skip
TABLES = ("tasks", "pools", "groups", "trajectories", "signals", "candidates", "verdicts", "metrics", "evaluations")

Answer = Callable[[dict[str, Any]], Any]


def purpose(request: Mapping[str, Any]) -> str:
    """The purpose of a request, from its text."""
    said = next(message["content"] for message in request["messages"] if message["role"] == "user")
    return "reflect" if "Find the weakness" in said else "explore" if "Your first call?" in said else "abstract"


def calls_of(query: str) -> list[tuple[str, dict[str, Any]]]:
    """The calls of a competent teacher for a request: chains whose later calls use values that earlier ones returned ("<name>")."""
    item = next((word for word in ITEMS if word in query), None)
    person = next((word for word in PEOPLE if word in query), None)
    if item and len(query) % 2:
        return [
            ("catalog.find", {"item": item, "as": "code"}),
            ("stock.count", {"code": "<reference>"}),
            ("catalog.find", {"item": item, "as": "barcode"}),
            ("label.print", {"barcode": "<reference>", "amount": 7}),
        ]
    if item:
        return [("catalog.find", {"item": item, "as": "code"}), ("stock.add", {"code": "<reference>", "amount": 5})]
    return [("staff.find", {"person": person, "as": "address"}), ("mail.send", {"address": "<reference>", "number": 8})]


def scholar(request: Mapping[str, Any]) -> str:
    """A teacher that knows the stockroom; its other knowledge comes from the request."""
    talk = request["messages"]
    query = talk[1]["content"].split("begins:\n" if purpose(request) == "abstract" else ":\n", 1)[1].split("\n", 1)[0]
    if purpose(request) == "reflect":
        return json.dumps(
            {"weakness": "it mixes representations up", "why": "they look alike", "tries": ["find, then use"], "variant": "another item"}
        )
    if purpose(request) == "explore":
        made = [message["content"] for message in talk if message["role"] == "assistant"]
        calls = calls_of(query)
        if len(made) >= len(calls):
            return json.dumps({"thought": "seen enough", "action": {"tool": "stop", "arguments": {}}})
        name, arguments = calls[len(made)]
        found = re.findall(r'"reference": "([^"]+)"', " ".join(message["content"] for message in talk[2:]))
        given = {key: found[-1] if value == "<reference>" else value for key, value in arguments.items()}
        return json.dumps({"thought": "try", "action": {"tool": name, "arguments": given}})
    count = len(re.findall(r"^\d+\. ", talk[1]["content"], re.MULTILINE))
    whole = {"intent": "all of it", "solution": list(range(1, count + 1))}
    return json.dumps({"candidates": [whole, {"intent": "the end", "solution": [count - 1, count]}, {"intent": "?", "solution": [99]}]})


class Talking(TabularPolicy):
    """The tabular policy, which also answers a teacher's requests."""

    name = "talking"

    def begin(self, task: Task, messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None, row: int) -> Talk:
        return super().begin(task, messages, tools, row) if "world" in task.payload else Talk(task, row, list(messages))

    def complete(self, conversations: Sequence[Conversation], sampling: Sampling) -> list[str | None]:
        texts: list[str | None] = []
        for talk in conversations:
            assert isinstance(talk, Talk)
            asked = "world" not in talk.task.payload
            texts += [talk.write(scholar({"messages": talk.messages}))] if asked else super().complete([talk], sampling)
        return texts


class Brittle(Stockroom):
    """Fails in a call that only explorations make: `script` of a single `stock.add`."""

    name = "brittle"

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        if [action.name for action in actions] == ["stock.add"]:
            raise RuntimeError("the shelf fell down")
        return super().script(actions)


class Parts:
    """The plugin with the testing components; it collects the lines that a run prints."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return [Stockroom, Brittle]

    @hookimpl
    def coevolve_policies(self) -> list[type]:
        return [Talking]

    @hookimpl
    def coevolve_trainers(self) -> list[type]:
        return [TabularTrainer]

    @hookimpl
    def coevolve_diagnosed(self, iteration: int, text: str) -> None:
        self.told.append(text)


def registry(parts: Parts | None = None) -> Registry:
    return load_plugins(block=["coevolve.plugins.reporters.*"], extra=[parts or Parts()])


def run(folder: Path, base_url: str, *sets: str) -> tuple[dict[str, Any], list[str]]:
    """A run's summary, and the lines that it printed."""
    parts = Parts()
    plugins = registry(parts)
    config = load_config(plugins, recipe=None, sets=[*BASE, f"synthesizer.base_url={json.dumps(base_url)}", *sets])
    return start(config, plugins, folder), parts.told


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(folder / "run.sqlite") as db:
        found = db.execute(sql).fetchall()
    db.close()
    return found


def dump(folder: Path) -> dict[str, Any]:
    """All results of a run except times and teacher calls."""
    found: dict[str, Any] = {table: rows(folder, f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES}
    return found | {"policy": (folder / "policy" / "table.json").read_text()}


def calls(folder: Path) -> list[tuple[Any, ...]]:
    """Teacher calls in the order of their keys, without times."""
    return rows(folder, "SELECT key, digest, reply, fault, prompt_tokens, completion_tokens FROM teacher_calls ORDER BY key, number")


@pytest.fixture
def polite(rude: Any) -> Any:
    rude.answer = scholar
    return rude


def test_a_run_evolves_and_every_task_has_its_origin(polite: Any, tmp_path: Path) -> None:
    summary, told = run(tmp_path / "run", polite.base_url)
    assert summary["pool"]["teacher"] >= 3 and not any("teacher" in text for text in told)
    asked = {key: iteration for key, iteration in rows(tmp_path / "run", "SELECT key, iteration FROM teacher_calls")}
    signals = {row[0] for row in rows(tmp_path / "run", "SELECT id FROM signals")}
    tasks = [json.loads(row[0]) for row in rows(tmp_path / "run", "SELECT task FROM tasks WHERE origin = 'teacher'")]
    candidates = {c["task"]["id"]: c for (text,) in rows(tmp_path / "run", "SELECT candidate FROM candidates") for c in [json.loads(text)]}
    for task in tasks:
        candidate = candidates[task["id"]]
        assert task["origin"]["signal"] in signals and task["origin"]["signal"].endswith(task["origin"]["parents"][0])
        assert candidate["context"]["weakness"].startswith("it mixes representations up")
        purposes = [key.split("/")[1] for key in candidate["calls"]]
        assert purposes[0] == "reflect" and purposes[-1] == "abstract" and set(purposes[1:-1]) == {"explore"}
        assert all(asked[key] == task["origin"]["iteration"] for key in candidate["calls"])
        assert candidate["exploration"], "the steps that it was made of are kept"
    assert summary["rejected"]["unknown_step"] == len({c["task"]["id"] for c in candidates.values() if "unknown" in str(c["refused"])}) > 0
    assert polite.most_at_once <= 3


def test_a_replay_is_the_same_run_without_the_server(polite: Any, tmp_path: Path) -> None:
    run(tmp_path / "run", polite.base_url, "synthesizer.rounds=2", "synthesizer.concurrency=4")
    asked = len(polite.requests)
    run(
        tmp_path / "again",
        polite.base_url,
        "synthesizer.rounds=2",
        "synthesizer.concurrency=4",
        f"replay={json.dumps(str(tmp_path / 'run'))}",
    )
    assert len(polite.requests) == asked, "nothing was sent"
    assert dump(tmp_path / "again") == dump(tmp_path / "run") and calls(tmp_path / "again") == calls(tmp_path / "run")
    assert rows(tmp_path / "run", "SELECT count(*) FROM tasks WHERE origin = 'teacher'")[0][0] > 0
    with pytest.raises(UserError, match=r"asked something else|made no such request"):
        run(tmp_path / "other", polite.base_url, "synthesizer.candidates=2", f"replay={json.dumps(str(tmp_path / 'run'))}")


def test_a_rude_server_costs_attempts_and_nothing_else(polite: Any, tmp_path: Path, no_waiting: Any) -> None:
    run(tmp_path / "polite", polite.base_url)
    reply, count = polite.Reply, iter(range(10**6))

    def moody(request: dict[str, Any]) -> Any:
        right = scholar(request)
        manners: list[Callable[[], Any]] = [
            lambda: right,
            lambda: reply(drop="before"),
            lambda: f"Sure!\n```json\n{right}\n```",
            lambda: reply(status=429, headers={"Retry-After": "7"}, raw='{"error": {"message": "slow down"}}'),
            lambda: reply(right, drop="half"),
            lambda: reply(right, hang_up=True),
            lambda: reply(status=500, raw="oops", content_type="text/plain"),
            lambda: reply(right, usage=None),
            lambda: reply("<html>busy</html>", content_type="text/html", raw="<html>busy</html>"),
            lambda: reply(""),
        ]
        return manners[next(count) % len(manners)]()

    polite.answer = moody
    summary, _ = run(tmp_path / "rude", polite.base_url, "synthesizer.concurrency=1", "synthesizer.retries=8")
    assert dump(tmp_path / "rude") == dump(tmp_path / "polite")
    faults = rows(tmp_path / "rude", "SELECT count(*) FROM teacher_calls WHERE fault IS NOT NULL")[0][0]
    assert faults >= 10 and max(no_waiting.slept) >= 7.0
    assert summary["faults"] == {}


def test_with_an_endpoint_that_stays_down_the_user_is_warned_and_training_goes_on(tmp_path: Path, no_waiting: Any) -> None:
    summary, told = run(tmp_path / "run", "http://127.0.0.1:9/v1", "synthesizer.retries=1")
    assert summary["iterations"] == 6 and summary["pool"] == {"seed": 20}
    assert sum("the teacher is down" in text for text in told) == 1
    assert 1 <= sum("explorations" in text for text in told) <= 2, "one line an evolution"


def test_an_endpoint_that_stays_down_stops_the_run_which_then_resumes(polite: Any, tmp_path: Path, no_waiting: Any) -> None:
    run(tmp_path / "whole", polite.base_url, "synthesizer.when_down=stop")
    whole = list(polite.requests)
    first, count = len(rows(tmp_path / "whole", "SELECT 1 FROM teacher_calls WHERE iteration = 2")), iter(range(10**6))
    polite.answer = lambda request: scholar(request) if next(count) < first + 3 else polite.Reply(status=503)
    with pytest.raises(TooManyFaults, match=r"failed 3 requests in a row.*coevolve resume"):
        run(tmp_path / "stopped", polite.base_url, "synthesizer.when_down=stop", "synthesizer.retries=0")
    polite.answer, polite.requests[:] = scholar, []
    resume(registry(), tmp_path / "stopped")
    assert dump(tmp_path / "stopped") == dump(tmp_path / "whole")
    assert len(polite.requests) < len(whole) - first, "what was answered before is not paid for again"


@pytest.mark.parametrize("unit", ["17calls", "9000tokens"])
def test_the_budget_holds_under_concurrency(polite: Any, tmp_path: Path, unit: str) -> None:
    summary, _ = run(tmp_path / "run", polite.base_url, "synthesizer.concurrency=4", f"synthesizer.budget={unit}")
    assert summary["iterations"] == 6
    spent = rows(tmp_path / "run", "SELECT sum(prompt_tokens + completion_tokens) FROM teacher_calls")[0][0]
    assert len(polite.requests) <= 17 if unit == "17calls" else spent <= 9000
    assert len(polite.requests) >= 8, "it was used"
    run(
        tmp_path / "again",
        polite.base_url,
        "synthesizer.concurrency=4",
        f"synthesizer.budget={unit}",
        f"replay={json.dumps(str(tmp_path / 'run'))}",
    )
    assert dump(tmp_path / "again") == dump(tmp_path / "run")


def test_calls_are_divided_so_that_an_exploration_reaches_its_end(polite: Any, tmp_path: Path) -> None:
    """With a cap below the requests of all explorations, fewer begin, and those make tasks."""
    summary, _ = run(tmp_path / "run", polite.base_url, "synthesizer.calls_per_evolution=7", "synthesizer.concurrency=4")
    for (iteration,) in rows(tmp_path / "run", "SELECT DISTINCT iteration FROM teacher_calls"):
        asked = rows(tmp_path / "run", f"SELECT purpose FROM teacher_calls WHERE iteration = {iteration}")
        assert len(asked) <= 7 and ("abstract",) in asked
    assert summary["pool"]["teacher"] > 0


def test_nothing_of_the_held_out_split_is_in_any_request(polite: Any, tmp_path: Path) -> None:
    run(tmp_path / "run", polite.base_url, "synthesizer.rounds=2", "steps=10")
    world = Stockroom(Stockroom.Options())
    sent = "\n".join(json.dumps(request, ensure_ascii=False) for request in polite.requests)
    assert len(polite.requests) > 40
    shown = {task.id for task in world.tasks("train") if task.query in sent}
    assert len(shown) >= 3, "what is looked for would be found"
    known = set().union(*(values(World(task.payload["world"])) for task in world.tasks("train")))
    for task in world.tasks("test"):
        assert task.id not in sent and task.query not in sent
        gold = {value for action in task.solution for value in action.arguments.values()} & values(World(task.payload["world"])) - known
        assert gold and not any(value in sent for value in gold)


def values(world: World) -> set[Any]:
    """Codes, barcodes, badges and addresses: values that can be found only in this world."""
    return {value for known in (*world.items.values(), *world.people.values()) for value in known.values()}


def test_the_papers_third_arm_reflects_on_nothing(polite: Any, tmp_path: Path) -> None:
    summary, _ = run(tmp_path / "run", polite.base_url, "synthesizer.use_signals=false")
    assert {row[0] for row in rows(tmp_path / "run", "SELECT DISTINCT purpose FROM teacher_calls")} == {"explore", "abstract"}
    tasks = [json.loads(row[0]) for row in rows(tmp_path / "run", "SELECT task FROM tasks WHERE origin = 'teacher'")]
    assert tasks and all(task["origin"]["signal"] is None for task in tasks)
    assert summary["signals"], "there were signals"


def test_the_policy_can_be_its_own_teacher(tmp_path: Path) -> None:
    summary, _ = run(tmp_path / "run", "http://127.0.0.1:9/v1", "synthesizer.provider=policy")
    assert summary["pool"]["teacher"] > 0
    assert rows(tmp_path / "run", "SELECT DISTINCT model FROM teacher_calls") == [("policy",)]


def test_unreadable_replies_are_requested_again_then_counted(polite: Any, tmp_path: Path) -> None:
    def mumbling(request: dict[str, Any]) -> str:
        again = request["messages"][-1]["content"].startswith("That could not be read")
        return scholar(request) if purpose(request) != "abstract" or again else "I would rather not say."

    polite.answer = mumbling
    summary, told = run(tmp_path / "run", polite.base_url)
    assert summary["pool"]["teacher"] > 0
    assert any("unreadable replies" in text for text in told)
    assert rows(tmp_path / "run", "SELECT count(*) FROM teacher_calls WHERE reply = 'I would rather not say.'")[0][0] > 0, "kept raw"

    polite.answer, polite.requests[:] = lambda request: "I would rather not say.", []
    summary, told = run(tmp_path / "never", polite.base_url, "synthesizer.reasks=2")
    assert summary["iterations"] == 6 and summary["pool"] == {"seed": 20}
    keys = [row[0] for row in rows(tmp_path / "never", "SELECT key FROM teacher_calls")]
    assert len(keys) == len(set(keys)) == len(polite.requests)
    assert max(int(key.partition("/again")[2] or 0) for key in keys) == 2


def test_an_environment_that_breaks_ends_one_exploration_and_no_other(polite: Any, tmp_path: Path) -> None:
    summary, told = run(tmp_path / "run", polite.base_url, "environment.name=brittle")
    assert summary["iterations"] == 6 and summary["pool"]["teacher"] > 0
    assert any("environment failed in script: RuntimeError: the shelf fell down" in text for text in told)
    explored = [json.loads(row[0])["exploration"] for row in rows(tmp_path / "run", "SELECT candidate FROM candidates")]
    assert min(map(len, explored)) == 1, "what was explored before is made use of"


def test_no_request_is_longer_than_the_setting(polite: Any, tmp_path: Path) -> None:
    longest = 6000
    run(tmp_path / "run", polite.base_url, f"synthesizer.context_chars={longest}", "synthesizer.rounds=3", "synthesizer.steps=6")
    sizes = [sum(len(message["content"]) for message in request["messages"]) for request in polite.requests]
    assert max(sizes) <= longest
