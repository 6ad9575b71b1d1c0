"""Ray actors: a cluster on this machine that begins and ends with the run, actors killed in mid-episode, and errors of the user."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coevolve import UserError
from coevolve.core.registry import load_plugins
from coevolve.core.settings.config import load_config
from coevolve.core.workers.remote_environment import placed_environment

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="the extra ray is not installed: 290 MB for one executor")

SCRIPT = """
import json, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import coevolve_test_mortal
from conftest import SETS, MortalPlugin
from coevolve.testing import SmallRuns

folder, markers, address = Path(sys.argv[3]), sys.argv[4], sys.argv[5]
mortals = SmallRuns(MortalPlugin(coevolve_test_mortal.Mortal), sets=SETS)
mortals.run(folder / "threads")
sets = ["executor.name=ray", f"executor.address={address}" if address else "executor.workers=2"]
print(json.dumps(mortals.run(folder / "ray", *sets, f"environment.markers={markers}")["worker_faults"]))
"""


def run_both(tmp_path: Path, markers: str, address: str = "") -> int:
    """Run with threads and with actors in a separate process, because Ray changes its process; return the worker faults."""
    here = Path(__file__).parent
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path / "modules"), str(here), str(tmp_path), markers, address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=150)
        finally:
            # Ray's own processes end a moment after the program; what is still there then is killed, and the test fails.
            deadline = time.monotonic() + 15.0
            while (with_left := [pid for pid in session(process.pid) if pid != process.pid]) and time.monotonic() < deadline:
                pass
            for pid in with_left:
                os.kill(pid, signal.SIGKILL)
    assert process.returncode == 0, err[-3000:]
    assert with_left == []
    return int(json.loads(out.splitlines()[-1]))


def session(leader: int) -> Iterator[int]:
    """Processes of a session."""
    for entry in Path("/proc").iterdir():
        try:
            if int((entry / "stat").read_text().rpartition(")")[2].split()[3]) == leader:
                yield int(entry.name)
        except (OSError, IndexError, ValueError):
            continue


@needs_ray
@pytest.mark.slow
def test_actors_killed_in_mid_episode_change_nothing_but_the_count_of_faults(
    mortals: Any, markers: Any, written: Any, tmp_path: Path
) -> None:
    assert run_both(tmp_path, markers("kill", "kill")) == 2
    assert written(tmp_path / "ray") == written(tmp_path / "threads")


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_an_address_without_a_cluster_is_the_users_error(address: str) -> None:
    command = [sys.executable, "-m", "coevolve", "eval", "--set", "executor.name=ray", "--set", f"executor.address={address}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert f"no Ray cluster at executor.address='{address}'" in done.stderr and "ray start --head" in done.stderr


def test_without_ray_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    registry = load_plugins()
    before = signal.getsignal(signal.SIGTERM)
    with (
        pytest.raises(UserError, match=r"pip install 'coevolve\[ray\]'"),
        placed_environment(load_config(registry, sets=["executor.name=ray"]), registry),
    ):
        raise AssertionError("never reached")
    assert signal.getsignal(signal.SIGTERM) is before
