"""Every setting has a text, which `coevolve options` prints."""

import tomllib
from typing import Any

import attrs
import pytest
from attrs import field, frozen

from coevolve.core.contracts import KINDS
from coevolve.core.registry import load_plugins
from coevolve.core.settings.config import Config
from coevolve.core.settings.option_texts import OptionText, core_option_texts, option_texts

REGISTRY = load_plugins(only=["coevolve.*"])
COMPONENTS = [f"{kind}:{name}" for kind in KINDS for name in REGISTRY.names(kind)]


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_option_of_every_default_plugin_has_a_text(component: str) -> None:
    kind, _, name = component.partition(":")
    found = list(option_texts(REGISTRY.component(kind, name).Options))
    assert [option.key for option in found if len(option.text) < 8] == []
    assert len(found) >= len(attrs.fields(REGISTRY.component(kind, name).Options))


def test_every_setting_of_core_has_a_text() -> None:
    found = list(core_option_texts())
    assert [option.key for option in found if len(option.text) < 8] == []
    assert {option.key.partition(".")[0] for option in found} == {one.name for one in attrs.fields(Config)}
    assert {"environment.name", "signals.names", "plugins.block", "evaluation.every", "retirement.rest"} <= {option.key for option in found}


def test_every_default_is_a_toml_value_that_gives_the_default() -> None:
    for component in COMPONENTS:
        kind, _, name = component.partition(":")
        options: Any = REGISTRY.component(kind, name).Options
        for option in option_texts(options):
            assert option.default is not None
            value: Any = options()
            for part in option.key.split("."):
                value = getattr(value, part)
            shown = tomllib.loads(f"x = {option.default}")["x"]
            assert shown == ("none" if value is None else list(value) if isinstance(value, tuple) else value), option.key


@frozen
class Base:
    size: int = 1
    """How many
    there are."""
    bare: str = field(default='a "b"')


@frozen
class Inner:
    depth: float
    """How deep."""


@frozen
class Options(Base):
    size: int = 2
    inner: Inner = field(factory=lambda: Inner(1.0))
    words: tuple[str, ...] = field(factory=tuple)
    """Some words."""


def test_the_texts_are_the_docstrings_beneath_the_fields() -> None:
    assert list(option_texts(Options, "policy")) == [
        OptionText("policy.bare", '"a \\"b\\""', ""),
        OptionText("policy.size", "2", "How many there are."),
        OptionText("policy.inner.depth", None, "How deep."),
        OptionText("policy.words", "[]", "Some words."),
    ]


def test_a_class_without_source_has_no_texts() -> None:
    made = attrs.make_class("Made", {"size": field(default=1, type=int)})
    assert list(option_texts(made)) == [OptionText("size", "1", "")]


def test_a_default_that_toml_cannot_write_is_described() -> None:
    @frozen
    class Options:
        mark: bytes = b"x"

    assert [option.default for option in option_texts(Options)] == ["b'x'"]
