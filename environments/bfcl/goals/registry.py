"""The list of goals."""

from collections.abc import Callable

from attrs import frozen

from .scene import Scene

Function = Callable[[Scene], str]


@frozen
class KnownGoal:
    """A goal as it stands in the list."""

    name: str
    owner: str
    """The class of the benchmark that it is mainly about."""
    needs: tuple[str, ...]
    """Kinds of things (`Scene.keep`) that an earlier turn must have left behind; a goal with needs is never the first turn."""
    topic: str
    """No story holds two goals of one topic."""
    also: tuple[str, ...]
    """Further classes that it calls."""
    function: Function


GOALS: dict[str, KnownGoal] = {}
"""All goals by name."""


def goal(owner: str, *, needs: tuple[str, ...] = (), topic: str = "", also: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Put a function in the list of goals.

    The function makes the calls of one user turn by `scene.call` and returns what the user writes. It raises NotHere where the world lacks
    what it needs, before or after calls: the scene is then set back.
    """

    def add(function: Function) -> Function:
        name = function.__name__
        if name in GOALS:
            raise ValueError(f"two goals are called {name}")
        GOALS[name] = KnownGoal(name, owner, needs, topic or name, also, function)
        return function

    return add
