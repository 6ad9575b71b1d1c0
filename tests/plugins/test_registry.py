"""The loader: what it finds, what it refuses, whom it asks."""

import logging
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from attrs import frozen

from coevolve import History, Signal, SignalDetector, TooManyFaults, UserError, hookimpl
from coevolve.core.contracts import KINDS
from coevolve.core.plugin_checks import COMPONENT_HOOKS, HOOKS
from coevolve.core.registry import DEFAULT_PLUGINS, load_plugins


@frozen
class Limit:
    limit: int = 3


class Detector:
    name: ClassVar[str] = "steady"
    Options: ClassVar[type] = Limit

    def __init__(self, options: Limit) -> None:
        self.options = options

    def detect(self, groups: Any, history: History) -> list[Signal]:
        return []


def plugin_of(**functions: Any) -> Any:
    """A plugin object whose hooks are `functions`."""
    return SimpleNamespace(__name__="made", **{name: hookimpl(function) for name, function in functions.items()})


def signals_plugin(*classes: Any) -> Any:
    return plugin_of(coevolve_signals=lambda: list(classes))


def record_of(plugin: Any) -> Any:
    return load_plugins(extra=[plugin]).records[-1]


def test_every_default_plugin_works() -> None:
    registry = load_plugins(only=["coevolve.*"])
    assert {record.name: record.error for record in registry.records if record.error} == {}
    assert [record.name for record in registry.records] == [path.partition(":")[0] for path in DEFAULT_PLUGINS]
    assert {record.distribution for record in registry.records} == {"coevolve"}
    assert registry.conflicts() == ()


def test_every_default_component_is_found_by_its_name() -> None:
    registry = load_plugins(only=["coevolve.*"])
    names = {kind: registry.names(kind) for kind in KINDS}
    assert names == {
        "environment": ("appworld", "bfcl", "desk"),
        "signal": ("boundary", "forgetting", "rare"),
        "synthesizer": ("operators", "programmatic", "random", "teacher"),
        "validator": ("blind_solve", "execution", "frontier", "minimal", "request", "safety"),
        "trainer": ("grpo",),
        "sampler": ("learnability", "learning_progress", "mixed", "plr", "thompson", "uniform"),
        "policy": ("openai", "scripted", "transformers", "vllm"),
        "executor": ("processes", "ray"),
    }
    for kind, of_kind in names.items():
        for name in of_kind:
            assert registry.component(kind, name).name == name


def test_there_is_one_component_hook_a_kind() -> None:
    assert set(COMPONENT_HOOKS.values()) == set(KINDS)
    assert set(COMPONENT_HOOKS) <= set(HOOKS)


@pytest.mark.parametrize("hook", sorted(set(HOOKS) - set(COMPONENT_HOOKS)))
def test_every_observer_hook_is_called_with_its_arguments(hook: str) -> None:
    seen: list[dict[str, Any]] = []
    names = tuple(HOOKS[hook].parameters)
    source = f"def {hook}({', '.join(names)}): seen.append(dict({', '.join(f'{n}={n}' for n in names)}))"
    space: dict[str, Any] = {"seen": seen}
    exec(source, space)  # noqa: S102 - a function of these arguments, made from the hook's own signature
    registry = load_plugins(only=["made"], extra=[plugin_of(**{hook: space[hook]})])
    assert registry.records[0].hooks == (hook,)
    given = {name: object() for name in names}
    registry.notify(hook, **given)
    assert seen == [given]


@pytest.mark.parametrize("hook", sorted(COMPONENT_HOOKS))
def test_every_component_hook_gives_components(hook: str) -> None:
    kind = COMPONENT_HOOKS[hook]
    methods = {name: lambda *_: None for name, value in vars(KINDS[kind]).items() if callable(value) and not name.startswith("_")}
    component = type("Made", (), {"name": "made-one", "Options": Limit, "__init__": lambda self, options: None, **methods})
    registry = load_plugins(extra=[plugin_of(**{hook: lambda: [component]})])
    assert registry.records[-1].components == (f"{kind}:made-one",)
    assert registry.component(kind, "made-one") is component
    assert registry.distribution(kind, "made-one") == "in this process -"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"unknown sampler 'unifrom' \(did you mean 'uniform'\?\)"):
        load_plugins(only=["coevolve.*"]).component("sampler", "unifrom")


def test_only_and_block_take_names_and_patterns() -> None:
    names = [record.name for record in load_plugins(only=["coevolve.signals.*"], block=["coevolve.signals.rare"]).records]
    assert names == ["coevolve.signals.forgetting", "coevolve.signals.boundary"]


