"""The desk: a small office of 14 apps, embedded, with a tiny policy that ships with it (`pkg:coevolve.environments.desk/policy`).

The default environment. A task is a request in plain words; it takes one to four dependent calls, and success is the right final state
and the right answer. Nothing has to be fetched.
"""

from collections.abc import Sequence

from coevolve import Environment, hookimpl

from .environment import Desk, DeskOptions

__all__ = ["Desk", "DeskOptions"]


@hookimpl
def coevolve_environments() -> Sequence[type[Environment]]:
    return [Desk]
