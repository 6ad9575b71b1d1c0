"""Whatever a user gets wrong: exit code 2, one line on stderr that names the thing and the fix, no traceback."""

from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., int]
FAST = ["--config", "fast.toml"]

BAD: dict[str, tuple[list[str], list[str]]] = {
    "unknown command": (["rnu"], ["No such command 'rnu'", "Did you mean 'run'?", "(see coevolve --help)"]),
    "unknown option": (["run", "--stesp", "3"], ["No such option: --stesp", "--steps", "(see coevolve run --help)"]),
    "option without value": (["run", "--steps"], ["--steps"]),
    "text for a number": (["run", "--steps", "many"], ["--steps", "integer"]),
    "number out of range": (["run", "--steps", "-1"], ["--steps: steps must be >= 0, found -1"]),
    "far too many steps": (["run", "--steps", "9999999999"], ["steps must be <= 1000000, found 9999999999"]),
    "a seed that no generator takes": (["run", "--seed", "4294967296"], ["seed must be < 4294967296, found 4294967296"]),
    "missing argument": (["show"], ["Missing argument 'RUN'"]),
    "extra argument": (["recipes", "extra"], ["unexpected extra argument", "extra"]),
    "unknown recipe": (["run", "--recipe", "dsek"], ["unknown recipe 'dsek' (did you mean 'desk'?)"]),
    "no such file": (["run", "--config", "nowhere.toml"], ["cannot read nowhere.toml", "name an existing TOML file"]),
    "not TOML": (["run", "--config", "broken.toml"], ["broken.toml is not valid TOML", "line 1"]),
    "unknown key in a file": (
        ["run", "--config", "typo.toml"],
        ["typo.toml: unknown key 'signals.rare.thta' (did you mean 'signals.rare.theta'?)"],
    ),
    "unknown key in a setting": (["run", "--set", "stpes=3"], ["--set: unknown key 'stpes' (did you mean 'steps'?)"]),
    "setting without value": (["run", "--set", "steps"], ["--set takes KEY=VALUE", "found 'steps'"]),
    "unknown component": (["run", "--set", "policy.name=scriptd"], ["policy.name: unknown policy 'scriptd' (did you mean 'scripted'?)"]),
    "unknown signal": (["run", "--set", 'signals.names=["rae"]'], ["signals.names: unknown signal 'rae' (did you mean 'rare'?)"]),
    "out of an option's range": (["run", "--set", "signals.rare.theta=200"], ["signals.rare.theta must be <= 100.0, found 200.0"]),
    "unknown plugin": (["run", "--block-plugin", "fats"], ["no plugin is called 'fats' (did you mean 'fast'?)"]),
    "unknown plugin in a list": (["plugins", "--block-plugin", "fats"], ["(did you mean 'fast'?)"]),
    "folder in use": (["run", *FAST, "--out", "full"], ["full is not empty", "--out", "coevolve resume full"]),
    "folder is a file": (["run", *FAST, "--out", "fast.toml"], ["fast.toml is a file", "--out"]),
    "folder where none can be": (["run", *FAST, "--out", "/proc/run"], ["cannot write the run in /proc/run"]),
    "folder below a file": (["run", *FAST, "--out", "fast.toml/run"], ["cannot write the run in fast.toml/run"]),
    "unknown train split": (["run", *FAST, "--set", "train_split=trian"], ["no split 'trian' (did you mean 'train'?)"]),
    "unknown split": (["eval", *FAST, "--split", "tset"], ["has no split 'tset' (did you mean 'test'?)"]),
    "unknown mode": (["eval", *FAST, "--mode", "gready"], ["--mode", "gready", "greedy"]),
    "unknown environment": (
        ["eval", *FAST, "--env", "stokroom"],
        ["--env: environment.name: unknown environment 'stokroom' (did you mean 'stockroom'?)"],
    ),
    "no such model": (["eval", *FAST, "--model", "nowhere"], ["nowhere holds no table.json"]),
    "no samples": (["eval", *FAST, "--samples", "0"], ["--samples", "greater than or equal to 1"]),
    "resume of nothing": (["resume", "nowhere"], ["nowhere is not a run folder", "coevolve run"]),
    "resume of another folder": (["resume", "full"], ["full is not a run folder"]),
    "show of nothing": (["show", "nowhere"], ["nowhere is not a run folder", "coevolve run"]),
    "a model whose name is hard to quote": (["eval", *FAST, "--model", 'a "b" \\ # 😀'], ['a "b" \\ # 😀 holds no table.json']),
    "a replay whose name is hard to quote": (["run", *FAST, "--dry-run", "--replay", "😀\x1b"], ["😀\\u001b is not a run folder"]),
    "a bad budget": (["run", "--recipe", "desk-teacher", "--dry-run", "--teacher-budget", "5"], ["--teacher-budget: synthesizer.budget"]),
    "set-up of nothing": (["env", "setup", "bfl"], ["unknown environment 'bfl' (did you mean 'bfcl'?)"]),
    "doctor of nothing": (["env", "doctor", "dsk"], ["unknown environment 'dsk' (did you mean 'desk'?)"]),
    "settings for no set-up": (["env", "setup", "desk", "--set", "x=1"], ["environment 'desk' needs no set-up", "remove --set"]),
    "set-up setting without value": (["env", "setup", "bfcl", "--set", "release"], ["--set takes KEY=VALUE", "found 'release'"]),
    "unknown set-up setting": (["env", "setup", "bfcl", "--set", "relase=x"], ["relase", "did you mean 'release'?"]),
    "unknown env command": (["env", "setpu"], ["No such command 'setpu'", "Did you mean 'setup'?"]),
}


@pytest.mark.parametrize("case", BAD)
def test_it_is_answered_with_one_line(case: str, call: Call, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("full").mkdir()
    Path("full", "thing.txt").write_text("mine")
    Path("broken.toml").write_text("steps = \n")
    Path("typo.toml").write_text("[signals.rare]\nthta = 1\n")
    arguments, fragments = BAD[case]
    assert call(*arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("coevolve: ") and err.count("\n") == 1 and err.endswith("\n")
    assert [fragment for fragment in fragments if fragment not in err] == []


def test_bad_input_leaves_no_run_behind(call: Call, here: Path) -> None:
    before = sorted(path.name for path in here.iterdir())
    assert call("run", "--config", "fast.toml", "--set", "stpes=3") == 2
    assert sorted(path.name for path in here.iterdir()) == before


def test_a_folder_for_runs_that_cannot_be_made(call: Call, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("runs").write_text("a file")
    assert call("run", "--config", "fast.toml") == 2
    err = capfd.readouterr().err
    assert err.startswith("coevolve: cannot make runs/fast-") and err.endswith("with --out DIR\n")
