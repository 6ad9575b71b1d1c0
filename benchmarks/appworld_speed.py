"""Seconds an episode on AppWorld's tiny world: forked worlds, a fresh process for each episode, or the engine's own HTTP server.

    python benchmarks/appworld_speed.py [EPISODES] [THREADS]

An episode opens the task, executes its reference solution block by block, and evaluates. Each way plays the same tasks. The start of a
server is not counted, since it happens once. Prints one line for each way, with the ratio to forked worlds.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coevolve import Task
from coevolve.environments.appworld import home
from coevolve.environments.appworld.environment import AppWorld, AppWorldOptions
from coevolve.environments.appworld.reference import gold_blocks

FRESH = """import json, sys
from appworld import AppWorld
task, blocks = sys.argv[1], json.loads(sys.argv[2])
with AppWorld(task_id=task, experiment_name=f"fresh-{sys.argv[3]}") as world:
    for block in blocks:
        world.execute(block)
    print(world.evaluate().success)
"""


def ours(environment: AppWorld, task: Task) -> bool:
    with environment.open(task) as episode:
        for text in environment.script(task.solution):
            episode.step(text)
        return episode.score() == 1.0


@contextmanager
def root(environment: AppWorld) -> Iterator[dict[str, str]]:
    """Make a scratch root over the same data; returns it with the environment variables that make the engine use it."""
    with tempfile.TemporaryDirectory(prefix="coevolve-speed-") as folder:
        (Path(folder) / "data").symlink_to(environment.root / "data")
        yield {"PATH": os.environ["PATH"], "HOME": folder, "APPWORLD_ROOT": folder, "APPWORLD_CACHE": str(home.home() / "venv" / "cache")}


def fresh(environment: AppWorld, variables: dict[str, str], task: Task, number: int) -> bool:
    blocks = json.dumps(gold_blocks(environment.root, task.id))
    command = [str(home.python()), "-I", "-B", "-c", FRESH, task.id, blocks, str(number)]
    done = subprocess.run(command, env=variables, cwd=variables["HOME"], capture_output=True, text=True, timeout=300, check=True)
    return done.stdout.split()[-1] == "True"


class Http:
    """Episodes through the engine's own server, which has one world at a time."""

    def __init__(self, variables: dict[str, str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [str(home.python()), "-I", "-B", "-m", "appworld.cli", "serve", "environment", "--port", str(port)]
        null = subprocess.DEVNULL
        self.process = subprocess.Popen(command, env=variables, cwd=variables["HOME"], stdin=null, stdout=null, stderr=null)
        self.address = f"http://127.0.0.1:{port}"
        for _ in range(600):
            try:
                urllib.request.urlopen(self.address, timeout=5).close()
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the engine's server did not start")

    def call(self, name: str, **fields: Any) -> Any:
        body = json.dumps(fields).encode()
        request = urllib.request.Request(f"{self.address}/{name}", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["output"]

    def episode(self, environment: AppWorld, task: Task) -> bool:
        self.call("initialize", task_id=task.id, experiment_name="http")
        for block in gold_blocks(environment.root, task.id):
            self.call("execute", task_id=task.id, code=block)
        found: bool = self.call("evaluate", task_id=task.id)["success"]
        self.call("close", task_id=task.id)
        return found

    def stop(self) -> float:
        begun = time.monotonic()
        self.process.terminate()
        self.process.wait(60)
        return time.monotonic() - begun


def measure(name: str, play: Callable[[tuple[int, Task]], bool], tasks: list[Task], threads: int, best: float) -> float:
    """Mean seconds of an episode."""
    begun = time.monotonic()
    with ThreadPoolExecutor(threads) as pool:
        right = sum(pool.map(play, enumerate(tasks)))
    each = (time.monotonic() - begun) / len(tasks)
    ratio = f", {each / best:.1f} times ours" if best else ""
    print(
        f"{name}: {len(tasks)} episodes, {right} right, {threads} at once: {each:.2f} s each, {60 / each:.0f} a minute{ratio}", flush=True
    )
    return each


def main() -> None:
    count, threads = (int(sys.argv[1]) if len(sys.argv) > 1 else 12), (int(sys.argv[2]) if len(sys.argv) > 2 else 2)
    environment = AppWorld(AppWorldOptions(data="tiny"))
    known = list(environment.tasks("train"))
    tasks = [known[n % len(known)] for n in range(count)]
    ours(environment, known[0])
    best = measure("forked worlds", lambda one: ours(environment, one[1]), tasks, threads, 0.0)
    alone = measure("forked worlds", lambda one: ours(environment, one[1]), tasks, 1, 0.0)
    environment.close()
    with root(environment) as variables:
        measure("a fresh process each", lambda one: fresh(environment, variables, one[1], one[0]), tasks, threads, best)
        server = Http(variables)
        measure("the engine's HTTP server (one world)", lambda one: server.episode(environment, one[1]), tasks, 1, alone)
        print(f"the engine's HTTP server took {server.stop():.1f} s to stop")


if __name__ == "__main__":
    main()
