"""Loads plugins, one try each, and keeps a record of every one; a broken plugin takes no other down.

Our own components are plugins like any other: `DEFAULT_PLUGINS` are import paths, third parties come by entry point (group
"coevolve"). Nothing heavy is imported here, so that the command line starts at once.
"""

import copy
import fnmatch
import importlib
import importlib.metadata
import inspect
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import attrs
import pluggy

from coevolve import __version__

from . import hookspecs
from .contracts import KINDS
from .errors import TooManyFaults, UserError, did_you_mean

ENTRY_POINTS = "coevolve"
DEFAULT_PLUGINS = (
    "coevolve.environments.desk",
    "coevolve.environments.bfcl",
    "coevolve.environments.appworld",
    "coevolve.environments.appworld.leaderboard_command",
    "coevolve.signals.forgetting",
    "coevolve.signals.boundary",
    "coevolve.signals.rare",
    "coevolve.synthesizers.random",
    "coevolve.synthesizers.programmatic",
    "coevolve.synthesizers.operators",
    "coevolve.synthesizers.teacher",
    "coevolve.plugins.validators.safety",
    "coevolve.plugins.validators.minimal",
    "coevolve.plugins.validators.execution",
    "coevolve.plugins.validators.solvable",
    "coevolve.plugins.trainers.grpo",
    "coevolve.plugins.samplers.uniform",
    "coevolve.plugins.samplers.learnability",
    "coevolve.plugins.policies.transformers",
    "coevolve.plugins.policies.vllm",
    "coevolve.plugins.policies.openai",
    "coevolve.plugins.policies.scripted",
    "coevolve.plugins.executors.processes",
    "coevolve.plugins.executors.ray",
    "coevolve.plugins.reporters.live:plugin",
    "coevolve.plugins.reporters.plain:plugin",
)
COMMAND_PLUGINS = ("coevolve.environments.appworld.leaderboard_command",)
"""Those of them that add commands: the others need not be imported for `coevolve --help`."""
COMPONENT_HOOKS = {f"coevolve_{'policies' if kind == 'policy' else kind + 's'}": kind for kind in KINDS}
"""Hook name -> kind of component."""
HOOKS: dict[str, inspect.Signature] = {
    name: inspect.signature(spec) for name, spec in vars(hookspecs).items() if name.startswith("coevolve_")
}
"""Every hook that there is."""
RESERVED = {"signal": {"names"}, "validator": {"names"}, "synthesizer": {"none"}, "executor": {"threads"}}
"""Component names that mean something else in a configuration."""

log = logging.getLogger(__name__)


@attrs.frozen
class PluginRecord:
    """What became of one plugin. `components` reads "kind:name"; `error` is one line, None when the plugin works."""

    name: str
    distribution: str
    version: str
    hooks: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    error: str | None = None


@attrs.frozen
class _Source:
    """A plugin that may be loaded: `load` imports it."""

    name: str
    distribution: str
    version: str
    load: Callable[[], object]


@attrs.frozen
class _Offer:
    component: type[Any]
    record: PluginRecord


class Choice(Protocol):
    """A component's name and its options, as a configuration holds them (settings.config.Chosen)."""

    @property
    def name(self) -> str: ...

    @property
    def options(self) -> Any: ...


class PluginError(Exception):
    """A plugin that cannot be used; the text is one line."""


class Registry:
    """The loaded plugins: components by kind and name, observers to notify."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._offers: dict[tuple[str, str], list[_Offer]] = {}
        self._records: list[PluginRecord] = []
        self._silenced: set[str] = set()

    @property
    def records(self) -> tuple[PluginRecord, ...]:
        """Every plugin that was tried, in the order of loading."""
        return tuple(self._records)

    @property
    def hook(self) -> pluggy.HookRelay:
        """pluggy's own relay; `notify` is the way to call observers."""
        return self._manager.hook

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of the components of one kind, sorted."""
        return tuple(sorted(name for of, name in self._offers if of == kind))

    def component(self, kind: str, name: str) -> type[Any]:
        """The class of that name. UserError when there is none, or when several plugins offer it."""
        offers = self._offers.get((kind, name), [])
        if not offers:
            broken = sum(record.error is not None for record in self._records)
            hint = f"; broken plugins skipped: {broken}, see `coevolve plugins`" if broken else ""
            raise UserError(f"unknown {kind} {name!r}{did_you_mean(name, self.names(kind))}{hint}")
        if len(offers) > 1:
            raise UserError(self._conflict(kind, name))
        return offers[0].component

    def make(self, kind: str, chosen: "Choice") -> Any:
        """The component that a configuration chose, made with its options."""
        return self.component(kind, chosen.name)(chosen.options)

    def distribution(self, kind: str, name: str) -> str:
        """The "distribution version" of the plugin that offers a component, for a run's record of what it used."""
        self.component(kind, name)
        record = self._offers[kind, name][0].record
        return f"{record.distribution} {record.version}"

    def conflicts(self) -> tuple[str, ...]:
        """One line for each name that several plugins offer."""
        return tuple(self._conflict(*key) for key, offers in sorted(self._offers.items()) if len(offers) > 1)

    def notify(self, hook_name: str, **arguments: Any) -> None:
        """Call every observer of a hook. One that raises is logged, once a plugin; only TooManyFaults and a keyboard interrupt pass."""
        for call in reversed(getattr(self._manager.hook, hook_name).get_hookimpls()):
            # Dictionaries are the only mutable arguments: an observer gets its own copy.
            given = {name: _own(arguments[name]) for name in call.argnames}
            try:
                call.function(**given)
            except TooManyFaults:
                raise
            except (Exception, SystemExit) as error:
                if call.plugin_name not in self._silenced:
                    self._silenced.add(call.plugin_name)
                    log.exception(
                        "plugin %s failed in %s (%s); its further failures are not logged", call.plugin_name, hook_name, _line(error)
                    )

    def _conflict(self, kind: str, name: str) -> str:
        offers = self._offers[kind, name]
        culprits = " and ".join(f"{o.record.name} ({o.record.distribution} {o.record.version})" for o in offers)
        fix = " or ".join(f"--block-plugin {o.record.name}" for o in offers)
        return f"{kind} {name!r} is offered by {culprits}; choose one with {fix} (or [plugins] block = [...])"

    def _add(self, source: _Source) -> None:
        record = PluginRecord(source.name, source.distribution, source.version)
        try:
            if self._manager.has_plugin(source.name):
                raise PluginError(f"another plugin has the name {source.name!r} already")
            plugin = source.load()
            hooks = _hooks(self._manager, plugin)
            components = list(_components(hooks))
            record = attrs.evolve(record, hooks=tuple(hooks), components=tuple(f"{kind}:{c.name}" for kind, c in components))
            self._manager.register(plugin, source.name)
        except (Exception, SystemExit) as error:
            log.debug("plugin %s cannot be loaded", source.name, exc_info=True)
            self._records.append(attrs.evolve(record, hooks=(), components=(), error=_line(error)))
            return
        self._records.append(record)
        for kind, component in components:
            self._offers.setdefault((kind, component.name), []).append(_Offer(component, record))


