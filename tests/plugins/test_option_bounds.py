"""Every option of every default component, and every setting of the core, given values that nobody means: each is refused in one line, or
makes a whole component. Numbers below 0 and numbers that are none are refused wherever they are not seeds."""

from collections.abc import Iterator
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import Any, get_args

import attrs
import pytest
import tomli_w

from coevolve import Checkable, NeedsEnvironment, UserError
from coevolve.core.cli.plan import plan
from coevolve.core.contracts import KINDS
from coevolve.core.registry import Registry, load_plugins
from coevolve.core.run.build import RunSettings
from coevolve.core.settings.config import Config, load_config
from coevolve.core.settings.toml_to_attrs import SettingError, structure

REGISTRY = load_plugins(only=["coevolve.*"])
NAN, INF = float("nan"), float("inf")
NUMBERS = (-1, 0, 10**30, -1.0, 0.0, 1e308, NAN, INF)
TEXTS = ("", "x" * 300, "\x00", "\udc80")
SEEDS = {("environment", "desk", "seed"), ("environment", "bfcl", "split_seed")}
"""Options for which a negative number is as good as any."""


def numbers(kind: Any) -> bool:
    return bool({int, float} & {kind, *get_args(kind)}) and kind is not bool


def leaves(options: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Path and type of every option, those of tables within too."""
    attrs.resolve_types(options)
    for field in attrs.fields(options):
        if attrs.has(field.type):
            yield from leaves(field.type, (*before, field.name))
        else:
            yield (*before, field.name), field.type


def values(kind: Any) -> tuple[Any, ...]:
    if numbers(kind):
        return NUMBERS
    return (*TEXTS, -1, []) if kind in (str, Path) else ([], [""], ["x" * 300], "", -1, {})


def nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    *tables, last = path
    found = {last: value}
    for table in reversed(tables):
        found = {table: found}
    return found


OPTIONS = [
    pytest.param(kind, name, path, of, id=f"{kind}-{name}-{'.'.join(path)}")
    for kind in KINDS
    for name in REGISTRY.names(kind)
    for path, of in leaves(REGISTRY.component(kind, name).Options)
]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return REGISTRY


def used(kind: str, part: Any, tmp_path: Path) -> None:
    """As far as a run goes before it loads a model."""
    if kind == "trainer":
        policy = REGISTRY.component("policy", "transformers")
        part.setup(policy(policy.Options()), RunSettings(0, 1, 2, 4, 1.0, tmp_path))
    elif isinstance(part, Checkable) and not isinstance(part, NeedsEnvironment):
        part.check()
    elif kind == "environment" and part.name == "desk":
        part.splits()


@pytest.mark.parametrize(("kind", "name", "path", "of"), OPTIONS)
def test_an_option_is_refused_in_a_line_or_makes_a_component(
    kind: str, name: str, path: tuple[str, ...], of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    component: Any = REGISTRY.component(kind, name)
    for value in values(of):
        refused = ""
        try:
            part = component(structure(nested(path, value), component.Options, kind))
            used(kind, part, tmp_path)
        except SettingError as misfit:
            refused = misfit.text
        except UserError as error:
            refused = str(error)
        if refused:
            assert "\n" not in refused
        elif numbers(of) and (kind, name, *path) not in SEEDS:
            assert 0 <= value < (TIMEOUT_MAX if path[-1].endswith("timeout") else INF)


@pytest.mark.parametrize(("path", "of"), [pytest.param(path, of, id=".".join(path)) for path, of in leaves(Config)])
def test_a_setting_of_the_core_is_refused_in_a_line_or_can_be_planned(path: tuple[str, ...], of: Any, tmp_path: Path) -> None:
    for value in values(of):
        file = tmp_path / "settings.toml"
        try:
            file.write_bytes(tomli_w.dumps(nested(path, value)).encode("utf-8", "surrogateescape"))
            plan(load_config(REGISTRY, file=file), REGISTRY)
        except UserError as error:
            assert "\n" not in str(error)
        else:
            assert not numbers(of) or 0 <= value < (TIMEOUT_MAX if path[-1].endswith("timeout") else INF)
