"""The register of goals, filled by the decorator `goal` when the modules of goals are imported."""

from collections.abc import Callable

from attrs import frozen

from .scene import Scene, Wish

GoalFunction = Callable[[Scene], Wish | None]


@frozen
class GoalKind:
    """A kind of wish: the function that makes requests of this kind, and the apps that it needs."""

    make: GoalFunction
    needs: tuple[str, ...]
    """APIs without which the kind is not offered."""


GOALS: dict[str, GoalKind] = {}
"""Kinds of goals by name, in the order of registration."""


def goal(*needs: str) -> Callable[[GoalFunction], GoalFunction]:
    """Register a function as a kind of goal. Its name, with spaces, names the kind. `needs`: APIs ("app.api") that it calls.

    The function gets a Scene, and returns a Wish, or None (or raises LookupError) where the user's data does not allow this goal.
    """

    def register(function: GoalFunction) -> GoalFunction:
        name = function.__name__.replace("_", " ")
        if name in GOALS:
            raise ValueError(f"there are two goals named {name!r}")
        GOALS[name] = GoalKind(function, needs)
        return function

    return register