def load_plugins(only: Sequence[str] = (), block: Sequence[str] = (), extra: Iterable[object] = ()) -> Registry:
    """Load the default plugins, those of other distributions, and the plugin objects in `extra`.

    `only` (when not empty) and `block` hold plugin names or patterns of them such as "coevolve.signals.*"; UserError for one that
    fits no plugin. What is not to be loaded is not imported.
    """
    sources = [*_default_sources(), *_entry_point_sources(), *_extra_sources(extra)]
    known = [source.name for source in sources]
    for pattern in (*only, *block):
        if not fnmatch.filter(known, pattern):
            raise UserError(f"no plugin is called {pattern!r}{did_you_mean(pattern, known)}")
    registry = Registry()
    for source in sources:
        if (not only or _matches(source.name, only)) and not _matches(source.name, block):
            registry._add(source)
    return registry


def command_hooks(only: Sequence[str] = ()) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Plugin name and hook `coevolve_commands` of each plugin that has it; no component is imported.

    `only` (when not empty) holds plugin names or patterns. A plugin that cannot be imported is skipped: `coevolve plugins` reports it.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    for source in (*_default_sources(COMMAND_PLUGINS), *_entry_point_sources()):
        if only and not _matches(source.name, only):
            continue
        try:
            hook = _hooks(manager, source.load()).get("coevolve_commands")
        except (Exception, SystemExit):
            log.debug("plugin %s cannot be loaded", source.name, exc_info=True)
            continue
        if hook is not None:
            yield source.name, hook


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _default_sources(paths: Sequence[str] = DEFAULT_PLUGINS) -> Iterator[_Source]:
    for path in paths:
        yield _Source(path.partition(":")[0], "coevolve", __version__, partial(_import, path))


def _entry_point_sources() -> Iterator[_Source]:
    for entry in sorted(importlib.metadata.entry_points(group=ENTRY_POINTS), key=lambda e: (e.name, e.value)):
        name, version = (entry.dist.name, entry.dist.version) if entry.dist else ("unknown", "unknown")
        yield _Source(entry.name, name, version, entry.load)


def _extra_sources(extra: Iterable[object]) -> Iterator[_Source]:
    for plugin in extra:
        name = getattr(plugin, "__name__", None) or type(plugin).__name__
        yield _Source(name, "in this process", "-", partial(_itself, plugin))


def _import(path: str) -> object:
    """The module of an import path, or with "module:attribute" an object in it."""
    name, _, attribute = path.partition(":")
    module = importlib.import_module(name)
    return getattr(module, attribute) if attribute else module


def _itself(plugin: object) -> object:
    return plugin


def _hooks(manager: pluggy.PluginManager, plugin: object) -> dict[str, Callable[..., Any]]:
    """The hooks that `plugin` implements; PluginError for one that there is not or that does not fit."""
    found: dict[str, Callable[..., Any]] = {}
    for attribute in dir(plugin):
        options = manager.parse_hookimpl_opts(plugin, attribute)
        if options is None:
            if attribute.startswith("coevolve_") and inspect.isfunction(inspect.getattr_static(plugin, attribute)):
                fix = "is not marked with @hookimpl" if attribute in HOOKS else f"is no hook{did_you_mean(attribute, HOOKS)}"
                raise PluginError(f"{attribute} {fix}")
            continue
        name = options.get("specname") or attribute
        if name not in HOOKS:
            raise PluginError(f"{name} is no hook{did_you_mean(name, HOOKS)}")
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


def _components(hooks: Mapping[str, Callable[..., Any]]) -> Iterator[tuple[str, type[Any]]]:
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
        raise PluginError(f"{where}: its default options cannot be made: {_line(error)}") from error


def _own(value: Any) -> Any:
    return copy.deepcopy(value) if isinstance(value, dict) else value


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, PluginError | UserError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
