"""Turns plain TOML values into attrs classes without guessing: no text becomes a number, no number a flag, no unknown key passes.

The word "none" stands for None where a field may be None, because TOML has no such value.
"""

import enum
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import attrs
import cattrs
from cattrs.cols import homogenous_tuple_structure_factory, list_structure_factory, mapping_structure_factory
from cattrs.dispatch import StructureHook
from cattrs.gen import make_dict_structure_fn

from ..errors import did_you_mean

T = TypeVar("T")
NONE = "none"


class SettingError(Exception):
    """A value that does not fit. `path` is its full key, `text` the line for the user: what was expected, what was found."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(text)
        self.path, self.text = path, text


class ValueMismatch(ValueError):
    """A single value that does not fit; the caller knows its path."""

    def __init__(self, expected: str, value: object, hint: str = "") -> None:
        super().__init__(f"expected {expected}, found {describe(value)}{hint}")


def structure(value: object, cls: type[T], path: str = "", beside: Sequence[str] = ()) -> T:
    """`value` as a `cls`. SettingError names the first key that is wrong, below `path`.

    `beside` are keys of the same table that the caller has taken out of it: an error may suggest them.
    """
    try:
        return _converter.structure(value, cls)
    except Exception as error:
        raise _setting_error(error, path, beside) from error


def unknown_key(path: str, key: str, known: Iterable[str]) -> SettingError:
    """The error for a `key` of the table at `path` that is not one of `known`; it suggests the nearest of these by its full path."""
    near = get_close_matches(key, sorted(known), n=1)
    hint = f" (did you mean {_join(path, near[0])!r}?)" if near else did_you_mean(key, known)
    return SettingError(_join(path, key), f"unknown key {_join(path, key)!r}{hint}")


def plain(value: Any) -> dict[str, Any]:
    """The inverse of `structure` for an attrs instance."""
    return attrs.asdict(value, filter=lambda field, _: field.init, value_serializer=_serialize)


def describe(value: object) -> str:
    """A value as TOML names or writes it, shortened."""
    match value:
        case dict():
            return "a table"
        case list() | tuple():
            return "a list"
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"' if len(value) <= 60 else f'"{value[:57]}..."'
    return str(value)


def _serialize(instance: object, field: object, value: Any) -> Any:
    match value:
        case None:
            return NONE
        case enum.Enum():
            return value.value
        case Path():
            return str(value)
    return value


def _setting_error(error: BaseException, top: str, beside: Sequence[str]) -> SettingError:
    """The first cause inside cattrs' tree of exceptions, an unknown key before all others: it is mostly the reason for the rest."""
    found = sorted(_leaves(error, top), key=lambda leaf: not isinstance(leaf[0], cattrs.ForbiddenExtraKeysError))
    leaf, path, *_ = found[0]
    if isinstance(leaf, cattrs.ForbiddenExtraKeysError):
        known = [field.name for field in attrs.fields(leaf.cl) if field.init]
        return unknown_key(path, min(leaf.extra_fields), [*known, *(beside if path == top else ())])
    # attrs' own validators put the text first, with the field's name in quotes in it and mostly ": value" at its end.
    text = " ".join(str(leaf.args[0] if leaf.args else leaf).split())
    if match := re.fullmatch(r"(Length of )?'(\w+)' (must .*?)(?:: (.*))?", text):
        length, name, rule, value = match.groups()
        if length:
            rule = rule.replace("be", "have", 1) + " entries"
        key = _join(path, name)
        return SettingError(key, f"{key} {rule}" + (f", found {value}" if value else ""))
    return SettingError(path, f"{path}: {text}")


