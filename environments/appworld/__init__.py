"""AppWorld as an environment: the real engine in a Python of its own, one process for each world.

The engine, the benchmark's data and everything derived from them are made on the user's machine; none of it is part of this package.
"""

from typing import TYPE_CHECKING

from coevolve import hookimpl

if TYPE_CHECKING:
    from .environment import AppWorld


@hookimpl
def coevolve_environments() -> "list[type[AppWorld]]":
    from .environment import AppWorld

    return [AppWorld]
