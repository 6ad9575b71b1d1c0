"""The Berkeley Function Calling Leaderboard's multi-turn tasks as an environment, run without `eval` and without shared state.

The benchmark's data and simulated services are not part of this package: `assets.py` fetches them, pinned by hash.
"""

from typing import TYPE_CHECKING

from coevolve import hookimpl

if TYPE_CHECKING:
    from .environment import Bfcl


@hookimpl
def coevolve_environments() -> "list[type[Bfcl]]":
    from .environment import Bfcl

    return [Bfcl]
