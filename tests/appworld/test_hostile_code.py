"""Code that does harm ends for itself, in time, and under the right name; the worlds beside it do not notice."""

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coevolve import Observation, Task, perform
from coevolve.environments.appworld.environment import AppWorld, AppWorldOptions
from coevolve.environments.appworld.episode import AppWorldEpisode

pytestmark = pytest.mark.slow

POSIX = "posix = random._os.sys.modules['posix']\n"
WAIT = "random._os.sys.modules['select'].select([], [], [], 600)\n"
SWALLOW = "while True:\n    try:\n        apis.supervisor.show_profile()\n    except Exception:\n        pass"
LOGOUT = """me, words = apis.supervisor.show_profile(), apis.supervisor.show_account_passwords()
for word in words:
    app, name = word["account_name"], me["phone_number" if word["account_name"] == "phone" else "email"]
    apis[app].logout(access_token=apis[app].login(username=name, password=word["password"])["access_token"])"""
HARM = {
    "logout": LOGOUT,
    "json": "json.dumps = lambda *a, **k: 'x'\njson.loads = json.JSONEncoder.encode = None",
    "surrogate": "print(chr(0xD800))",
    "flood": "kept = []\nwhile True:\n    kept.append('x' * 10**6 + str(len(kept)))",
    "abort": "random._os.abort()",
    "swallow": SWALLOW,
    "fork": POSIX + "while posix.fork() >= 0:\n    pass",
    "kill the server": "random._os.kill(random._os.getppid(), 9) or " + POSIX + "posix.kill(posix.getppid(), 9)",
}
FAULTS = {"abort": "died", "swallow": "deadline"}
"""How the episode ends; the others go on."""


def below(pid: int) -> set[int]:
    """`pid` and the processes below it that still run."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent, *_ = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            parents[int(name)] = 0 if state == "Z" else int(parent)
        except OSError:
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


@contextlib.contextmanager
def harmless_afterwards(kernel_guards: bool) -> Iterator[AppWorld]:
    """An environment for code that does harm; at its end no process and no folder of it may be left."""
    made = AppWorld(AppWorldOptions(data="tiny", block_seconds=1, wall_seconds=40, memory=256, max_worlds=32, kernel_guards=kernel_guards))
    made.tasks("train")
    with made.open(made.tasks("train")[0]):
        server = made.worlds.server.pid
        assert server is not None
        family = below(server)
        runs = {made.worlds.server._run}
        assert len(family) > 1
    yield made
    server = made.worlds.server.pid
    assert server is not None
    family |= below(server)
    runs.add(made.worlds.server._run)
    made.close()
    assert not [pid for pid in family if Path(f"/proc/{pid}/exe").exists()]
    assert not [run for run in runs if run is None or run.exists()]


@pytest.fixture(scope="module")
def harmed(environment: AppWorld) -> Iterator[AppWorld]:
    """With the kernel's guards, as users have it."""
    with harmless_afterwards(kernel_guards=True) as made:
        yield made


@pytest.fixture(scope="module")
def unguarded(environment: AppWorld) -> Iterator[AppWorld]:
    """Without the kernel's guards: only for what the kernel would refuse."""
    with harmless_afterwards(kernel_guards=False) as made:
        yield made


@pytest.fixture(params=["harmed", pytest.param("unguarded", marks=pytest.mark.nightly)])
def either(request: pytest.FixtureRequest) -> AppWorld:
    """With the kernel's guards and, nightly, without them too."""
    found: AppWorld = request.getfixturevalue(request.param)
    return found


def server_alone(environment: AppWorld, others: int = 0) -> int:
    """The server's process, once no more than `others` processes are below it; worlds end shortly after their connection closes."""
    server = environment.worlds.server.pid
    assert server is not None
    # The server looks for stray processes four times a second, whenever it is not idle.
    deadline = time.monotonic() + 30.0
    while len(below(server)) > 1 + others and time.monotonic() < deadline:
        environment.worlds.server.connect().close()
    assert len(below(server)) <= 1 + others
    return server


def play(environment: AppWorld, task: Task, harm: str | None) -> tuple[float, Observation]:
    """Do harm first, then carry out the solution."""
    with environment.open(task) as episode:
        texts = (*(() if harm is None else (f"```python\n{HARM[harm]}\n```",)), *environment.script(task.solution))
        *_, last = perform(episode, texts)
        return episode.score(), last


