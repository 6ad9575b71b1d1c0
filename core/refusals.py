"""Why a candidate task was refused: one reason code for each cause, shared by synthesizers, the loop and the validators.

docs/architecture.md lists the codes. A third-party validator may use codes of its own: `Verdict.reason` is any string.
"""

from enum import StrEnum

from .model import Verdict


class Reason(StrEnum):
    """Reason codes of refused candidates. Those up to ENVIRONMENT_ERROR come from validators, the rest from a teacher's replies."""

    MALFORMED = "malformed"
    """The task has no query, no solution, another environment, an id that is taken, or values that are not JSON."""
    DUPLICATE_TEXT = "duplicate_text"
    """Its text nearly matches a task of the pool that begins in the same state."""
    HELD_OUT_TEXT = "held_out_text"
    """Its text nearly matches a held-out task."""
    CALL_FAILED = "call_failed"
    """A call of the solution failed, or the solution could not be carried out to its end."""
    REPLAY_DIFFERS = "replay_differs"
    """Two replays gave different observations or end states."""
    NOT_SOLVED = "not_solved"
    """The scorer does not accept the solution."""
    MISUNDERSTOOD = "misunderstood"
    """A policy that read only the request did something else in too many of its attempts."""
    UNGROUNDED = "ungrounded"
    """A literal of the solution occurs neither in the request nor in an earlier result."""
    TOOL_NAMED = "tool_named"
    """The request names a tool or an argument, or quotes a tool's document."""
    LEAKED = "leaked"
    """The request states a value that a call of its own solution finds out."""
    UNASKED = "unasked"
    """Nothing in the request asks for a lookup of the solution, and no later call needs it."""
    AMBIGUOUS = "ambiguous"
    """The request allows another reading, which the scorer refuses."""
    NO_EFFECT = "no_effect"
    """The solution changes nothing and tells nothing that the request does not say."""
    DUPLICATE_ACTIONS = "duplicate_actions"
    """Its solution makes the same calls as a task of the pool."""
    DUPLICATE_END_STATE = "duplicate_end_state"
    """It ends like a task of the pool and asks for nothing more."""
    HELD_OUT_ACTIONS = "held_out_actions"
    """Its solution makes the same calls as a held-out task."""
    HELD_OUT_END_STATE = "held_out_end_state"
    """It ends like a held-out task and asks for nothing more."""
    HELD_OUT_FAMILY = "held_out_family"
    """It belongs to a family of tasks that the held-out split keeps for itself."""
    SOLVED_BY_NOTHING = "solved_by_nothing"
    """The scorer accepts an episode without a call."""
    SOLVED_BY_WRONG = "solved_by_wrong"
    """The scorer accepts a wrong solution."""
    DROPPABLE_CALL = "droppable_call"
    """The scorer accepts the solution without one of its calls."""
    TOO_EASY = "too_easy"
    """The policy in training solves it too often already."""
    TOO_HARD = "too_hard"
    """The policy in training solves it too rarely to learn from it."""
    HARMFUL = "harmful"
    """The request asks for harm."""
    ENVIRONMENT_ERROR = "environment_error"
    """The environment or a service failed: an infrastructure fault, which proves nothing about the task."""

    UNREADABLE = "unreadable"
    """The reply holds nothing that looks like a candidate; the only reason to send the same request again."""
    NONE = "none"
    """The reply states that it has no candidate."""
    CUT_OFF = "cut_off"
    """The reply ends before the candidate does; what is missing is never guessed."""
    BROKEN_JSON = "broken_json"
    """The candidate's text cannot be read without guessing."""
    NOT_AN_OBJECT = "not_an_object"
    """A text or a number stands where a candidate should be."""
    NO_QUERY = "no_query"
    """The candidate, or one of its turns, has no request."""
    BAD_TEXT = "bad_text"
    """An intent, query or request is not a text, has characters that cannot be stored, or is longer than any user's request."""
    NO_SOLUTION = "no_solution"
    """The candidate has no solution."""
    BAD_SOLUTION = "bad_solution"
    """Something in the solution is neither the number of a step nor a call, or there is too much of it."""
    REPEATED = "repeated"
    """The reply holds the same candidate before."""
    TOO_MANY = "too_many"
    """The reply holds more candidates than are taken from one reply."""
    UNKNOWN_STEP = "unknown_step"
    """The solution names a step that was not explored."""
    FAILED_STEP = "failed_step"
    """The solution names a step that failed when it was explored."""
    UNKNOWN_TOOL = "unknown_tool"
    """The solution calls a tool that does not exist."""
    BAD_ARGUMENTS = "bad_arguments"
    """A call's arguments do not fit the tool's schema."""
    NOT_COMPOSABLE = "not_composable"
    """The environment cannot make a task of the calls."""


WORDING = frozenset({Reason.MISUNDERSTOOD, Reason.AMBIGUOUS, Reason.UNGROUNDED, Reason.LEAKED, Reason.TOOL_NAMED})
"""Reasons that lie in the wording of a request: another request for the same solution may be accepted."""
REPAIRABLE = WORDING | {
    Reason.CALL_FAILED, Reason.REPLAY_DIFFERS, Reason.DROPPABLE_CALL, Reason.NO_EFFECT, Reason.SOLVED_BY_NOTHING, Reason.TOO_EASY,
    Reason.TOO_HARD,
}  # fmt: skip
"""Reasons that a small change may remove, in the wording or in the solution: the loop asks the synthesizer (`optional.Repairs`)."""


class Refusal(Exception):
    """A candidate is refused for `reason`; `detail` names the particulars. Raise it where a check fails, turn it into a verdict once."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason, self.detail = reason, detail

    @property
    def verdict(self) -> Verdict:
        """The rejecting verdict for the store."""
        return Verdict(False, self.reason, self.detail)
