"""Where a run's settings come from: a recipe, a file, `--set key.path=value`, other options. Later ones win, key by key.

A source that chooses another component drops the options that lower sources gave to the one before, and one that chooses another
environment drops their `max_new_tokens` too, which was meant for the other one's answers. All that stands on the command line
counts as one source for this: `--policy openai --set policy.budget=2cost` keeps both.
"""

import importlib.resources
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import Any

from attrs import frozen

from ..errors import UserError, did_you_mean
from ..text import read_text

ONE = ("environment", "policy", "trainer", "sampler", "synthesizer", "executor")
"""Tables that choose one component: `name` and its options."""
ABSENT = {"synthesizer": "none", "executor": "threads"}
"""Those of them that may choose none, with the word for it: it needs no component, so no list of plugins can lack it."""
MANY = {"signals": "signal", "validators": "validator"}
"""Tables that choose several: `names`, and a table of options for each that needs one."""


@frozen
class SettingSource:
    """Settings as tables of TOML values, from one place."""

    source: str
    """Its name in error texts, such as "recipe desk", "mine.toml" or "--set"."""
    values: Mapping[str, Any]
    command_line: bool = False
    """Whether it is an option of the command line; all these together choose components as one source."""


def recipes() -> dict[str, str]:
    """Recipe names with the first comment line of each."""
    folder = importlib.resources.files(__package__) / "recipes"
    texts = {entry.name.removesuffix(".toml"): entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".toml")}
    return {name: texts[name].partition("\n")[0].removeprefix("#").strip() for name in sorted(texts)}


def setting_sources(recipe: str | None, file: Path | None, sets: Sequence[str]) -> list[SettingSource]:
    """Read a recipe (None: none), a file (None: none) and `--set` texts once, lowest source first. UserError for what cannot be read."""
    found = []
    if recipe is not None:
        if recipe not in recipes():
            raise UserError(f"unknown recipe {recipe!r}{did_you_mean(recipe, recipes())}")
        text = (importlib.resources.files(__package__) / "recipes" / f"{recipe}.toml").read_text("utf-8")
        found.append(SettingSource(f"recipe {recipe}", tomllib.loads(text)))
    if file is not None:
        found.append(SettingSource(str(file), read_file(file)))
    if sets:
        found.append(SettingSource("--set", read_sets(sets), command_line=True))
    return found


def option_source(option: str, path: str, value: Any) -> SettingSource:
    """The source of an option of the command line that stands for one setting: `option_source("--seed", "seed", 3)`."""
    *tables, last = path.split(".")
    values = {last: value}
    for table in reversed(tables):
        values = {table: values}
    return SettingSource(option, values, command_line=True)


def given_options(*options: tuple[str, str, Any]) -> list[SettingSource]:
    """The sources of those options (option, key, value) that were given: whose value is not None."""
    return [option_source(option, path, value) for option, path, value in options if value is not None]


def read_file(file: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(read_text(file))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}; name an existing TOML file") from error
    except (ValueError, RecursionError) as error:  # ValueError: also for bytes that are not UTF-8, and for a number with too many digits
        raise UserError(f"{file} is not valid TOML: {' '.join(str(error).split())}") from error


def read_sets(sets: Sequence[str]) -> dict[str, Any]:
    """The tables that `key.path=value` settings describe."""
    found: dict[str, Any] = {}
    for setting in map(_argument, sets):
        key, equals, text = setting.partition("=")
        *tables, last = (part.strip() for part in key.split("."))
        if not equals or not all((*tables, last)):
            raise UserError(f"--set takes KEY=VALUE (such as steps=20 or policy.name=scripted), found {setting!r}")
        table = found
        for part in tables:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise UserError(f"--set {setting}: {part!r} was set to a value before, so it has no keys; remove one of the two")
        table[last] = parse_value(setting, text.strip())
    return found


def _argument(text: str) -> str:
    """A text of the command line. Where the locale has no encoding for its letters, Python keeps their bytes, which are read as UTF-8."""
    try:
        return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return text


def parse_value(setting: str, text: str) -> Any:
    """A TOML value; a bare word or path stands for itself as text."""
    if not text:
        raise UserError(f"--set {setting}: the value is missing (an empty text is '\"\"')")
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError) as error:  # ValueError: also for a number with too many digits
        if text[0] in "[{\"'":
            raise UserError(f"--set {setting}: {text!r} is not a TOML value ({' '.join(str(error).split())[:80]})") from error
        return text
    value = parsed["value"]
    return value if len(parsed) == 1 and isinstance(value, bool | int | float | str | list | dict) else text


def merge(sources: Sequence[SettingSource]) -> dict[str, Any]:
    """The settings of all sources as one table."""
    merged: dict[str, Any] = {}
    for values in _layers(sources):
        if _other_environment(merged, values):
            merged.pop("max_new_tokens", None)
        for key, value in values.items():
            below = merged.get(key)
            if isinstance(below, dict) and isinstance(value, dict):
                merged[key] = _over(_kept(key, below, value), value)
            else:
                merged[key] = value
    return merged


def source_of(sources: Sequence[SettingSource], path: str) -> str | None:
    """The name of the uppermost source that sets `path`, or the table that holds it. None when no source does."""
    keys = path.partition("[")[0].split(".")
    while keys:
        for layer in reversed(sources):
            value: Any = layer.values
            for key in keys:
                value = value.get(key) if isinstance(value, Mapping) else None
            if value is not None:
                return layer.source
        keys.pop()
    return None


def _layers(sources: Sequence[SettingSource]) -> Iterator[Mapping[str, Any]]:
    """The settings of each source; neighbours of the command line are joined into one."""
    for on_line, together in groupby(sources, key=lambda layer: layer.command_line):
        tables = [layer.values for layer in together]
        yield from [reduce(_over, tables)] if on_line else tables


def _other_environment(below: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether `values` choose another environment than the sources below them did."""
    before, now = (
        table.get("name") if isinstance(table, dict) else None for table in (below.get("environment"), values.get("environment"))
    )
    return now is not None and before is not None and now != before


def _kept(key: str, below: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """What remains of a lower source's table when `value` may choose other components."""
    if key in ONE and "name" in value and value["name"] != below.get("name"):
        return {}
    if key in MANY and isinstance(value.get("names"), list):
        return {name: table for name, table in below.items() if name in value["names"]}
    return below


def _over(below: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    both = {k: _over(below[k], v) for k, v in value.items() if isinstance(v, dict) and isinstance(below.get(k), dict)}
    return {**below, **value, **both}
