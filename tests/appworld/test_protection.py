"""Ways to read a gold answer or to get out of a world that the guards refuse; docs/appworld.md lists what they do not stop."""

import json
import os
import re

import pytest

from coevolve import Observation
from coevolve.environments.appworld.environment import AppWorld
from coevolve.environments.appworld.episode import AppWorldEpisode

pytestmark = pytest.mark.slow

OS = "os_ = random._os\nposix = os_.sys.modules['posix']\nopener = getattr(json.codecs.builtins, 'op' + 'en')\n"
MODULES = ("appworld", "builtins", "csv", "os", "pathlib", "unittest", "sys", "subprocess", "socket", "ctypes", "importlib", "sqlite3")
READERS = {
    "open": "print(opener(PATH).read())",
    "codecs": "print(json.codecs.lookup('utf-8').streamreader(opener(PATH, 'rb')).read())",
    "descriptor": "print(posix.read(posix.open(PATH, 0), 10_000))",
    "descriptor of a folder": "print(list(posix.scandir(PATH.rpartition('/')[0])))",
    "path": "print(os_.sys.modules['pathlib'].Path(PATH).read_text())",
    "loader": "print(os_.sys.modules['importlib'].machinery.FileFinder and json.__loader__.get_data(PATH))",
    "engine's reader": "print(os_.sys.modules['appworld.common.utils'].read_json(PATH))",
    "own root of the process": "print(opener('/proc/self/root' + PATH).read())",
    "link": "posix.symlink(PATH, os_.environ['TMPDIR'] + '/x') or print(opener(os_.environ['TMPDIR'] + '/x').read())",
}
ENGINE = {
    "the task with its ground truth": "print(os_.sys.modules['appworld.task'].Task.load(TASK, load_ground_truth=True).ground_truth.answer)",
    "the ground truth": "print(os_.sys.modules['appworld.ground_truth'].GroundTruth.load(TASK).answer)",
    "the evaluation": "print(os_.sys.modules['appworld.evaluator'].evaluate_task(TASK).to_dict())",
}
ADMIN = {
    "by name": "apis.admin.show_card_balance()",
    "by key": "apis['admin']['validate_card']()",
    "through the requester": "requester.request('admin', 'show_card_balance')",
    "by path": "requester.post('/admin/balance', data={})",
    "by address": "requester.post('http://admin.com/admin/balance', data={})",
}


def run(episode: AppWorldEpisode, code: str) -> Observation:
    seen = episode.step(f"```python\n{code}\n```")
    assert not seen.done, seen.fault
    return seen


def text(seen: Observation) -> str:
    return str(seen.messages[0]["content"]) + "".join(str(step.result) for step in seen.steps)


@pytest.fixture(scope="module")
def gold(environment: AppWorld) -> tuple[str, str, str]:
    """A question's task id, its answer, and the path of the file that holds it."""
    for task in environment.tasks("train"):
        path = environment.root / "data" / "tasks" / task.id / "ground_truth" / "answer.json"
        answer = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(answer, str) and answer not in task.query:
            return task.id, answer, str(path)
    raise AssertionError("the tiny world has a question")


def kernel(episode: AppWorldEpisode, guard: str) -> None:
    if guard not in episode.world.about["guards"]:
        pytest.skip(f"this kernel has no {guard}; docs/appworld.md lists what is left")


def opened(environment: AppWorld, task_id: str) -> AppWorldEpisode:
    return environment.open(next(task for task in environment.tasks("train") if task.id == task_id))


def test_modules_that_no_solution_needs_cannot_be_imported(environment: AppWorld) -> None:
    with environment.open(environment.tasks("train")[0]) as episode:
        for name in MODULES:
            for code in (f"import {name}", f"from {name} import *"):
                assert "not allowed" in str(run(episode, code).steps[0].error), code
        assert "not defined" in str(run(episode, "builtins").steps[0].error)
        assert run(episode, "import re, json, datetime, collections").steps[0].error is None


def test_no_file_with_a_gold_answer_can_be_read(environment: AppWorld, gold: tuple[str, str, str]) -> None:
    task_id, answer, path = gold
    with opened(environment, task_id) as episode:
        kernel(episode, "landlock")
        run(episode, OS + f"PATH = {path!r}")
        for name, code in READERS.items():
            seen = run(episode, code)
            assert seen.steps[0].error is not None and answer not in text(seen), (name, seen)


def test_the_engine_itself_finds_no_ground_truth(environment: AppWorld, gold: tuple[str, str, str]) -> None:
    task_id, answer, _ = gold
    for name, code in ENGINE.items():
        with opened(environment, task_id) as episode:
            seen = run(episode, OS + f"TASK = {task_id!r}\n{code}")
            assert seen.steps[0].error is not None and answer not in text(seen), (name, seen)


@pytest.mark.parametrize("way", ADMIN)
def test_the_admin_app_is_blocked(environment: AppWorld, way: str) -> None:
    with environment.open(environment.tasks("train")[0]) as episode:
        seen = run(episode, ADMIN[way])
        assert str(seen.steps[0].error) in ("Exception: No app named 'admin' found.", "KeyError: 'admin'")


def test_a_world_finds_nothing_of_ours_in_its_environment(environment: AppWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    with environment.open(environment.tasks("train")[0]) as episode:
        seen = run(episode, OS + "print(sorted(os_.environ))\nprint(opener('/proc/self/environ').read())")
        for name in set(os.environ) - {"PATH", "HOME", "LANG", "TMPDIR"}:
            assert not re.search(rf"\b{re.escape(name)}\b", text(seen)), name


def test_no_program_no_process_no_connection_no_foreign_signal(environment: AppWorld) -> None:
    codes = (
        "posix.posix_spawn('/bin/true', ['true'], {})",
        "posix.execv('/bin/true', ['true'])",
        "posix.fork()",
        "posix.kill(posix.getppid(), 9)",
        "os_.sys.modules['_socket'].socket(2, 1)",
        "os_.sys.modules['_socket'].socket(1, 1)",
    )
    with environment.open(environment.tasks("train")[0]) as episode:
        kernel(episode, "seccomp")
        run(episode, OS)
        for code in codes:
            assert "PermissionError" in str(run(episode, code).steps[0].error), code
        assert run(episode, "print(apis.supervisor.show_profile()['email'])").steps[0].error is None, "the apps still work"


def test_a_reference_solution_cannot_be_asked_for(environment: AppWorld) -> None:
    held_out = environment.tasks("dev")[0]
    (text_,) = environment.script(held_out.solution)
    for forged in (
        text_[:-5] + ("1" if text_[-5] == "0" else "0") + text_[-4:],
        f"```python\n# reference {held_out.id}\n```",
        f"```python\n# reference {held_out.id} 0\n```",
    ):
        with environment.open(held_out) as episode:
            episode.step(forged)
            assert episode.score() == 0.0


def test_secrets_are_in_no_step(environment: AppWorld) -> None:
    task = environment.tasks("train")[0]
    with environment.open(task) as episode:
        steps = [step for code in environment.script(task.solution) for step in episode.step(code).steps]
    logins = [step for step in steps if step.action.name.endswith(".login")]
    assert logins
    for step in logins:
        assert set(step.action.arguments) == {"username"}
        assert "access_token" not in str(step.result) and "eyJ" not in step.observation