@pytest.mark.parametrize("worlds", [10, pytest.param(32, marks=pytest.mark.nightly)])
def test_many_at_once(harmed: AppWorld, worlds: int) -> None:
    """Worlds do every kind of harm; the others carry out the solution beside them."""
    task = harmed.tasks("train")[0]
    harms = max(len(HARM), worlds // 2)
    kinds = [*([None] * (worlds - harms)), *itertools.islice(itertools.cycle(HARM), harms)]
    before = harmed.worlds.server._deaths
    with ThreadPoolExecutor(worlds) as threads:
        found = list(threads.map(lambda harm: play(harmed, task, harm), kinds))
    for harm, (score, seen) in zip(kinds, found, strict=True):
        if harm is None or harm == "surrogate":
            assert (score, seen.fault) == (1.0, None), (harm, seen)
        elif harm == "flood":  # some allocations raise, others abort, and a thread that dies of it leaves another waiting
            assert score == 0.0 or seen.fault is None
            assert seen.fault is None or (seen.done and seen.fault.startswith(("died", "deadline"))), seen
        elif harm in FAULTS:
            assert score == 0.0 and seen.done and seen.fault is not None and seen.fault.startswith(FAULTS[harm]), (harm, seen)
        else:
            assert seen.fault is None, (harm, seen)
    assert harmed.worlds.server._deaths == before
    server_alone(harmed)


@pytest.mark.parametrize("harm", ["fork", "flood"])
def test_what_is_refused_is_an_error_in_the_code(harmed: AppWorld, harm: str) -> None:
    with harmed.open(harmed.tasks("train")[0]) as episode:
        seen = episode.step(f"```python\n{HARM[harm]}\n```")
        error = str(seen.steps[0].error)
        assert ("PermissionError" in error) if harm == "fork" else ("MemoryError" in error or error.startswith(("died", "deadline"))), error


def fork_bomb(episode: AppWorldEpisode) -> Observation:
    return episode.step(f"```python\n{POSIX}for _ in range(100):\n    if posix.fork() == 0:\n        {WAIT}```")


@pytest.mark.nightly
def test_a_flood_is_an_error_in_the_code_without_the_kernels_help_too(unguarded: AppWorld) -> None:
    with unguarded.open(unguarded.tasks("train")[0]) as episode:
        error = str(episode.step(f"```python\n{HARM['flood']}\n```").steps[0].error)
        assert "MemoryError" in error or error.startswith(("died", "deadline")), error


def escape(episode: AppWorldEpisode) -> Observation:
    code = f"{POSIX}if posix.fork() == 0:\n    posix.setsid()\n    if posix.fork() == 0:\n        {WAIT}    posix._exit(0)\nprint('gone')"
    return episode.step(f"```python\n{code}\n```")


@pytest.mark.parametrize("harm", [fork_bomb, escape])
def test_no_process_is_started_with_the_kernels_help(harmed: AppWorld, harm: Callable[[AppWorldEpisode], Observation]) -> None:
    server_alone(harmed)
    with harmed.open(harmed.tasks("train")[0]) as episode:
        assert "PermissionError" in str(harm(episode).steps[0].error)
        server_alone(harmed, others=1)


@pytest.mark.parametrize("harm", [fork_bomb, escape])
def test_processes_are_bounded_without_the_kernels_help(unguarded: AppWorld, harm: Callable[[AppWorldEpisode], Observation]) -> None:
    server_alone(unguarded)
    with unguarded.open(unguarded.tasks("train")[0]) as episode:
        seen = harm(episode)
        if harm is fork_bomb:
            assert seen.done and str(seen.fault).startswith(("processes", "deadline")) and episode.score() == 0.0
        server_alone(unguarded, others=1)


def test_a_server_that_is_killed_in_mid_episode_is_nobodys_fault(either: AppWorld) -> None:
    task = either.tasks("train")[0]
    with either.open(task) as episode:
        first, *rest = either.script(task.solution)
        episode.step(first)
        server = either.worlds.server.pid
        assert server is not None
        os.kill(server, 9)
        for text in rest:
            seen = episode.step(text)
        assert seen.done and seen.fault is None
        assert episode.score() == 1.0
        assert either.worlds.server.pid != server


def test_a_world_that_is_killed_from_outside_is_nobodys_fault(either: AppWorld) -> None:
    task = either.tasks("train")[0]
    server = server_alone(either)
    with either.open(task) as episode:
        first, *rest = either.script(task.solution)
        episode.step(first)
        (world,) = below(server) - {server}
        os.kill(world, 9)
        for text in rest:
            seen = episode.step(text)
        assert seen.done and seen.fault is None and episode.score() == 1.0


def test_an_unscorable_world_scores_nothing(either: AppWorld) -> None:
    """Code that breaks what saves its world gets 0; it is not an infrastructure fault, since the untouched task can be scored."""
    broken = "import json\nfor name in ('dumps', 'dump'): setattr(json, name, None)\n"
    broken += "random._os.sys.modules['appworld.apps.api_lib'].save_local_dbs = None\n"
    with either.open(either.tasks("train")[0]) as episode:
        episode.step(f"```python\n{broken}```")
        assert episode.score() == 0.0
