"""Every mistake is one line that names where it stands, the full key, what was expected and what was found."""

from pathlib import Path

import pytest

from coevolve import UserError
from coevolve.core.registry import Registry
from coevolve.core.settings.config import load_config, plugin_choice
from coevolve.core.settings.sources import setting_sources

BAD_SETS = {
    # unknown keys and names
    "stpes=3": "--set: unknown key 'stpes' (did you mean 'steps'?)",
    "policy.cuont=3": "--set: unknown key 'policy.cuont' (did you mean 'policy.count'?)",
    "policy.inner.dept=3": "--set: unknown key 'policy.inner.dept' (did you mean 'policy.inner.depth'?)",
    "signals.few.sise=3": "--set: unknown key 'signals.few.sise' (did you mean 'signals.few.size'?)",
    "signals.fwe.size=3": "--set: unknown key 'signals.fwe' (did you mean 'signals.few'?)",
    "signals.bare.size=3": "--set: signals.bare has options but 'bare' is not in signals.names; add it there or remove the table",
    "evaluation.evry=3": "--set: unknown key 'evaluation.evry' (did you mean 'evaluation.every'?)",
    "sampler.nam=few": "--set: unknown key 'sampler.nam' (did you mean 'sampler.name'?)",
    "synthesizer.nmae=few": "--set: unknown key 'synthesizer.nmae' (did you mean 'synthesizer.name'?)",
    "signals.nams=few": "--set: unknown key 'signals.nams' (did you mean 'signals.names'?)",
    'validators.name=["few"]': "--set: unknown key 'validators.name' (did you mean 'validators.names'?)",
    "plugins.onyl=[]": "--set: unknown key 'plugins.onyl' (did you mean 'plugins.only'?)",
    "sampler.name=fwe": "--set: sampler.name: unknown sampler 'fwe' (did you mean 'few'?)",
    'signals.names=["few", "al"]': "--set: signals.names: unknown signal 'al' (did you mean 'all'?)",
    'signals.names=["few", "few"]': "--set: signals.names holds 'few' twice; name it once",
    # types
    "steps=many": '--set: steps: expected a whole number, found "many"',
    "steps=3.0": "--set: steps: expected a whole number, found 3.0",
    "steps=true": "--set: steps: expected a whole number, found true",
    'steps="3"': '--set: steps: expected a whole number, found "3"',
    "steps=[3]": "--set: steps: expected a whole number, found a list",
    "steps.n=3": "--set: steps: expected a whole number, found a table",
    "temperature=hot": '--set: temperature: expected a number, found "hot"',
    "temperature=true": "--set: temperature: expected a number, found true",
    "temperature=nan": "--set: temperature: expected a number, found nan",
    "temperature=inf": "--set: temperature: expected a number, found inf",
    "train_split=3": "--set: train_split: expected text, found 3 (quote it: '\"3\"')",
    "policy.flag=1": "--set: policy.flag: expected true or false, found 1",
    "policy.flag=yes": '--set: policy.flag: expected true or false, found "yes"',
    "policy.path=3": "--set: policy.path: expected text, found 3 (quote it: '\"3\"')",
    "policy.mode=fats": '--set: policy.mode: expected one of "fast", "slow", found "fats"',
    "policy.level=true": "--set: policy.level: expected one of 1, 2, found true",
    "policy.colour=green": '--set: policy.colour: expected one of "red", "dark-blue", found "green"',
    "policy.words=abc": '--set: policy.words: expected a list, found "abc"',
    'policy.words=["a", 3]': "--set: policy.words[1]: expected text, found 3 (quote it: '\"3\"')",
    "policy.numbers=[1, true]": "--set: policy.numbers[1]: expected a number, found true",
    "policy.limits=[1]": "--set: policy.limits: expected a table, found a list",
    "policy.limits.a=b": '--set: policy.limits.a: expected a whole number, found "b"',
    "policy.inner=3": "--set: policy.inner: expected a table, found 3",
    "policy.inner.depth=x": '--set: policy.inner.depth: expected a whole number, found "x"',
    "policy.maybe=x": '--set: policy.maybe: expected a whole number, found "x"',
    "policy.mixed=true": "--set: policy.mixed: expected int or str, found true",
    "policy=few": '--set: policy: expected a table, found "few"; choose a component with policy.name',
    "signals=few": '--set: signals: expected a table, found "few"; choose components with signals.names = [...]',
    "signals.names=few": '--set: signals.names: expected a list, found "few"',
    "signals.few=3": "--set: signals.few: expected a table, found 3",
    "policy.name=3": "--set: policy.name: expected text, found 3 (quote it: '\"3\"')",
    "evaluation.modes=[]": "--set: evaluation.modes must have >= 1 entries, found 0",
    'evaluation.modes=["gready"]': '--set: evaluation.modes[0]: expected one of "greedy", "sampled", found "gready"',
    # ranges
    "steps=-1": "--set: steps must be >= 0, found -1",
    "seed=-1": "--set: seed must be >= 0, found -1",
    "batch=0": "--set: batch must be >= 1, found 0",
    "rollouts=1": "--set: rollouts must be >= 2, found 1",
    "temperature=0": "--set: temperature must be > 0, found 0.0",
    "evolve_every=0": "--set: evolve_every must be >= 1, found 0",
    "checkpoint_every=0": "--set: checkpoint_every must be >= 1, found 0",
    "fault_limit=0": "--set: fault_limit must be > 0, found 0.0",
    "fault_limit=1.5": "--set: fault_limit must be <= 1, found 1.5",
    "step_timeout=-1": "--set: step_timeout must be > 0, found -1.0",
    "max_new_tokens=0": "--set: max_new_tokens must be >= 1, found 0",
    "evaluation.every=-5": "--set: evaluation.every must be >= 0, found -5",
    "policy.rate=2": "--set: policy.rate must be <= 1, found 2.0",
    "policy.choice=z": "--set: policy.choice must be in ('x', 'y') (got 'z')",
    "synthesizer.size=2": "--set: synthesizer.name is missing; choose one of all, bare, few",
    # the setting itself
    "steps": "--set takes KEY=VALUE (such as steps=20 or policy.name=scripted), found 'steps'",
    "=3": "--set takes KEY=VALUE (such as steps=20 or policy.name=scripted), found '=3'",
    "policy..count=3": "--set takes KEY=VALUE (such as steps=20 or policy.name=scripted), found 'policy..count=3'",
    "steps=": "--set steps=: the value is missing (an empty text is '\"\"')",
}


