"""Reflection: the teacher turns a signal and its trajectories into an exploration context (paper, section 3)."""

from collections.abc import Sequence

from coevolve import ExplorationContext, RolloutGroup

from . import schemas
from .assignments import Assignment
from .evidence import evidence
from .parsing import read_reflection
from .prompts import Prompts
from .questions import Questions
from .replies import Reflection


async def reflect(questions: Questions, prompts: Prompts, assignment: Assignment, others: Sequence[RolloutGroup]) -> Reflection | None:
    """The teacher's reflection on a signal; None without a signal, and where no reply can be read. Raises TeacherFault."""
    if assignment.signal is None:
        return None
    room = prompts.room(prompts.reflect(assignment.signal, ""))
    messages = prompts.reflect(assignment.signal, evidence(assignment.signal, assignment.groups, others, room))
    return await questions.ask("reflect", "", messages, schemas.REFLECTION, read_reflection)


def context_of(assignment: Assignment, reflection: Reflection | None) -> ExplorationContext:
    """The exploration context, as it is stored with the candidate tasks."""
    if reflection is None:
        weakness = "none: exploration at random" if assignment.signal is None else "unknown: no reflection could be read"
        return ExplorationContext(assignment.signal, weakness)
    weakness = f"{reflection.weakness} (why: {reflection.why})" if reflection.why else reflection.weakness
    return ExplorationContext(assignment.signal, weakness, tuple(dict.fromkeys(reflection.tries)))
