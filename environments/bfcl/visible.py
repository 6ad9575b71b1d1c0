"""The services' state as plain JSON values, for people who read a task: folders by name with a slash, files by their text."""

from collections.abc import Mapping
from typing import Any


def visible_state(instances: Mapping[str, Any]) -> dict[str, Any]:
    """Public attributes by class; of the file system also the path of the current folder. Other objects by their class."""
    found = {}
    for owner, instance in instances.items():
        shown = {name: _plain(value) for name, value in vars(instance).items() if not name.startswith("_") and name != "long_context"}
        if hasattr(instance, "_current_dir"):
            shown["current folder"] = _path(instance._current_dir)
        found[owner] = shown
    return found


def _path(directory: Any) -> str:
    names: list[str] = []
    while directory is not None:
        names.append(directory.name)
        directory = directory.parent
    return "/".join(reversed(names))


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(inner) for inner in value), key=str)
    if hasattr(value, "contents"):
        return {f"{name}/" if hasattr(inner, "contents") else name: _plain(inner) for name, inner in value.contents.items()}
    return value.content if hasattr(value, "content") else f"<{type(value).__name__}>"
