"""`coevolve eval --policy openai`: whole evaluations against a real server, and against servers with the manners of several kinds."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from coevolve import Task, hookimpl
from coevolve.core.cli.evaluate import run_eval
from coevolve.core.cli.main import main
from coevolve.core.registry import load_plugins
from coevolve.core.settings.config import load_config
from coevolve.environments.desk import Desk
from coevolve.testing import Stockroom

pytestmark = pytest.mark.usefixtures("no_proxy")
KEY = "sk-very-secret-0123456789"


class Tooled(Stockroom):
    """A stockroom whose tools go through the chat template."""

    name = "tooled"

    def open(self, task: Task) -> Any:
        episode = super().open(task)
        episode.tools = [
            {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}}
            for tool in self.describe().tools
        ]
        return episode


class Plugin:
    @hookimpl
    def coevolve_environments(self) -> list[type]:
        return [Tooled]


def solver(environment: Any, tasks: Sequence[Task], right: Callable[[Task], bool]) -> Callable[[Any], str]:
    """Answers with the next text of the task's solution, or with nonsense for tasks that it is meant to fail."""
    scripts = {task.query: environment.script(task.solution) if right(task) else ("?",) * 50 for task in tasks}

    def answer(request: Any) -> str:
        words = " ".join(str(m.get("content")) for m in request["messages"] if m["role"] == "user")
        (script,) = [script for query, script in scripts.items() if query in words]
        turn = sum(m["role"] == "assistant" for m in request["messages"])
        return str(script[min(turn, len(script) - 1)])

    return answer


def as_calls(rude: Any, environment: Any, tasks: Sequence[Task]) -> Callable[[Any], Any]:
    """The same answers as function calls: one for each action, then a text that ends the episode."""
    solutions = {task.query: task.solution for task in tasks}

    def answer(request: Any) -> Any:
        words = " ".join(str(m.get("content")) for m in request["messages"] if m["role"] == "user")
        (solution,) = [solution for query, solution in solutions.items() if query in words]
        turn = sum(m["role"] == "assistant" for m in request["messages"])
        if turn >= len(solution):
            return environment.script(solution)[-1]
        action = solution[turn]
        call = {"id": f"call{turn}", "type": "function", "function": {"name": action.name, "arguments": json.dumps(dict(action.arguments))}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return rude.Reply(raw=json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}))

    return answer


def strict(rude: Any, answer: Callable[[Any], Any], tools: bool) -> Callable[[Any], Any]:
    """Status 400 for contents that are not text, for roles out of turn, for unanswered calls, and for tools where it refuses tools."""

    def checked(request: Any) -> Any:
        waiting: list[str] = []
        for message in request["messages"]:
            wrong = not isinstance(message["content"], str) or message["role"] not in ("system", "user", "assistant", "tool")
            if message["role"] == "tool":
                wrong = wrong or not waiting or message["tool_call_id"] != waiting.pop(0)
            else:
                wrong = wrong or bool(waiting)
            waiting += [call["id"] for call in message.get("tool_calls", ())]
            if wrong or (not tools and {"tool_calls", "tool_call_id"} & message.keys()):
                return rude.Reply(raw=json.dumps({"error": {"message": f"invalid message: {message}"}}), status=400)
        if not tools and "tools" in request:
            return rude.Reply(raw=json.dumps({"error": {"message": "tools: Extra inputs are not permitted"}}), status=400)
        return answer(request)

    return checked


