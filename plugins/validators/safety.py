"""The safety filter: refuse requests that ask for harm, by a list of patterns and, if one is configured, a moderation endpoint.

    [validators]
    names = ["safety", "minimal", "execution"]

    [validators.safety]
    patterns = ['\\bwire\\b.*\\boffshore\\b']

    [validators.safety.moderation]
    base_url = "https://api.openai.com/v1"

The filter only refuses. A candidate that passes it must still pass the other validators.
"""

import re
from collections.abc import Sequence
from typing import ClassVar

from attrs import Attribute, field, frozen

from coevolve import CandidateTask, Environment, Journal, Reason, Services, Task, TaskPool, UserError, Verdict, hookimpl, one_line
from coevolve.endpoint import Failed, check_packages

from .harm import Patterns
from .moderation import ModerationOptions, moderate


def _expressions(instance: object, attribute: "Attribute[tuple[str, ...]]", value: tuple[str, ...]) -> None:
    for text in value:
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"'patterns' must be regular expressions: {text!r}: {error}") from None


@frozen
class SafetyOptions:
    """Options of the validator "safety"."""

    defaults: bool = True
    """Whether the patterns of harm.py are used. On by default; harm.py says what they miss."""
    patterns: tuple[str, ...] = field(default=(), validator=_expressions)
    """Further regular expressions to refuse, searched for in the request; case does not matter. None by default."""
    moderation: ModerationOptions = field(factory=ModerationOptions)
    """The endpoint that is asked about candidates which no pattern refuses. By default no endpoint is asked."""


class Safety:
    """Refuses candidates whose query or intent asks for harm."""

    name: ClassVar[str] = "safety"
    Options: ClassVar[type] = SafetyOptions

    def __init__(self, options: SafetyOptions) -> None:
        if options.moderation.base_url:
            check_packages(options.moderation.TABLE, "openai")
        self.options = options
        self._patterns = Patterns(options.defaults, options.patterns)
        self._journal: Journal | None = None

    def bind_services(self, services: Services) -> None:
        """Receive the journal of teacher calls; only the moderation endpoint needs it."""
        self._journal = services.journal

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        task = candidate.task
        text = task.query if task.intent in task.query else f"{task.query}\n\n{task.intent}"
        if found := self._patterns.find(text):
            return Verdict(False, Reason.HARMFUL, found)
        if self.options.moderation.base_url:
            return self._moderated(task, text)
        return Verdict(True, "accepted")

    def _moderated(self, task: Task, text: str) -> Verdict:
        options, iteration = self.options.moderation, task.origin.iteration
        if self._journal is None:
            raise UserError('validator "safety" needs bind_services before it asks a moderation endpoint')
        try:
            found = moderate(options, self._journal, f"{iteration}/moderate/{task.id}", iteration, text)
        except Failed as error:
            self._journal.notify(f"the moderation endpoint did not answer: {error}")
            if options.fail_closed:
                return Verdict(False, Reason.ENVIRONMENT_ERROR, f"moderation: {error}")
            return Verdict(True, "accepted", f"not moderated: {error}")
        return Verdict(False, Reason.HARMFUL, f"moderation: {one_line(', '.join(found), 200)}") if found else Verdict(True, "accepted")


@hookimpl
def coevolve_validators() -> list[type[Safety]]:
    return [Safety]