def _leaves(error: BaseException, path: str) -> Iterator[tuple[BaseException, str]]:
    if not isinstance(error, cattrs.BaseValidationError):
        yield error, path
        return
    for inner in error.exceptions:
        below = path
        for note in getattr(inner, "__notes__", ()):
            if isinstance(note, cattrs.AttributeValidationNote):
                below = _join(path, note.name)
            elif isinstance(note, cattrs.IterableValidationNote):
                below = f"{path}[{note.index}]" if isinstance(note.index, int) else _join(path, note.index)
        yield from _leaves(inner, below)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _bool(value: object, _: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueMismatch("true or false", value)
    return value


def _int(value: object, kind: Any) -> Any:
    if issubclass(kind, enum.Enum):
        return _enum(value, kind)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueMismatch("a whole number", value)
    return value


def _float(value: object, _: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueMismatch("a number", value)
    return float(value)


def _str(value: object, kind: Any) -> Any:
    if issubclass(kind, enum.Enum):  # cattrs takes an enum that is a text as well for a text
        return _enum(value, kind)
    if not isinstance(value, str):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        raise ValueMismatch("text", value, f" (quote it: '\"{value}\"')" if number else "")
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: a name of a file that is not UTF-8; it could not be written to config.toml
        raise ValueMismatch("text in UTF-8", ascii(value)) from None
    return value


def _path(value: object, _: Any) -> Path:
    return Path(_str(value, str)).expanduser()


def _literal(value: object, kind: Any) -> Any:
    choices = get_args(kind)
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        raise ValueMismatch(_one_of(choices), value)
    return value


def _enum(value: object, kind: Any) -> Any:
    choices = [member.value for member in kind]
    if value not in choices:
        raise ValueMismatch(_one_of(choices), value)
    return kind(value)


def _one_of(choices: Any) -> str:
    return "one of " + ", ".join(describe(choice) for choice in choices)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _union(value: object, kind: Any) -> Any:
    """The arm whose type the value has already, else the first that takes it."""
    arms = get_args(kind)
    if types.NoneType in arms and (value is None or value == NONE):
        return None
    arms = tuple(arm for arm in arms if arm is not types.NoneType)
    if len(arms) == 1:
        return _converter.structure(value, arms[0])
    for arm in sorted(arms, key=lambda arm: arm is not type(value)):
        try:
            return _converter.structure(value, arm)
        except (ValueError, cattrs.BaseValidationError):
            continue
    raise ValueMismatch(" or ".join(getattr(arm, "__name__", str(arm)) for arm in arms), value)


def _only(accepted: Any, expected: str, make: Callable[..., Any]) -> Callable[[Any, cattrs.Converter], StructureHook]:
    """A hook factory like `make` whose hooks refuse what is not `accepted` (cattrs would take a text for a list of letters)."""

    def factory(kind: Any, converter: cattrs.Converter) -> StructureHook:
        inner = make(kind, converter)

        def hook(value: object, of: Any) -> Any:
            if not isinstance(value, accepted):
                raise ValueMismatch(expected, value)
            return inner(value, of)

        return hook

    return factory


def _origin(origin: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) is origin and (origin is not tuple or get_args(kind)[1:] == (...,))


def _attrs_class(kind: Any, converter: cattrs.Converter) -> StructureHook:
    inner = _only(dict, "a table", partial(make_dict_structure_fn, _cattrs_forbid_extra_keys=True))(kind, converter)
    return lambda value, of: value if type(value) is kind else inner(value, of)


def _make() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind, hook in ((bool, _bool), (int, _int), (float, _float), (str, _str), (Path, _path), (enum.Enum, _enum)):
        converter.register_structure_hook(kind, hook)
    converter.register_structure_hook_func(_origin(Literal), _literal)
    converter.register_structure_hook_func(_is_union, _union)
    converter.register_structure_hook_func(lambda kind: kind is Any, lambda value, _: value)
    converter.register_structure_hook_factory(_origin(tuple), _only((list, tuple), "a list", homogenous_tuple_structure_factory))
    converter.register_structure_hook_factory(_origin(list), _only((list, tuple), "a list", list_structure_factory))
    converter.register_structure_hook_factory(_origin(dict), _only(dict, "a table", mapping_structure_factory))
    converter.register_structure_hook_factory(_origin(Mapping), _only(dict, "a table", mapping_structure_factory))
    converter.register_structure_hook_factory(attrs.has, _attrs_class)
    return converter


_converter = _make()