def test_a_blocked_plugin_is_not_even_called() -> None:
    def explode() -> list[Any]:
        raise AssertionError("called")

    registry = load_plugins(block=["made"], extra=[plugin_of(coevolve_signals=explode)])
    assert "made" not in [record.name for record in registry.records]


@pytest.mark.parametrize("choice", ["only", "block"])
def test_a_pattern_that_fits_nothing_is_an_error(choice: str) -> None:
    with pytest.raises(UserError, match=r"no plugin is called 'coevolve.signals.rar' \(did you mean 'coevolve.signals.rare'\?\)"):
        load_plugins(**{choice: ["coevolve.signals.rar"]})


class Nameless:
    Options: ClassVar[type] = Limit


class BadName(Detector):
    name: ClassVar[str] = "two words"


class Reserved(Detector):
    name: ClassVar[str] = "names"


class NoOptions(Detector):
    Options: ClassVar[Any] = dict


class NoMethod:
    name: ClassVar[str] = "lazy"
    Options: ClassVar[type] = Limit

    def __init__(self, options: Limit) -> None: ...


class OnlyTheProtocol(SignalDetector):
    name: ClassVar[str] = "lazy"
    Options: ClassVar[type] = Limit

    def __init__(self, options: Limit) -> None: ...


class NoArgument(Detector):
    def __init__(self) -> None: ...


@frozen
class LimitWithoutDefault:
    limit: int


class NeedsOptions(Detector):
    Options: ClassVar[type] = LimitWithoutDefault


@pytest.mark.parametrize(
    ("offered", "text"),
    [
        ([Nameless], "signal class Nameless needs a class attribute `name`"),
        ([BadName], "found 'two words'"),
        ([Reserved], "cannot be called 'names'"),
        ([NoOptions], "signal class NoOptions needs an attrs class `Options`"),
        ([NoMethod], "signal class NoMethod lacks detect"),
        ([OnlyTheProtocol], "signal class OnlyTheProtocol lacks detect"),
        ([NoArgument], "must be made as NoArgument(options)"),
        ([NeedsOptions], "options without a default: limit"),
        ([Detector(Limit())], "must return classes"),
        ([Detector, Detector], "two components called 'steady'"),
        (Detector, "must return a list of classes, not type"),
        (None, "must return a list of classes, not NoneType"),
    ],
)
def test_a_component_that_cannot_work_is_refused(offered: Any, text: str) -> None:
    record = record_of(plugin_of(coevolve_signals=lambda: offered))
    assert text in record.error and "\n" not in record.error
    assert (record.hooks, record.components) == ((), ())


def test_an_option_called_name_would_hide_the_choice() -> None:
    @frozen
    class Clash:
        name: str = "x"

    sampler = type("S", (), {"name": "s", "Options": Clash, "__init__": lambda self, o: None, "pick": lambda *a: []})
    assert "cannot be called 'name'" in record_of(plugin_of(coevolve_samplers=lambda: [sampler])).error


def observers(*functions: Any) -> Any:
    """A registry of observers of coevolve_evaluated alone, called in this order."""
    plugins = [SimpleNamespace(__name__=f"o{n}", coevolve_evaluated=hookimpl(f)) for n, f in enumerate(functions)]
    return load_plugins(only=["o?"], extra=reversed(plugins))


def test_an_observer_that_raises_is_logged_once_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    seen = []

    def broken(iteration: int) -> None:
        raise ValueError("no such column")

    def leaving(iteration: int) -> None:
        raise SystemExit(3)

    registry = observers(broken, leaving, lambda iteration: seen.append(iteration))
    with caplog.at_level(logging.ERROR):
        for iteration in (1, 2):
            registry.notify("coevolve_evaluated", iteration=iteration, results={})
    assert seen == [1, 2]
    assert [record.args[:2] for record in caplog.records] == [("o0", "coevolve_evaluated"), ("o1", "coevolve_evaluated")]  # type: ignore[index]
    assert "no such column" in caplog.text


@pytest.mark.parametrize("error", [TooManyFaults("half of them"), KeyboardInterrupt()])
def test_what_is_meant_to_stop_a_run_passes(error: BaseException) -> None:
    def stop(iteration: int) -> None:
        raise error

    with pytest.raises(type(error)):
        observers(stop).notify("coevolve_evaluated", iteration=1, results={})


def test_observers_cannot_change_what_the_others_see() -> None:
    seen = []

    def greedy(results: dict[str, float]) -> None:
        results.clear()

    results = {"greedy": 0.5}
    observers(greedy, lambda results: seen.append(results)).notify("coevolve_evaluated", iteration=1, results=results)
    assert seen == [{"greedy": 0.5}] and results == {"greedy": 0.5}