def dropping(rude: Any, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Every fifth connection is dropped."""
    count, lock = [0], threading.Lock()

    def dropped(request: Any) -> Any:
        with lock:
            count[0] += 1
            drop = count[0] % 5 == 0
        return rude.Reply(drop="before") if drop else answer(request)

    return dropped


@pytest.mark.parametrize("kind", ["strict", "tool_calls", "text only", "drops"])
def test_servers_of_every_kind_give_the_same_success(rude: Any, no_waiting: Any, kind: str) -> None:
    environment = Tooled(Stockroom.Options())
    tasks = environment.tasks("test")
    text = solver(environment, tasks, lambda task: True)
    rude.answer = {
        "strict": strict(rude, text, tools=True),
        "tool_calls": strict(rude, as_calls(rude, environment, tasks), tools=True),
        "text only": strict(rude, text, tools=False),
        "drops": dropping(rude, text),
    }[kind]
    registry = load_plugins(block=["coevolve.plugins.reporters.*"], extra=[Plugin()])
    sets = ["environment.name=tooled", "policy.name=openai", f"policy.base_url={rude.base_url}", "policy.api_key_env=''", "policy.model=m"]
    report = run_eval(load_config(registry, sets=sets), registry, tasks=10, samples=2)
    assert (report.success, report.faults, report.policy_faults) == (1.0, 0, 0)
    assert report.usage["calls"] == len(rude.requests)
    assert report.engine == {"endpoint": rude.base_url, "tools": "in the prompt" if kind == "text only" else "functions"}
    assert (report.usage["failed"] > 0) == (kind in ("text only", "drops"))


def test_the_command_prints_the_cost_and_never_the_key(
    rude: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_KEY", KEY)
    desk = Desk(Desk.Options())
    tasks = list(desk.tasks("test"))
    known = {task.id for task in tasks[: len(tasks) // 2]}
    rude.answer = solver(desk, tasks, lambda task: task.id in known)
    sets = [f"policy.base_url={rude.base_url}", "policy.api_key_env=MY_KEY", "policy.input_price=1.0", "policy.output_price=2.0"]
    arguments = ["eval", "--policy", "openai", "--model", "m", "--tasks", "12", *(part for one in sets for part in ("--set", one))]
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert 0.0 < told["success"] < 1.0 and (told["policy"], told["model"]) == ("openai", "m")
    assert told["usage"]["calls"] == len(rude.requests) and told["usage"]["cost"] > 0
    assert told["usage"]["cost"] == pytest.approx((told["usage"]["prompt_tokens"] + 2 * told["usage"]["completion_tokens"]) / 1e6)
    assert main(arguments) == 0
    text = capfd.readouterr().out
    shown = ("model m", "engine openai", f"endpoint {rude.base_url}", "temperature 0.0", f"prompts {told['prompts']}", "scorer desk of")
    assert all(words in text for words in shown) and "spent: calls" in text and "cost 0." in text
    assert KEY not in text + json.dumps(told) and rude.headers[-1]["authorization"] == f"Bearer {KEY}"
    assert main([*arguments, "--set", "policy.api_key_env=NO_SUCH_KEY", "--set", "policy.base_url=http://example.invalid/v1"]) == 2
    assert "no key for http://example.invalid/v1" in capfd.readouterr().err


def test_a_local_policy_and_an_endpoint_in_one_table(
    rude: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    desk = Desk(Desk.Options())
    tasks = list(desk.tasks("test"))
    rude.answer = solver(desk, tasks, lambda task: True)
    (tmp_path / "arms.toml").write_text(
        f'[[policy]]\nname = "scripted"\n\n[[policy]]\nname = "openai"\nmodel = "m"\nbase_url = "{rude.base_url}"\napi_key_env = ""\n'
    )
    arguments = ["eval", "--from", "arms.toml", "--tasks", "8", "--samples", "2", "--seeds", "2", "--mode", "sampled"]
    assert main([*arguments, "--json"]) == 0
    first, second = json.loads(capfd.readouterr().out)["evaluations"]
    assert (first["policy"], second["policy"]) == ("scripted", "openai") and first["prompts"] == second["prompts"]
    assert first["average"]["mean"] == second["average"]["mean"] == second["best"]["mean"] == 1.0 and second["by_seed"] == [1.0, 1.0]
    assert main(arguments) == 0
    text = capfd.readouterr().out
    assert all(words in text for words in ("scripted", "openai", "avg@2", "best@2", "1.000 ± 0.000", first["prompts"]))
    assert main([*arguments, "--model", "m"]) == 2 and main(["eval", "--from", "nothing.toml"]) == 2


@pytest.mark.slow
@pytest.mark.nightly
def test_a_real_model_behind_a_real_server(
    real_server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sets = [f"policy.base_url={real_server}", "policy.api_key_env=''", "max_completions=2", "max_new_tokens=8"]
    arguments = ["eval", "--policy", "openai", "--model", "smollm2", "--tasks", "3", *(part for one in sets for part in ("--set", one))]
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["faults"] == 0 and 3 <= told["usage"]["calls"] <= 6 and told["usage"]["failed"] == told["usage"]["estimated"] == 0
    assert told["usage"]["prompt_tokens"] > 100 and 0 < told["usage"]["completion_tokens"] <= 48
