"""The teacher: an LLM behind an OpenAI-compatible endpoint (or the policy itself) that explores around the agent's weaknesses.

teacher.py begins an evolution, evolution.py carries it through: reflection.py, exploration.py, abstraction.py, one after the other for each
assignment (assignments.py). client.py is the one way to ask; parsing.py and schemas.py know the replies' shapes.
"""

from coevolve import Synthesizer, hookimpl

from .options import TeacherOptions
from .teacher import Teacher

__all__ = ["Teacher", "TeacherOptions"]


@hookimpl
def coevolve_synthesizers() -> list[type[Synthesizer]]:
    return [Teacher]
