"""Check that a request is one that a person would make: it says what is needed and no more, and allows one reading only. No LLM.

    [validators]
    names = ["minimal", "request", "execution", "blind_solve"]

The checks run in this order, each with a reason code of its own:

1. `tool_named`: the request names tools or arguments, or quotes a tool's document (tool_words.py);
2. `ungrounded`: a literal of the solution has no source (grounding.py);
3. `leaked`: the request states a value that its own solution finds out (leaks.py);
4. `unasked`: a lookup that nothing asks for, where the scorer demands it (unasked.py);
5. `ambiguous`: another reading that the request allows is refused by the scorer (ambiguity.py);
6. `solved_by_wrong`: a guess solves the task: a common constant as the answer, or the pool's most frequent calls.

They cost a few replays. What words and calls mean they cannot tell: whether the solution does what is asked is for "blind_solve".
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

import attrs
from attrs import field, frozen, validators

from coevolve import Action, CandidateTask, Environment, Reason, Refusal, Task, TaskPool, Verdict, hookimpl

from .ambiguity import other_reading
from .grounding import literals, ungrounded_literal
from .leaks import answer_said, leaked_value
from .replays import attempt
from .tool_words import tool_words
from .trace import traced
from .unasked import UnaskedCalls

CONSTANTS = ("yes", "no", 0, 1, "0", "1", "none", "", "done")
"""Answers that a policy could give to any question."""


@frozen
class RequestOptions:
    """Options of the validator "request"."""

    linter: bool = True
    """Whether to refuse requests that name tools or arguments, or quote their documents."""
    grounding: bool = True
    """Whether every literal of the solution needs a source: the user's messages, an earlier result, or the tool's document."""
    leaks: bool = True
    """Whether to refuse requests that state an id or a measured value which an earlier call of the solution returns."""
    unasked: bool = True
    """Whether to refuse lookups that nothing in the request asks for."""
    ambiguity: bool = True
    """Whether to replay the solution with other values that the request would allow."""
    guesses: int = field(default=8, validator=validators.ge(0))
    """Most guesses (constant answers and frequent calls) that the scorer must refuse; each costs a replay. 0: none is tried."""
    replays: int = field(default=12, validator=validators.ge(0))
    """Most replays of one candidate for each of the checks "unasked" and "ambiguous"."""
    max_completions: int = field(default=200, validator=validators.ge(1))
    """Most completions of one replay."""


class Request:
    """Accepts a candidate whose request a person could make and an agent can carry out."""

    name: ClassVar[str] = "request"
    Options: ClassVar[type] = RequestOptions

    def __init__(self, options: RequestOptions) -> None:
        self.options = options

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        try:
            self._check(candidate.task, environment, pool)
        except Refusal as refusal:
            return refusal.verdict
        except Exception as error:  # noqa: BLE001 - whatever the environment raises is an infrastructure fault, never an acceptance
            return Verdict(False, Reason.ENVIRONMENT_ERROR, f"{type(error).__name__}: {error}")
        return Verdict(True, "accepted")

    def _check(self, task: Task, environment: Environment, pool: TaskPool) -> None:
        options, limit = self.options, self.options.max_completions
        if options.linter and (found := tool_words(task.query, environment.describe().tools, task.solution)):
            raise Refusal(Reason.TOOL_NAMED, found)
        told = traced(environment, task, limit)
        if options.grounding and (found := ungrounded_literal(environment, told)):
            raise Refusal(Reason.UNGROUNDED, found)
        if options.leaks and (found := leaked_value(told) or answer_said(told)):
            raise Refusal(Reason.LEAKED, found)
        if options.unasked and (found := UnaskedCalls(environment, limit).find(task, told, options.replays)):
            raise Refusal(Reason.UNASKED, found)
        if options.ambiguity and (found := other_reading(environment, task, told, limit, options.replays)):
            raise Refusal(Reason.AMBIGUOUS, found)
        for guess in list(_guesses(task, pool))[: options.guesses]:
            tried = attempt(environment, task, guess, limit)
            if tried is not None and tried.solved:
                raise Refusal(Reason.SOLVED_BY_WRONG, f"the scorer accepts a guess: {guess[-1].name} with {dict(guess[-1].arguments)}")


def _guesses(task: Task, pool: TaskPool) -> Iterator[list[Action]]:
    """Solutions without reading the task: its last call alone with a constant answer, and the calls that are most frequent in the pool."""
    if not task.solution:
        return
    last = task.solution[-1]
    texts = [name for name, value in last.arguments.items() if isinstance(value, str | int | float) and not isinstance(value, bool)]
    if len(texts) == 1 and "answer" in texts[0].casefold():
        for constant in _constants(last.arguments[texts[0]]):
            yield [attrs.evolve(last, arguments={**last.arguments, texts[0]: constant}, turn=0)]
    known = {_key(action): action for other in pool for action in other.solution if any(literals(dict(action.arguments)))}
    calls = Counter(_key(action) for other in pool for action in other.solution if _key(action) in known)
    for key, count in calls.most_common(2):
        if count > 1:
            yield [attrs.evolve(known[key], turn=0)]


def _constants(answer: object) -> list[str | int]:
    """The constants that equal the answer, and one text and one number that do not: a scorer that accepts these accepts any answer.

    The others need no replay. A count of two or more is not among the constants; an answer of 0 or 1, or "yes", can be guessed.
    """
    equal = [constant for constant in CONSTANTS if str(constant).casefold() == str(answer).strip().casefold()]
    others = [constant for constant in ("done", 0, 1) if constant not in equal]
    return [*equal, *others[:2]]


def _key(action: Action) -> tuple[str, str]:
    return action.name, json.dumps(dict(action.arguments), sort_keys=True, default=str)


@hookimpl
def coevolve_validators() -> list[type[Request]]:
    return [Request]
