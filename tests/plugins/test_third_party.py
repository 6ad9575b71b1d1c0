"""A real third-party package: installed from the tree into a folder of its own, found and used from another process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "examples" / "coevolve-stubborn"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package was installed into."""
    target = tmp_path_factory.mktemp("third-party")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(PACKAGE)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return target


def call(installed: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=240)


def test_it_is_listed_with_its_distribution_and_version(installed: Path) -> None:
    done = call(installed, "-m", "coevolve", "plugins", "--json")
    found = {record["name"]: record for record in json.loads(done.stdout)["plugins"]}
    assert found["stubborn"] == {
        "name": "stubborn",
        "distribution": "coevolve-stubborn",
        "version": "0.1.0",
        "hooks": ["coevolve_signals"],
        "components": ["signal:stubborn"],
        "error": None,
    }


def test_its_options_come_from_the_configuration(installed: Path) -> None:
    sets = ["--set", 'signals.names=["stubborn", "rare"]', "--set", "signals.stubborn.iterations=5"]
    done = call(installed, "-m", "coevolve", "config", *sets)
    assert done.returncode == 0, done.stderr
    assert "[signals.stubborn]\niterations = 5\nmin_rollouts = 8\n" in done.stdout
    refused = call(installed, "-m", "coevolve", "config", "--set", 'signals.names=["stubborn"]', "--set", "signals.stubborn.iteratons=5")
    assert refused.returncode == 2
    assert refused.stderr == "coevolve: --set: unknown key 'signals.stubborn.iteratons' (did you mean 'signals.stubborn.iterations'?)\n"


DETECT = """
import json
from coevolve import History
from coevolve.core.registry import load_plugins
from coevolve.testing import check_signal, make_group

detector = load_plugins().component("signal", "stubborn")
check_signal(detector(detector.Options(min_rollouts=1)))
groups = [
    make_group("never", (0.0, 0.4), iteration=8), make_group("never", (0.0, None), iteration=9),
    make_group("once", (0.0, 0.5), iteration=8), make_group("once", (0.0, 0.0), iteration=9),
    make_group("long ago", (1.0, 0.0), iteration=6), make_group("long ago", (0.0, 0.0), iteration=9),
    make_group("faults", (None, None), iteration=9),
    make_group("hardly tried", (0.0, None), iteration=9),
]
signals = detector(detector.Options(iterations=3, min_rollouts=2)).detect(groups, History().with_groups(groups))
print(json.dumps([[s.kind, s.task_id, s.iteration, s.strength, dict(s.evidence)] for s in signals]))
"""


def test_it_detects_what_it_says(installed: Path) -> None:
    done = call(installed, "-c", DETECT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        ["stubborn", "never", 9, 0.6, {"rollouts": 3, "best": 0.4}],
        ["stubborn", "long ago", 9, 1.0, {"rollouts": 2, "best": 0.0}],
    ]


RUN = """
import sys
from pathlib import Path
from types import SimpleNamespace
from coevolve import hookimpl
from coevolve.core.settings.config import load_config
from coevolve.core.registry import load_plugins
from coevolve.core.run.drive import start
from coevolve.testing import Stockroom, TabularPolicy, TabularTrainer

table = SimpleNamespace(
    __name__="table",
    coevolve_environments=hookimpl(lambda: [Stockroom]),
    coevolve_policies=hookimpl(lambda: [TabularPolicy]),
    coevolve_trainers=hookimpl(lambda: [TabularTrainer]),
)
registry = load_plugins(extra=[table])
summary = start(load_config(registry, None, Path(sys.argv[1])), registry, Path("run"))
print("signals:", sorted(summary["signals"]))
"""
SETTINGS = """
steps = 4
evolve_every = 2
batch = 4
rollouts = 4
initial_tasks = 8
[evaluation]
every = 0
final_tasks = 8
[environment]
name = "stockroom"
[policy]
name = "tabular"
strong = -9.0
weak = -9.0
[trainer]
name = "tabular"
[sampler]
name = "uniform"
[synthesizer]
name = "programmatic"
[signals]
names = ["stubborn"]
[signals.stubborn]
min_rollouts = 4
"""


def test_a_run_evolves_on_its_signals(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that fails everywhere: every task of the batch is stubborn."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stubborn.toml").write_text(SETTINGS)
    done = call(installed, "-c", RUN, "stubborn.toml")
    assert done.returncode == 0, done.stderr
    assert "signals: ['stubborn']" in done.stdout
    assert "coevolve-stubborn 0.1.0" in (tmp_path / "run" / "versions.json").read_text()


def test_it_can_be_blocked(installed: Path) -> None:
    done = call(installed, "-m", "coevolve", "config", "--block-plugin", "stubborn", "--set", 'signals.names=["stubborn"]')
    assert done.returncode == 2
    assert "--set: signals.names: unknown signal 'stubborn'" in done.stderr
