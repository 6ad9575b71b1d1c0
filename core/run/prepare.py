"""From the sources of settings to the plugins that they allow and the resolved configuration."""

import sys
from collections.abc import Sequence

from ..registry import Registry, load_plugins
from ..settings.config import Config, plugin_choice, resolve
from ..settings.sources import SettingSource, option_source
from ..text import printable


def prepare(sources: Sequence[SettingSource], block: Sequence[str] = ()) -> tuple[Config, Registry]:
    """The resolved configuration and the loaded plugins; those in `block` (`--block-plugin`) are blocked as well."""
    if block:
        sources = [*sources, option_source("--block-plugin", "plugins.block", [*plugin_choice(sources).block, *block])]
    registry = load_allowed(sources)
    return resolve(registry, sources), registry


def load_allowed(sources: Sequence[SettingSource]) -> Registry:
    """Load the plugins that the settings allow. Prints a line on stderr for each broken one."""
    choice = plugin_choice(sources)
    registry = load_plugins(only=choice.only, block=choice.block)
    for record in registry.records:
        if record.error:
            print(printable(f"coevolve: plugin {record.name} is broken and was skipped: {record.error}"), file=sys.stderr)
    return registry
