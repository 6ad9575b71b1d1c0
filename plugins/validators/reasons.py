"""Why a candidate was refused: the codes of this folder's validators (docs/architecture.md, "Rejections")."""

from enum import StrEnum


class Reason(StrEnum):
    """Why a candidate was refused."""

    MALFORMED = "malformed"
    """No query, no solution, another environment, an id that is taken, or values that are not JSON."""
    DUPLICATE_TEXT = "duplicate_text"
    HELD_OUT_TEXT = "held_out_text"
    CALL_FAILED = "call_failed"
    """A call of the solution failed, or the solution could not be carried out to its end."""
    REPLAY_DIFFERS = "replay_differs"
    """Two replays gave other observations or another end state."""
    NOT_SOLVED = "not_solved"
    """The scorer does not accept the solution."""
    UNGROUNDED = "ungrounded"
    """A literal of the solution comes from nowhere (option `grounding`)."""
    NO_EFFECT = "no_effect"
    """The solution changes nothing and tells nothing that the request does not say."""
    DUPLICATE_ACTIONS = "duplicate_actions"
    DUPLICATE_END_STATE = "duplicate_end_state"
    """Also: what a known task does, with calls more or less that neither request asks for (sameness.py)."""
    HELD_OUT_ACTIONS = "held_out_actions"
    HELD_OUT_END_STATE = "held_out_end_state"
    HELD_OUT_FAMILY = "held_out_family"
    SOLVED_BY_NOTHING = "solved_by_nothing"
    SOLVED_BY_WRONG = "solved_by_wrong"
    DROPPABLE_CALL = "droppable_call"
    """The scorer accepts the solution without one of its calls (option `drop_all`)."""
    HARMFUL = "harmful"
    """The request asks for harm (safety.py)."""
    ENVIRONMENT_ERROR = "environment_error"
    """The environment or a service failed: an infrastructure fault, which proves nothing about the task."""


class Refused(Exception):
    """Ends a validation with its reason."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail
