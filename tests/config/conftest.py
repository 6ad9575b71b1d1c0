"""A registry of small components with options of every type that a configuration can hold."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from attrs import field, frozen, validators

from coevolve import hookimpl
from coevolve.core.contracts import KINDS
from coevolve.core.plugin_checks import COMPONENT_HOOKS
from coevolve.core.registry import Registry, load_plugins


class Colour(StrEnum):
    RED = "red"
    DARK_BLUE = "dark-blue"


@frozen
class Inner:
    depth: int = 1
    names: tuple[str, ...] = ()


@frozen
class Everything:
    count: int = field(default=3, validator=validators.ge(0))
    rate: float = field(default=0.5, validator=[validators.gt(0), validators.le(1)])
    flag: bool = False
    text: str = "plain"
    path: Path = Path("here")
    mode: Literal["fast", "slow"] = "fast"
    level: Literal[1, 2] = 1
    colour: Colour = Colour.RED
    inner: Inner = Inner()
    words: tuple[str, ...] = ("a",)
    numbers: list[float] = field(factory=list)
    limits: dict[str, int] = field(factory=dict)
    maybe: int | None = 7
    perhaps: Path | None = None
    mixed: int | str = 1
    choice: str = field(default="x", validator=validators.in_(("x", "y")))


@frozen
class Few:
    size: int = 1


@frozen
class NoOptions:
    pass


def component(kind: str, name: str, options: type[Any]) -> type[Any]:
    methods = {m: lambda *_: None for m, value in vars(KINDS[kind]).items() if callable(value) and not m.startswith("_")}
    return type(name.title(), (), {"name": name, "Options": options, "__init__": lambda self, options: None, **methods})


def offering(classes: list[type[Any]]) -> Callable[[], list[type[Any]]]:
    return lambda: classes


@pytest.fixture(scope="session")
def parts() -> Registry:
    """Every kind has `all` (options of every type), `few` (one option) and `bare` (none)."""
    offers: dict[str, Any] = {}
    for hook, kind in COMPONENT_HOOKS.items():
        classes = [component(kind, name, options) for name, options in (("all", Everything), ("few", Few), ("bare", NoOptions))]
        offers[hook] = hookimpl(offering(classes))
    return load_plugins(only=["parts"], extra=[SimpleNamespace(__name__="parts", **offers)])


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A file that chooses one component of each kind."""
    file = tmp_path / "base.toml"
    kinds = ("environment", "policy", "trainer", "sampler")
    file.write_text("".join(f'[{kind}]\nname = "all"\n' for kind in kinds) + '[signals]\nnames = ["all", "few"]\n')
    return file
