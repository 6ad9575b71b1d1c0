"""Loads plugins, one try each, and keeps a record of every one; a broken plugin takes no other down.

Our own components are plugins like any other: `DEFAULT_PLUGINS` are import paths, third parties come by entry point (group
"coevolve"). Nothing heavy is imported here, so that the command line starts at once.
"""

import copy
import fnmatch
import importlib
import importlib.metadata
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

import attrs
import pluggy

from . import hookspecs
from .errors import TooManyFaults, UserError, did_you_mean
from .plugin_checks import PluginError, components_of, hooks_of
from .text import error_line
from .version import __version__

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
    "coevolve.plugins.validators.request",
    "coevolve.plugins.validators.blind_solve",
    "coevolve.plugins.validators.frontier",
    "coevolve.plugins.trainers.grpo",
    "coevolve.plugins.samplers.uniform",
    "coevolve.plugins.samplers.learnability",
    "coevolve.plugins.samplers.mixed",
    "coevolve.plugins.samplers.plr",
    "coevolve.plugins.samplers.learning_progress",
    "coevolve.plugins.samplers.thompson",
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
log = logging.getLogger(__name__)
_line = partial(error_line, bare=(PluginError, UserError))


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
            hooks = hooks_of(self._manager, plugin)
            components = list(components_of(hooks))
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
    sources = [*_import_sources(DEFAULT_PLUGINS), *_entry_point_sources(), *_extra_sources(extra)]
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
    for source in (*_import_sources(COMMAND_PLUGINS), *_entry_point_sources()):
        if only and not _matches(source.name, only):
            continue
        try:
            hook = hooks_of(manager, source.load()).get("coevolve_commands")
        except (Exception, SystemExit):
            log.debug("plugin %s cannot be loaded", source.name, exc_info=True)
            continue
        if hook is not None:
            yield source.name, hook


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _import_sources(paths: Sequence[str]) -> Iterator[_Source]:
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


def _own(value: Any) -> Any:
    return copy.deepcopy(value) if isinstance(value, dict) else value
