"""Every setting with its default and its text, which is the docstring beneath the field of the attrs class that holds it."""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

import attrs
import tomli_w

from ..text import one_line
from .config import Chosen, Config
from .sources import ABSENT, MANY, ONE
from .toml_to_attrs import plain


@attrs.frozen
class OptionText:
    """One setting: `key` is its full path, `default` a TOML value (None: it must be given), `text` its description, "" for none."""

    key: str
    default: str | None
    text: str


def option_texts(options: type[Any], path: str = "") -> Iterator[OptionText]:
    """The settings of an attrs class whose table stands at `path`, in their order; those of a nested class by their full keys."""
    texts = field_texts(options)
    for field in attrs.fields(options):
        if not field.init:
            continue
        key = f"{path}.{field.name}" if path else field.name
        if attrs.has(field.type) and field.type is not Chosen:
            yield from option_texts(field.type, key)
        else:
            yield OptionText(key, _default(field), texts.get(field.name, ""))


def core_option_texts() -> Iterator[OptionText]:
    """The settings of core itself, and those that choose components."""
    for option in option_texts(Config):
        if option.key in ONE:
            chosen = f'"{ABSENT[option.key]}"' if option.key in ABSENT else None
            yield attrs.evolve(option, key=f"{option.key}.name", default=chosen)
        elif option.key in MANY:
            yield attrs.evolve(option, key=f"{option.key}.names")
        else:
            yield option


def field_texts(options: type[Any]) -> dict[str, str]:
    """The docstrings beneath the fields of an attrs class, on one line each; a subclass that gives none keeps its base's."""
    found: dict[str, str] = {}
    for cls in reversed(options.__mro__):
        if attrs.has(cls):
            found |= _own_texts(cls)
    return found


def _own_texts(cls: type[Any]) -> Mapping[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):  # no source, such as for a class that was made in a shell
        return {}
    (definition,) = tree.body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for statement, below in zip_longest(definition.body, definition.body[1:]):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    found[statement.target.id] = " ".join(text.split())
    return found


def _default(field: "attrs.Attribute[Any]") -> str | None:
    default: Any = field.default
    if default is attrs.NOTHING:
        return None
    value = default.factory() if isinstance(default, attrs.Factory) else default  # type: ignore[arg-type]  # a class, whatever its stub says
    return _toml(plain(_Held(value))["value"])


def _toml(value: Any) -> str:
    """A value as TOML on one line."""
    match value:
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{json.dumps(key)} = {_toml(one)}' for key, one in value.items())}}}"
    try:
        return tomli_w.dumps({"x": value}).removeprefix("x = ").strip()
    except TypeError:  # a default that TOML cannot write
        return one_line(repr(value))


@attrs.frozen
class _Held:
    value: Any
