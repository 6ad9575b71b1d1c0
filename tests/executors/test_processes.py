"""Worker processes: results are those of threads although workers are killed; hanging calls are stopped; no process is left."""

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coevolve import CoevolveError, HasProgress, HasProvenance, InfrastructureFault, TooManyFaults, UserError, hookimpl
from coevolve.core.cli.evaluate import run_eval
from coevolve.core.workers.remote_environment import RemoteEnvironment
from coevolve.testing import Stockroom, check_environment

PROCESSES = ("executor.name=processes", "executor.workers=2")


class Told:
    """Collects the diagnoses."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    @hookimpl
    def coevolve_diagnosed(self, iteration: int, text: str) -> None:
        self.texts.append(text)


def test_workers_killed_in_mid_episode_change_nothing_but_the_count_of_faults(
    mortals: Any, markers: Any, written: Any, tmp_path: Path
) -> None:
    told = Told()
    plain = mortals.run(tmp_path / "threads")
    killed = mortals.run(tmp_path / "processes", *PROCESSES, f"environment.markers={markers('kill', 'kill')}", plugins=(told,))
    assert written(tmp_path / "processes") == written(tmp_path / "threads")
    assert (plain["worker_faults"], killed["worker_faults"]) == (0, 2)
    assert plain["faults"].get("infrastructure_fault", 0) == killed["faults"].get("infrastructure_fault", 0) == 0
    assert "were lost and replaced" in " ".join(told.texts) and "ended with status -9" in " ".join(told.texts)


def test_a_worker_killed_from_outside_while_its_episode_waits(mortals: Any) -> None:
    with mortals.environment(*PROCESSES) as environment:
        task = max(environment.tasks("train"), key=lambda task: len(task.solution))
        texts = environment.script(task.solution)
        with environment.open(task) as episode, Stockroom(Stockroom.Options()).open(task) as plain:
            for text in texts:
                os.kill(episode._placement.slot.hello.pid, signal.SIGKILL)
                assert episode.step(text) == plain.step(text)
                assert episode.state() == plain.state()
            assert episode.score() == 1.0
        assert len(environment.pool.take_lost()) == len(texts)


def test_snapshots_outlive_their_worker(mortals: Any) -> None:
    with mortals.environment(*PROCESSES) as environment:
        task = max(environment.tasks("train"), key=lambda task: len(task.solution))
        texts = environment.script(task.solution)
        with environment.open(task) as episode:
            episode.step(texts[0])
            early, states = episode.snapshot(), [episode.state()]
            episode.step(texts[1])
            states.append(episode.state())
            os.kill(episode._placement.slot.hello.pid, signal.SIGKILL)
            later = episode.snapshot()
            for mark, state in ((early, states[0]), (later, states[1]), (early, states[0])):
                episode.restore(mark)
                assert episode.state() == state
                assert [episode.step(text) for text in texts[len(mark.texts) :]] and episode.score() == 1.0
            del early, later, mark
            episode.snapshot()
            assert episode._dropped, "the next snapshot makes its worker drop them"


def test_the_environment_keeps_its_contract_on_workers(mortals: Any) -> None:
    with mortals.environment(*PROCESSES, "environment.name=stockroom") as environment:
        check_environment(environment)
        assert not isinstance(environment, HasProvenance)
    with mortals.environment(*PROCESSES) as environment:
        assert environment.provenance()["pid"] != os.getpid()
        with environment.open(environment.tasks("train")[0]) as episode:
            assert episode.metrics() == {"calls": 0.0}
            assert isinstance(episode, HasProgress) and episode.progress() == 0.0
            task = environment.tasks("train")[0]
        with environment.open(task) as episode:
            seen = [(episode.step(text), episode.progress())[1] for text in environment.script(task.solution)]
            assert seen[-1] == 1.0 and seen == sorted(seen)


def test_a_call_that_hangs_is_stopped_with_its_worker_and_is_an_infrastructure_fault(mortals: Any, markers: Any) -> None:
    with mortals.environment(*PROCESSES, "step_timeout=0.3", f"environment.markers={markers('sleep')}") as environment:
        task = max(environment.tasks("train"), key=lambda task: len(task.solution))
        texts = environment.script(task.solution)
        with environment.open(task) as episode:
            episode.step(texts[0])
            with pytest.raises(InfrastructureFault, match=r"^no answer within 0\.3 s$"):
                episode.step(texts[1])
        assert environment.pool.take_lost() == ["stopped after 0.3 s without an answer"]


def test_an_episode_that_kills_every_worker_is_a_fault_after_the_bound(mortals: Any, markers: Any) -> None:
    with mortals.environment(*PROCESSES, "executor.retries=1", f"environment.markers={markers(*['kill'] * 2)}") as environment:
        task = max(environment.tasks("train"), key=lambda task: len(task.solution))
        texts = environment.script(task.solution)
        with environment.open(task) as episode, pytest.raises(InfrastructureFault, match="2 environment workers were lost in this call"):
            for text in texts:
                episode.step(text)
        with environment.open(task) as again:
            assert [again.step(text) for text in texts] and again.score() == 1.0


def test_the_environments_error_has_the_same_text_as_in_this_process(mortals: Any) -> None:
    with mortals.environment(*PROCESSES) as environment, environment.open(environment.tasks("train")[0]) as episode:
        with pytest.raises(Exception, match=r"^no such shelf") as raised:
            episode.step("raise")
        assert str(raised.value) == "no such shelf"
        assert type(raised.value).__name__ == "LookupError" and "On the worker:" in raised.value.__notes__[0]
        with pytest.raises(InfrastructureFault, match=r"it tried to end the program \(SystemExit\(3\)\)"):
            episode.step("leave")
        assert episode.score() == 0.0 and environment.pool.take_lost() == []


def test_an_environment_that_cannot_be_made_is_the_users_error(mortals: Any) -> None:
    with (
        pytest.raises(UserError, match="mortal needs its data: fetch it"),
        mortals.environment(*PROCESSES, "environment.refuses=true"),
    ):
        raise AssertionError("never reached")


def test_a_class_that_no_worker_could_import_is_refused(mortals: Any) -> None:
    class Local(Stockroom):
        name = "local"

    class Plugin:
        @hookimpl
        def coevolve_environments(self) -> list[type]:
            return [Local]

    refused = pytest.raises(UserError, match=r"cannot be made in another process .*put it at the top level of a module")
    with refused, mortals.environment(*PROCESSES, "environment.name=local", plugins=(Plugin(),)):
        raise AssertionError("never reached")


def test_evaluations_run_on_workers_too(mortals: Any) -> None:
    registry = mortals.registry()
    first, second = (run_eval(mortals.config(registry, *sets), registry, tasks=8, mode="sampled") for sets in ((), PROCESSES))
    assert (first.first, first.success, first.metrics) == (second.first, second.success, second.metrics)
    assert first.provenance["pid"] == os.getpid() != second.provenance["pid"]


class Stopping:
    """Ends the run in its second iteration, as Ctrl-C would."""

    @hookimpl
    def coevolve_iteration_finished(self, iteration: int) -> None:
        if iteration == 2:
            raise KeyboardInterrupt


def test_an_interrupted_run_leaves_no_worker(mortals: Any, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        mortals.run(tmp_path / "run", *PROCESSES, plugins=(Stopping(),))


def test_a_broken_environment_still_stops_the_run(mortals: Any, markers: Any, tmp_path: Path) -> None:
    sets = (*PROCESSES, "executor.retries=0", f"environment.markers={markers(*['kill'] * 60)}")
    with pytest.raises((TooManyFaults, InfrastructureFault)) as raised:
        mortals.run(tmp_path / "run", *sets)
    assert isinstance(raised.value, CoevolveError) and "workers were lost" in str(raised.value)


THIRD_PARTY = """
from coevolve import hookimpl
from coevolve.testing import Stockroom

