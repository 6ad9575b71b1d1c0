"""Checks of a plugin before it is loaded: each hook function fits its specification, each component class fits its kind."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import pluggy

from . import hookspecs
from .contracts import KINDS
from .errors import UserError, did_you_mean
from .text import error_line

COMPONENT_HOOKS = {f"coevolve_{'policies' if kind == 'policy' else kind + 's'}": kind for kind in KINDS}
"""Hook name -> kind of component."""
HOOKS: dict[str, inspect.Signature] = {
    name: inspect.signature(spec) for name, spec in vars(hookspecs).items() if name.startswith("coevolve_")
}
"""Every hook that there is."""
RESERVED = {"signal": {"names"}, "validator": {"names"}, "synthesizer": {"none"}, "executor": {"threads"}}
"""Component names that mean something else in a configuration."""


class PluginError(Exception):
    """A plugin that cannot be used; the text is one line."""


def hooks_of(manager: pluggy.PluginManager, plugin: object) -> dict[str, Callable[..., Any]]:
    """The hooks that `plugin` implements; PluginError for one that there is not or that does not fit."""
    found: dict[str, Callable[..., Any]] = {}
    for attribute in dir(plugin):
        options = manager.parse_hookimpl_opts(plugin, attribute)
        if options is None:
            if attribute.startswith("coevolve_") and inspect.isfunction(inspect.getattr_static(plugin, attribute)):
                fix = "is not marked with @hookimpl" if attribute in HOOKS else f"is not a hook{did_you_mean(attribute, HOOKS)}"
                raise PluginError(f"{attribute} {fix}")
            continue
        name = options.get("specname") or attribute
        if name not in HOOKS:
            raise PluginError(f"{name} is not a hook{did_you_mean(name, HOOKS)}")
        if name in found:
            raise PluginError(f"{name} is implemented twice")
        if options.get("wrapper") or options.get("hookwrapper"):
            raise PluginError(f"{attribute} is a hook wrapper; only plain hook functions are supported")
        found[name] = getattr(plugin, attribute)
        _check_arguments(name, found[name])
    if not found:
        raise PluginError("it implements no hook; mark its functions with @hookimpl")
    return found


def _check_arguments(hook: str, function: Callable[..., Any]) -> None:
    known = tuple(HOOKS[hook].parameters)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in known:
            raise PluginError(f"{hook} takes no argument {parameter.name!r}{did_you_mean(parameter.name, known)}")
        if parameter.default is not parameter.empty:
            # pluggy passes only arguments without a default.
            raise PluginError(f"{hook}: the argument {parameter.name!r} must have no default")


def components_of(hooks: Mapping[str, Callable[..., Any]]) -> Iterator[tuple[str, type[Any]]]:
    for hook, kind in COMPONENT_HOOKS.items():
        offered = hooks[hook]() if hook in hooks else []
        if not isinstance(offered, list | tuple):
            raise PluginError(f"{hook} must return a list of classes, not {type(offered).__name__}")
        seen: set[str] = set()
        for component in offered:
            _check_component(hook, kind, component)
            if component.name in seen:
                raise PluginError(f"{hook} returns two components called {component.name!r}")
            seen.add(component.name)
            yield kind, component


def _check_component(hook: str, kind: str, component: Any) -> None:
    """PluginError unless `component` is a class with a usable `name`, `Options` with defaults, and the methods of its kind."""
    if not inspect.isclass(component):
        raise PluginError(f"{hook} must return classes, not {component!r}")
    where = f"{kind} class {component.__name__}"
    name, options = getattr(component, "name", None), getattr(component, "Options", None)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise PluginError(f"{where} needs a class attribute `name` of letters, digits, - and _, found {name!r}")
    if name in RESERVED.get(kind, ()):
        raise PluginError(f"{where} cannot be called {name!r}: that word is reserved")
    if not inspect.isclass(options) or not attrs.has(options):
        raise PluginError(f"{where} needs an attrs class `Options`")
    _check_options(where, kind, options)
    protocol = KINDS[kind]
    needed = [n for n, value in vars(protocol).items() if inspect.isfunction(value) and not n.startswith("_")]
    # A class that derives from the protocol inherits its empty methods: those do not count.
    missing = [n for n in needed if not callable(getattr(component, n, None)) or getattr(component, n) is getattr(protocol, n)]
    if missing:
        raise PluginError(f"{where} lacks {', '.join(missing)} (a {kind} needs {', '.join(needed)})")
    try:
        inspect.signature(component).bind(None)
    except TypeError:
        raise PluginError(f"{where} must be made as {component.__name__}(options)") from None


def _check_options(where: str, kind: str, options: type[Any]) -> None:
    if kind not in ("signal", "validator") and "name" in attrs.fields_dict(options):
        raise PluginError(f"{where}: an option cannot be called 'name', which chooses the {kind}")
    bare = [field.name for field in attrs.fields(options) if field.init and field.default is attrs.NOTHING]
    if bare:
        raise PluginError(f"{where}: options without a default: {', '.join(bare)}")
    try:
        attrs.resolve_types(options)
        options()
    except Exception as error:
        raise PluginError(f"{where}: its default options cannot be made: {error_line(error, bare=(UserError,))}") from error
