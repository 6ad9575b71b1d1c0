"""Plugins that exist for the time of a test."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from coevolve.core import registry


@contextmanager
def registered(plugin: object) -> Iterator[registry.Registry]:
    """Make `plugin` (a module, class or object with hook functions) one of those that every run in this process loads.

    Yields a registry with it; a plugin that cannot be used is an AssertionError. Afterwards it is gone again.

        with registered(my_plugin) as plugins:
            assert plugins.component("signal", "stuck")
    """
    name = getattr(plugin, "__name__", None) or type(plugin).__name__
    before, commands, was = registry.DEFAULT_PLUGINS, registry.COMMAND_PLUGINS, sys.modules.get(name)
    sys.modules[name] = plugin  # type: ignore[assignment]
    registry.DEFAULT_PLUGINS = (*before, name)  # type: ignore[assignment]
    registry.COMMAND_PLUGINS = (*commands, name)  # type: ignore[assignment]
    try:
        loaded = registry.load_plugins()
        error = next((record.error for record in loaded.records if record.name == name), None)
        assert error is None, f"the plugin {name} cannot be used: {error}"
        yield loaded
    finally:
        registry.DEFAULT_PLUGINS = before
        registry.COMMAND_PLUGINS = commands
        if was is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = was
