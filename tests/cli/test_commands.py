"""Each command does what its help says; the whole way from a run to its evaluation."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import coevolve
from coevolve.core.settings import sources
from coevolve.core.settings.config import dump_toml

Call = Callable[..., int]
Read = pytest.CaptureFixture[str]


def test_run_resume_show_eval(call: Call, here: Path, capfd: Read) -> None:
    assert call("run", "--config", "fast.toml", "--seed", "3", "--steps", "2") == 0
    printed = capfd.readouterr().out
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("fast-") and f"coevolve show {folder}" in printed
    config = tomllib.loads((folder / "config.toml").read_text())
    assert (config["seed"], config["steps"], config["environment"]["name"]) == (3, 2, "stockroom")
    assert json.loads((folder / "summary.json").read_text())["iterations"] == 2

    assert call("resume", str(folder), "--set", "steps=4") == 0
    assert "iteration 4/4" in capfd.readouterr().out
    assert json.loads((folder / "summary.json").read_text())["iterations"] == 4
    assert tomllib.loads((folder / "config.toml").read_text())["steps"] == 4

    assert call("show", str(folder)) == 0
    assert "after    4 iterations, test greedy" in capfd.readouterr().out

    evaluation = ("eval", "--config", "fast.toml", "--model", f"{folder}/policy", "--split", "test", "--tasks", "10", "--samples", "2")
    assert call(*evaluation, "--mode", "sampled", "--json") == 0
    report = json.loads(capfd.readouterr().out)
    assert (report["environment"], report["split"], report["mode"], report["tasks"], report["samples"]) == (
        "stockroom",
        "test",
        "sampled",
        10,
        2,
    )
    assert 0 < report["success"] <= 1
    assert call(*evaluation) == 0
    assert capfd.readouterr().out.startswith("stockroom test, greedy: success ")


def test_operators_with_a_solve_check(call: Call, here: Path, capfd: Read) -> None:
    """What the policy cannot solve in two tries is refused and counted; what it can, joins the pool."""
    chosen = ("--set", "synthesizer.name=operators", "--set", 'validators.names=["execution","blind_solve"]')
    weak = (
        "--set",
        "validators.blind_solve.attempts=2",
        "--set",
        "validators.blind_solve.needed=1",
        "--set",
        "policy.weak=-9",
        "--set",
        "tasks_per_evolution=6",
    )
    ends = []
    for run in ("one", "two"):
        assert call("run", "--config", "fast.toml", *chosen, *weak, "--out", run) == 0
        summary = json.loads(Path(run, "summary.json").read_text())
        assert summary["rejected"]["misunderstood"] > 0 and summary["pool"]["operators"] > 0
        ends.append((summary["rejected"], summary["pool"], summary["held_out"]))
    assert ends[0] == ends[1]


def test_a_dry_run_plans_and_writes_nothing(call: Call, here: Path, capfd: Read) -> None:
    before = sorted(here.iterdir())
    assert call("run", "--config", "fast.toml", "--steps", "3", "--dry-run") == 0
    printed = capfd.readouterr().out
    assert printed.startswith("environment stockroom: ready\nrollouts: 48 (3 iterations x 4 tasks x K 4)\n")
    assert "teacher calls: none" in printed and "memory" not in printed, "this trainer estimates nothing"
    assert sorted(here.iterdir()) == before
    assert call("run", "--config", "fast.toml", "--dry-run", "--set", "batch=0") == 2
    assert call("run", "--config", "fast.toml", "--dry-run", "--set", "evaluation.split=tset") == 2
    assert "has no split 'tset' (did you mean 'test'?)" in capfd.readouterr().err


def test_two_runs_of_one_second_have_two_folders(call: Call, here: Path, capfd: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coevolve.core.cli.main.time.strftime", lambda _: "20260102-030405")
    for _ in range(2):
        assert call("run", "--config", "fast.toml", "--steps", "1") == 0
    assert sorted(folder.name for folder in Path("runs").iterdir()) == ["fast-20260102-030405", "fast-20260102-030405-2"]


def test_a_run_says_which_plugin_is_broken_and_goes_on(call: Call, here: Path, capfd: Read) -> None:
    site = here.parent / "site"
    (site / "coevolve_bad.py").write_text("1 / 0")
    info = site / "coevolve_bad-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: coevolve-bad\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[coevolve]\nbad = coevolve_bad\n")
    assert call("run", "--config", "fast.toml", "--steps", "1", "--out", "one") == 0
    assert "coevolve: plugin bad is broken and was skipped: ZeroDivisionError: division by zero" in capfd.readouterr().err
    assert call("run", "--config", "fast.toml", "--steps", "1", "--out", "two", "--block-plugin", "bad") == 0
    assert "bad" not in capfd.readouterr().err
    assert call("resume", "two", "--set", "steps=2") == 0
    assert "bad" not in capfd.readouterr().err


def test_config_prints_what_config_takes_back(call: Call, here: Path, capfd: Read) -> None:
    assert call("config", "--config", "fast.toml", "--set", "seed=9", "--set", "policy.weak=-2") == 0
    printed = capfd.readouterr().out
    Path("again.toml").write_text(printed)
    assert call("config", "--config", "again.toml") == 0
    assert capfd.readouterr().out == printed
    assert tomllib.loads(printed)["policy"] == {"name": "tabular", "model": "", "strong": 3.0, "weak": -2.0, "share": 0.3}
    assert dump_toml.__doc__


def test_recipes_are_listed(call: Call, capfd: Read) -> None:
    assert call("recipes") == 0
    names = [line.partition(":")[0] for line in capfd.readouterr().out.splitlines()]
    papers = [f"paper-{benchmark}-{model}" for benchmark in ("appworld", "bfcl") for model in ("qwen2.5-7b", "qwen3-30b-a3b", "qwen3-4b")]
    assert names == ["appworld-smoke", "bfcl-smoke", "desk", "desk-teacher", *papers]


def test_options_are_printed_with_their_texts(call: Call, capfd: Read) -> None:
    assert call("options", "policy:tabular") == 0
    assert 'policy:tabular (coevolve-fast 0.1.0)\n\npolicy.model = ""\n' in capfd.readouterr().out
    assert call("options", "signal:rare") == 0
    assert "\nsignals.rare.theta = 0.5\n    Threshold in percent" in capfd.readouterr().out
    assert call("options") == 0
    out = capfd.readouterr().out
    assert out.startswith("Settings of core\n\nseed = 0\n    ") and "\n  signal:rare\n" in out and "\npolicy.name (must be given)\n" in out
    for wrong, hint in (("signal:rae", "'rare'"), ("sgnal:rare", "'signal'"), ("rare", "'signal:rare'"), ("signl:", "'signal'")):
        assert call("options", wrong) == 2
        assert f"(did you mean {hint}?)" in capfd.readouterr().err


def test_plugins_are_listed_with_their_distribution(call: Call, capfd: Read) -> None:
    assert call("plugins") == 0
    lines = capfd.readouterr().out.splitlines()
    assert "fast (coevolve-fast 0.1.0): environment:stockroom, trainer:tabular, policy:tabular" in lines
    assert f"coevolve.signals.rare (coevolve {coevolve.__version__}): signal:rare" in lines


def test_environments(call: Call, capfd: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    registered = {"bfcl": ["no data; run `coevolve env setup bfcl`"]}
    from coevolve.core.registry import load_plugins

    bfcl = load_plugins().component("environment", "bfcl")
    monkeypatch.setattr(bfcl, "doctor", classmethod(lambda cls, thorough=True: registered["bfcl"]))
    monkeypatch.setattr(bfcl, "setup", classmethod(lambda cls, **settings: f"done with {settings}"))
    assert call("env", "list") == 0
    lines = capfd.readouterr().out.splitlines()
    assert f"bfcl (coevolve {coevolve.__version__}): needs `coevolve env setup bfcl`" in lines
    assert "stockroom (coevolve-fast 0.1.0): ready" in lines
    assert call("env", "doctor", "bfcl") == 1
    assert capfd.readouterr().out == "bfcl: no data; run `coevolve env setup bfcl`\n"
    assert call("env", "setup", "bfcl", "--set", "release=new") == 0
    assert capfd.readouterr().out == "bfcl: done with {'release': 'new'}\n"
    registered["bfcl"] = ["note: one task has no answer"]
    assert call("env", "doctor", "bfcl") == 0, "what no set-up can mend is told and is no defect"
    assert "bfcl: note: one task has no answer" in capfd.readouterr().out
    registered["bfcl"] = []
    assert call("env", "doctor", "bfcl") == 0
    assert call("env", "setup", "stockroom") == 0
    assert capfd.readouterr().out == "bfcl: ready\nstockroom: needs no set-up\n"
    appworld = load_plugins().component("environment", "appworld")
    monkeypatch.setattr(appworld, "doctor", classmethod(lambda cls, thorough=True: ["a solution fails"] if thorough else []))
    assert call("env", "doctor", "appworld") == 1, "the thorough look is the doctor's where there is one"
    assert capfd.readouterr().out == "appworld: a solution fails\n"
    assert call("env", "list") == 0
    assert f"appworld (coevolve {coevolve.__version__}): ready" in capfd.readouterr().out, "a list takes the quick one"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["env"], ["run", "--help"], ["env", "setup", "--help"]])
def test_help(arguments: list[str], call: Call, capfd: Read) -> None:
    assert call(*arguments) == 0
    assert capfd.readouterr().out.startswith("Usage: coevolve")


def test_version(call: Call, capfd: Read) -> None:
    assert call("--version") == 0
    assert capfd.readouterr().out == f"coevolve {coevolve.__version__}\n"


def test_it_can_be_run_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "coevolve", "--version"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"coevolve {coevolve.__version__}\n")
    bad = subprocess.run([sys.executable, "-m", "coevolve", "rnu"], capture_output=True, text=True, timeout=120)
    assert (bad.returncode, bad.stdout) == (2, "")


def noted(read: list[str], name: str) -> Callable[[Any], Any]:
    """A function of `sources` that notes its name in `read` at each call."""
    real = getattr(sources, name)

    def call(given: Any) -> Any:
        read.append(name)
        return real(given)

    return call


@pytest.mark.parametrize("command", ["run", "resume"])
def test_each_source_of_settings_is_read_once(command: str, call: Call, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("run", "--config", "fast.toml", "--steps", "1", "--out", "done") == 0
    read: list[str] = []
    for name in ("read_file", "read_sets"):
        monkeypatch.setattr(sources, name, noted(read, name))
    arguments = (
        ["resume", "done"] if command == "resume" else ["run", "--config", "fast.toml", "--block-plugin", "coevolve.synthesizers.operators"]
    )
    assert call(*arguments, "--set", "steps=2") == 0
    assert read == ["read_file", "read_sets"]