@pytest.mark.parametrize("setting", BAD_SETS)
def test_a_bad_setting(setting: str, parts: Registry, base: Path) -> None:
    with pytest.raises(UserError) as caught:
        load_config(parts, None, base, [setting])
    assert str(caught.value) == BAD_SETS[setting]


@pytest.mark.parametrize("setting", ["policy.words=[1,", 'train_split="open', "policy.limits={a=}", "policy.limits={a=" + "9" * 5000 + "}"])
def test_a_value_that_begins_like_toml_and_is_not(setting: str, parts: Registry, base: Path) -> None:
    with pytest.raises(UserError) as caught:
        load_config(parts, None, base, [setting])
    assert str(caught.value).startswith(f"--set {setting}: ") and "is not a TOML value" in str(caught.value)


def test_two_settings_that_contradict(parts: Registry, base: Path) -> None:
    with pytest.raises(UserError, match="'policy' was set to a value before, so it has no keys"):
        load_config(parts, None, base, ["policy=1", "policy.count=2"])


def test_a_synthesizer_that_is_none_has_no_options(parts: Registry, base: Path) -> None:
    with pytest.raises(UserError, match=r'--set: synthesizer has options but synthesizer.name is "none"; choose one of all, bare, few'):
        load_config(parts, None, base, ["synthesizer.name=none", "synthesizer.size=2"])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"steps = ", "is not valid TOML: Invalid value"),
        (b"steps = 1\nsteps = 2\n", "is not valid TOML: Cannot overwrite a value"),
        (b"\xff\xfe", "is not valid TOML: it is not UTF-8 text; save it in the encoding UTF-8"),
        (b"x = " + b"[" * 5000, "is not valid TOML"),
        (b"steps = " + b"9" * 5000, "is not valid TOML: Exceeds the limit"),
        (b"rolouts = 3\n", "unknown key 'rolouts' (did you mean 'rollouts'?)"),
        (b"[evaluation]\nevery = 1.5\n", "evaluation.every: expected a whole number, found 1.5"),
        (b"evaluation = 3\n", "evaluation: expected a table, found 3"),
        (b"seed = 2026-11-29\n", "seed: expected a whole number, found 2026-11-29"),
        (b"[policy]\nrate = 0.5\n", "policy.name is missing; choose one of all, bare, few"),
    ],
)
def test_a_bad_file(content: bytes, text: str, parts: Registry, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(content + b'\n[environment]\nname = "few"\n' if b"=" in content and b"[[" not in content else content)
    if b"[policy]" not in content and content.startswith((b"rol", b"[eval", b"eval", b"seed")):
        file.write_bytes(file.read_bytes() + b"".join(b'[%s]\nname = "few"\n' % kind for kind in (b"policy", b"trainer", b"sampler")))
    with pytest.raises(UserError) as caught:
        load_config(parts, None, file)
    assert str(caught.value).startswith(str(file)) and text in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("make", [lambda folder: folder / "nowhere.toml", lambda folder: folder])
def test_a_file_that_cannot_be_read(make: object, parts: Registry, tmp_path: Path) -> None:
    assert callable(make)
    with pytest.raises(UserError, match=r"cannot read .*; name an existing TOML file"):
        load_config(parts, None, make(tmp_path))


def test_an_unknown_recipe(parts: Registry) -> None:
    with pytest.raises(UserError, match=r"unknown recipe 'dsek' \(did you mean 'desk'\?\)"):
        load_config(parts, "dsek")


def test_a_bad_plugin_table(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--set: plugins.block: expected a list, found \"rare\""):
        plugin_choice(setting_sources("desk", None, ["plugins.block=rare"]))
    with pytest.raises(UserError, match=r"--set: unknown key 'plugins.blok' \(did you mean 'plugins.block'\?\)"):
        plugin_choice(setting_sources("desk", None, ["plugins.blok=[]"]))