class Elsewhere(Stockroom):
    name = "elsewhere"

@hookimpl
def coevolve_environments():
    return [Elsewhere]
"""
ENTRY_POINT = """
import sys
from coevolve.core.settings.config import load_config
from coevolve.core.registry import load_plugins
from coevolve.core.workers.remote_environment import placed_environment
registry = load_plugins()
config = load_config(registry, sets=["environment.name=elsewhere", "executor.name=processes", "executor.workers=1"])
with placed_environment(config, registry) as environment:
    print(len(environment.tasks("train")), environment.pool.hello().pid)
"""


def test_an_entry_points_environment_needs_no_registration_on_workers(tmp_path: Path) -> None:
    (tmp_path / "coevolve_elsewhere.py").write_text(THIRD_PARTY)
    info = tmp_path / "coevolve_elsewhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: coevolve-elsewhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[coevolve]\nelsewhere = coevolve_elsewhere\n")
    path = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
    command = [sys.executable, "-c", ENTRY_POINT]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "40"


ORPHAN = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from coevolve.core.settings.config import load_config
from coevolve.core.registry import load_plugins
from coevolve.core.workers.remote_environment import placed_environment
registry = load_plugins(only=["coevolve.*"])
with placed_environment(load_config(registry, sets=["executor.name=processes"]), registry) as environment:
    environment.splits()
    print(*[s.hello.pid for s in environment.pool.slots if s.ready], flush=True)
    os.kill(os.getpid(), int(sys.argv[2]))
    signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_workers_end_with_the_process_that_started_them(number: int, tmp_path: Path) -> None:
    """The workers hold its output open, so that reading to its end waits for them."""
    done = subprocess.run([sys.executable, "-c", ORPHAN, str(tmp_path), str(int(number))], stdout=subprocess.PIPE, timeout=60)
    assert done.returncode != 0
    pids = [int(word) for word in done.stdout.split()]
    assert pids
    for pid in pids:
        command = Path(f"/proc/{pid}/cmdline")
        assert not command.exists() or b"executors.processes" not in command.read_bytes()


def test_an_environment_that_only_workers_cannot_import_is_one_line(mortals: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", str(os.getpid()))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "banging.py").write_text(
        "import os\nfrom coevolve.testing import Stockroom\n"
        "if os.environ['HERE'] != str(os.getpid()):\n    raise RuntimeError('import\\nbang')\n"
        "class Bang(Stockroom):\n    name = 'bang'\n"
    )
    from coevolve.core.registry import load_plugins
    from coevolve.core.settings.config import load_config
    from coevolve.core.workers.remote_environment import placed_environment

    banging = importlib.import_module("banging")

    class Plugin:
        @hookimpl
        def coevolve_environments(self) -> list[type]:
            return [banging.Bang]

    registry = load_plugins(extra=[Plugin()])
    config = load_config(registry, sets=["environment.name=bang", *PROCESSES])
    words = r"environment 'bang' cannot be made in a worker of executor 'processes' \(RuntimeError: import bang\): .*executor\.name=threads"
    with pytest.raises(UserError, match=words) as caught, placed_environment(config, registry):
        pass
    assert "\n" not in str(caught.value)


def test_the_tasks_have_a_deadline_of_their_own() -> None:
    asked: list[tuple[tuple[str, ...], float]] = []

    class Asked:
        def hello(self) -> Any:
            return SimpleNamespace(optional=())

        def call_environment(self, *call: str, timeout: float = 0.0) -> Any:
            asked.append((call, timeout))

    environment = RemoteEnvironment("any", cast(Any, Asked()), 7.0)
    for method, *arguments in (("splits",), ("tasks", "train"), ("describe",)):
        getattr(environment, method)(*arguments)
    assert asked == [(("splits",), 7.0), (("tasks", "train"), 7.0), (("describe",), 0.0)]
