"""The parsed contents of a teacher's replies: a reflection, the next call of an exploration, candidate tasks."""

from collections.abc import Mapping
from typing import Any, Literal

from attrs import frozen

Queries = Literal["teacher", "environment"]
"""Who writes a candidate's request."""


@frozen
class Reflection:
    """The teacher's analysis of a weakness. All fields are one paragraph of text."""

    weakness: str
    """Where the agent goes wrong."""
    why: str
    """The likely cause."""
    tries: tuple[str, ...]
    """What to try in the environment."""
    variant: str
    """What a variant of the task must need."""


@frozen
class NextStep:
    """The next action of an exploration. `tool` is None where the teacher ends the round."""

    thought: str
    tool: str | None
    arguments: Mapping[str, Any]


@frozen
class Call:
    """A call that a candidate's solution writes out."""

    tool: str
    arguments: Mapping[str, Any]


Part = int | Call
"""One call of a solution: the number of an explored step, counted from 1, or the call itself."""


@frozen
class CandidateTurn:
    """One user turn of a candidate: the request, and the calls that fulfil it."""

    request: str
    solution: tuple[Part, ...]


@frozen
class Candidate:
    """A candidate task as the reply describes it, before any of its calls is carried out.

    Where it has `turns`, `query` and `solution` join those of the turns.
    """

    intent: str
    query: str
    solution: tuple[Part, ...]
    turns: tuple[CandidateTurn, ...] = ()
