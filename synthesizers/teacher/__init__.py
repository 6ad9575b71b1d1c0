"""The teacher: an LLM behind an OpenAI-compatible endpoint (or the policy itself) that explores around the agent's weaknesses.

teacher.py starts an evolution and evolution.py runs it: reflection.py, guided_exploration.py and abstraction.py, one after the other for
each assignment (assignments.py). Every request goes through teacher_client.py; parsing.py and schemas.py define the replies' shapes.
"""

from coevolve import Synthesizer, hookimpl

from .options import TeacherOptions
from .teacher import Teacher

__all__ = ["Teacher", "TeacherOptions"]


@hookimpl
def coevolve_synthesizers() -> list[type[Synthesizer]]:
    return [Teacher]
