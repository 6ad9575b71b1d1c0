"""What a teacher can want, as read from its replies, and the reason codes for what comes to nothing."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from attrs import frozen

Queries = Literal["teacher", "environment"]


class Reason(StrEnum):
    """Why nothing came of a candidate, or of a whole reply."""

    UNREADABLE = "unreadable"
    """The reply holds nothing that looks like a candidate; the only reason to ask the same again."""
    NONE = "none"
    """The reply says that there is no candidate."""
    CUT_OFF = "cut_off"
    """The reply ends before the candidate does; what is missing is never guessed."""
    BROKEN_JSON = "broken_json"
    """The candidate's text cannot be read, or only by guessing."""
    NOT_AN_OBJECT = "not_an_object"
    """A text or a number where a candidate should be."""
    NO_QUERY = "no_query"
    BAD_TEXT = "bad_text"
    """An intent, query or request that is no text, has characters that cannot be stored, or is longer than any user's request."""
    NO_SOLUTION = "no_solution"
    BAD_SOLUTION = "bad_solution"
    """Something in the solution is neither the number of a step nor a call, or there is too much of it."""
    REPEATED = "repeated"
    """The same candidate stands in the reply before."""
    TOO_MANY = "too_many"
    """More candidates than are taken from one reply."""
    UNKNOWN_STEP = "unknown_step"
    """A number of a step that was not explored."""
    FAILED_STEP = "failed_step"
    """A step that failed when it was explored."""
    UNKNOWN_TOOL = "unknown_tool"
    BAD_ARGUMENTS = "bad_arguments"
    """A call's arguments do not fit the tool's schema."""
    CALL_FAILED = "call_failed"
    """A call of the solution failed in a fresh episode, or was carried out as another call."""
    NOT_COMPOSABLE = "not_composable"
    """The environment makes no task of the calls."""
    ENVIRONMENT_ERROR = "environment_error"
    """The environment failed, which proves nothing about the candidate."""


def code_of(reason: str) -> str:
    """The code that a reason begins with."""
    return reason.partition(":")[0]


@frozen
class Reflection:
    """What the teacher makes of a weakness."""

    weakness: str
    """Where it goes wrong."""
    why: str
    tries: tuple[str, ...]
    """What to try."""
    variant: str
    """What a variant of the task would need."""


@frozen
class WantedStep:
    """The next action of an exploration; `tool` None ends it."""

    thought: str
    tool: str | None
    arguments: Mapping[str, Any]


@frozen
class Call:
    """A call that a candidate spells out."""

    tool: str
    arguments: Mapping[str, Any]


Part = int | Call
"""One call of a solution: the number of an explored step, from 1, or the call itself."""


@frozen
class Turn:
    """What the user asks for in one turn, and the calls that do it."""

    request: str
    solution: tuple[Part, ...]


@frozen
class Wanted:
    """A candidate as the teacher wants it, not yet executed. With `turns`, query and solution are theirs, joined."""

    intent: str
    query: str
    solution: tuple[Part, ...]
    turns: tuple[Turn, ...] = ()
