"""A world in which goals are tried."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from attrs import define, field, frozen

from ..decode import Call
from ..simulated_apis import SimulatedApis
from .refused import soft_failure

Chosen = TypeVar("Chosen")
Wording = str | tuple[str, str]
"""What a user writes, alone or with the facts that it tells, "trip=business weather=cold"."""


_LOOK_UPS = ("get_", "list_", "view_", "find_", "check_", "search_", "estimate_", "display", "cat", "wc", "grep", "sort", "tail", "diff")


class NotHere(Exception):
    """This world lacks what a goal needs; the goal is not offered here."""


@frozen
class Turn:
    """One user turn: the goal's name, what the user writes, and the calls that fulfil it."""

    goal: str
    text: str
    calls: tuple[Call, ...]
    omission: tuple[str, str] | None = None
    """The text without a value that the agent must ask for, and the user's answer to the question."""


@define
class Scene:
    """A copy of a world, what was done in it so far, and the dice. A goal may change the world by `call` only."""

    world: SimulatedApis
    rng: random.Random
    turns: list[Turn] = field(factory=list)
    """The turns that are finished."""
    things: dict[str, list[dict[str, Any]]] = field(factory=dict)
    """Kind -> what earlier turns left behind (an order, a file, a booking), the newest last."""
    facts: dict[str, str] = field(factory=dict)
    """What the wordings so far tell about the user's life, such as trip: business; see `suppose`."""
    told: set[str] = field(factory=set)
    """What the user knows by now or asked already, by goals' topics; no story asks for the same twice."""
    calls: list[Call] = field(factory=list)
    """The calls of the turn in progress."""
    omission: tuple[str, str] | None = None
    """See `leave_out`, for the turn in progress."""
    before: tuple[Call, ...] = ()
    """Calls that fulfilled the turns before the story."""
    shown: list[tuple[Call, str]] = field(factory=list)
    """The calls so far, with the results that the conversation has shown."""

    @property
    def first(self) -> bool:
        """Whether this is the user's first turn."""
        return not self.turns and not self.before

    def service(self, owner: str) -> Any:
        """The instance of a class, to look at: `scene.service("TradingBot").stocks`. Raises NotHere where the task does not involve it."""
        if owner not in self.world.instances:
            raise NotHere(owner)
        return self.world.instances[owner]

    def has(self, owner: str) -> bool:
        """Whether the task involves a class."""
        return owner in self.world.instances

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Make a call of the solution and return its result. Raises NotHere when it fails, also when the result says so politely, and
        when it looks up what an earlier result has shown."""
        call = Call(name, arguments)
        result = self.world.execute(call)
        asked = name.endswith("_login_status")  # "not logged in" answers the question
        if result.error is not None or (soft_failure(result.value) and not asked):
            raise NotHere(f"{call}: {result.text}")
        if looks_up(call):
            self.need(all(result.text != text for _, text in self.shown))  # the scorer misses no result that it has seen
        self.shown.append((call, result.text))
        self.calls.append(call)
        return result.value

    def peek(self, name: str, /, **arguments: Any) -> Any:
        """The result that a call would have, without making it. Raises NotHere when it would fail."""
        saved = self.world.save()
        try:
            result = self.world.execute(Call(name, arguments))
        finally:
            self.world.load(saved)
        if result.error is not None or soft_failure(result.value):
            raise NotHere(f"{name}: {result.text}")
        return result.value

    def pick(self, options: Iterable[Chosen]) -> Chosen:
        """One of the options at random. Raises NotHere when there is none."""
        found = list(options)
        if not found:
            raise NotHere("nothing to choose from")
        return self.rng.choice(found)

    def chance(self, share: float) -> bool:
        """True in that share (0 to 1) of the cases."""
        return self.rng.random() < share

    def need(self, condition: object) -> None:
        """Raise NotHere unless the condition holds."""
        if not condition:
            raise NotHere("a condition does not hold")

    def suppose(self, **facts: str) -> None:
        """Tell something about the user's life (trip="business"). Raises NotHere where the story has told otherwise."""
        self.need(not self._contradicts(facts))
        self.facts.update(facts)

    def _contradicts(self, facts: Mapping[str, str]) -> bool:
        return any(self.facts.get(name, value) != value for name, value in facts.items())

    def say(self, *wordings: Wording) -> str:
        """One of several wordings of the same request.

        A wording may come with the facts that it tells: ("My boss pays.", "trip=business"). Those that contradict the story are left out;
        raises NotHere when none is left.
        """
        told = [(words, {}) if isinstance(words, str) else (words[0], _facts(words[1])) for words in wordings]
        text, facts = self.pick((text, facts) for text, facts in told if not self._contradicts(facts))
        self.facts.update(facts)
        return text

    def leave_out(self, text: str, answer: str) -> None:
        """Offer another form of this turn: `text` lacks a value that cannot be guessed; `answer` is what the user says when asked."""
        self.omission = text, answer

    def keep(self, kind: str, **facts: Any) -> None:
        """Leave a thing behind that goals of later turns can take up, with what they must know of it."""
        self.things.setdefault(kind, []).append(facts)

    def last(self, kind: str) -> dict[str, Any]:
        """The newest thing of a kind that an earlier turn left behind. Raises NotHere when there is none."""
        if not self.things.get(kind):
            raise NotHere(f"no {kind} so far")
        return self.things[kind][-1]

    def called(self, *names: str) -> bool:
        """Whether an earlier turn, or this one so far, made a call of one of these functions."""
        return any(call.name in names for call in [*self.earlier(), *self.calls])

    def just(self, *goals: str) -> bool:
        """Whether the turn before this one was one of these goals, so that "then" and "that" are understood."""
        return bool(self.turns) and self.turns[-1].goal in goals

    def earlier(self) -> list[Call]:
        """The calls of all turns before this one."""
        return [*self.before, *(call for turn in self.turns for call in turn.calls)]


def looks_up(call: Call) -> bool:
    """Whether a call only looks something up, so that nobody makes it again while its result is known."""
    return call.name.startswith(_LOOK_UPS)


def _facts(written: str) -> dict[str, str]:
    """Facts as a wording names them.

    >>> _facts("trip=business weather=cold")
    {'trip': 'business', 'weather': 'cold'}
    """
    return dict(pair.split("=") for pair in written.split())


def joined(words: Sequence[str], last: str = "and") -> str:
    """A list as people write it.

    >>> joined(["a", "b", "c"]), joined(["a"])
    ('a, b and c', 'a')
    """
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)
