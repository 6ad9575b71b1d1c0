"""What a goal works with: the user's data, random choices, and ways to write down the calls that fulfil the wish."""

import math
import random
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from attrs import frozen

from coevolve import Action

from ..script import COMPLETE
from .snapshot import PAGE, Snapshot

T = TypeVar("T")


class Unavailable(LookupError):
    """The user's data does not allow this goal."""


@frozen
class Wish:
    """A request in the user's words and the calls that fulfil it; the last one marks the task complete."""

    query: str
    actions: Sequence[Action]


@frozen
class Scene:
    """One attempt to find a goal in a user's world. `rng` decides everything that is open."""

    data: Snapshot
    rng: random.Random

    def pick(self, options: Iterable[T]) -> T:
        """One of `options`. Raises Unavailable when there are none."""
        listed = list(options)
        if not listed:
            raise Unavailable("there is nothing to choose from")
        return self.rng.choice(listed)

    def some(self, options: Iterable[T], least: int, most: int) -> list[T]:
        """Between `least` and `most` different ones of `options`, in their order. Raises Unavailable when there are fewer than `least`."""
        listed = list(options)
        if len(listed) < least:
            raise Unavailable("there is too little to choose from")
        count = self.rng.randint(least, min(most, len(listed)))
        return [listed[index] for index in sorted(self.rng.sample(range(len(listed)), count))]

    def say(self, *wordings: str) -> str:
        """One of several wordings of the same request."""
        return self.rng.choice(wordings)


def call(name: str, /, **arguments: Any) -> Action:
    """A call of `name` ("app.api"); the token is filled in when it is carried out."""
    return Action(name, arguments)


def pages(name: str, count: int, /, **arguments: Any) -> list[Action]:
    """The calls that list all `count` rows of a paged API, PAGE rows each; one call where there are none."""
    calls = []
    for page in range(max(1, math.ceil(count / PAGE))):
        at = {"page_index": page} if page else {}
        calls.append(Action(name, {**arguments, **at, "page_limit": PAGE}))
    return calls


def done(answer: Any = None) -> Action:
    """The call that marks the task complete, with the answer where the user asked for something."""
    return Action(COMPLETE, {} if answer is None else {"answer": answer})
