"""The desk: a small built-in office of 14 apps, and a tiny policy for it (`pkg:coevolve.environments.desk/policy`).

The default environment. A task is a request in plain words; it takes one to four dependent calls, and success is the right final state
and the right answer. Nothing needs to be fetched.
"""

from collections.abc import Sequence

from coevolve import Environment, hookimpl

from .environment import Desk, DeskOptions

__all__ = ["Desk", "DeskOptions"]


@hookimpl
def coevolve_environments() -> Sequence[type[Environment]]:
    return [Desk]
