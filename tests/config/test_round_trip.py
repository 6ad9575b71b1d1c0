"""dump_toml writes what load_config reads back."""

import tomllib
from pathlib import Path
from typing import Any

import attrs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coevolve.core.registry import Registry, load_plugins
from coevolve.core.settings.config import Chosen, Config, Evaluation, PluginChoice, dump_toml, load_config

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
words = st.lists(texts, max_size=3).map(tuple)
numbers = st.floats(min_value=1e-12, max_value=1e12)


def options(cls: type[Any]) -> st.SearchStrategy[Any]:
    """Instances of the options class `Everything` with any value in each field."""
    types: dict[str, Any] = {field.name: field.type for field in attrs.fields(cls)}
    inner, colour = types["inner"], types["colour"]
    return st.builds(
        cls,
        count=st.integers(0, 2**62),
        rate=st.floats(min_value=0, max_value=1, exclude_min=True),
        flag=st.booleans(),
        text=texts,
        path=texts.filter(lambda t: not t.startswith("~")).map(Path),
        mode=st.sampled_from(["fast", "slow"]),
        level=st.sampled_from([1, 2]),
        colour=st.sampled_from(list(colour)),
        inner=st.builds(inner, depth=st.integers(-(2**62), 2**62), names=words),
        words=words,
        numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3),
        limits=st.dictionaries(texts, st.integers(-9, 9), max_size=3),
        maybe=st.none() | st.integers(-9, 9),
        perhaps=st.none() | st.just(Path("a/b")),
        mixed=st.integers(-9, 9) | texts,
        choice=st.sampled_from(["x", "y"]),
    )


@st.composite
def configs(draw: st.DrawFn, parts: Registry) -> Config:
    def one(kind: str) -> Chosen:
        name = draw(st.sampled_from(["all", "few", "bare"]))
        cls = parts.component(kind, name).Options
        return Chosen(name, draw(options(cls)) if name == "all" else cls(*([draw(st.integers(-9, 9))] if name == "few" else [])))

    def many(kind: str) -> tuple[Chosen, ...]:
        return tuple({chosen.name: chosen for chosen in (one(kind) for _ in range(draw(st.integers(0, 3))))}.values())

    return Config(
        seed=draw(st.integers(0, 2**32 - 1)),
        steps=draw(st.integers(0, 10**6)),
        rollouts=draw(st.integers(2, 64)),
        temperature=draw(numbers),
        step_timeout=draw(st.floats(min_value=1e-12, max_value=1e7)),
        fault_limit=draw(st.floats(min_value=0, max_value=1, exclude_min=True)),
        train_split=draw(texts),
        evaluation=Evaluation(
            every=draw(st.integers(0, 9)), split=draw(texts), modes=draw(st.sampled_from([("greedy",), ("sampled", "greedy")]))
        ),
        plugins=PluginChoice(draw(words), draw(words)),
        environment=one("environment"),
        policy=one("policy"),
        trainer=one("trainer"),
        sampler=one("sampler"),
        synthesizer=one("synthesizer") if draw(st.booleans()) else None,
        signals=many("signal"),
        validators=many("validator"),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_what_is_dumped_loads_to_the_same(data: st.DataObject, parts: Registry, tmp_path: Path) -> None:
    config = data.draw(configs(parts))
    file = tmp_path / "dump.toml"
    file.write_text(dump_toml(config), "utf-8", newline="")
    assert load_config(parts, None, file) == config


def test_a_dump_says_everything_and_hides_the_recipe(tmp_path: Path) -> None:
    registry = load_plugins(only=["coevolve.*"])
    config = load_config(registry, "bfcl-smoke", sets=["synthesizer.name=none", 'signals.names=["rare"]', "seed=5"])
    file = tmp_path / "config.toml"
    file.write_text(dump_toml(config))
    assert load_config(registry, "desk", file) == config
    written = tomllib.loads(file.read_text())
    assert set(written) == {field.name for field in attrs.fields(Config)}
    assert written["signals"]["rare"].keys() == {f.name for f in attrs.fields(registry.component("signal", "rare").Options)}
