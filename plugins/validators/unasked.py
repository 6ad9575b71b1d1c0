"""Find a call that nothing in the request asks for and that no later call needs.

Where the scorer demands every result, an agent that does what is asked can never solve such a task. The check is moderate, because people
ask for things in words of their own. It looks only at turns with several calls. A call counts as unasked when it takes nothing from an
earlier result, no later call needs it, and the turn has no word of it, while the other calls of the turn account for what the turn says.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from coevolve import Environment, Task, Tool, play

from .equivalence import words
from .grounding import SpokenText, literals
from .replays import attempt, failure
from .similarity import text_of
from .trace import Trace, TracedCall

_WEAK = """
get set show display list find check view folder directory file files
retrieve return returns given specified current user users information info details
detail
name value number all any the this that from with and for into use used using make made its based specific tool api call by of data
add new put take first last one two
"""
_COMMON = frozenset(_WEAK.split())
"""Words that say little about which tool is meant."""
_SYNONYMS = (
    "contents content there here inside what everything",
    "cash money balance funds account budget",
    "space size disk usage big large",
    "people contacts everyone somebody who friends colleagues",
    "cost price fare expensive rate quote",
    "warm hot cold temperature degrees weather",
    "gas fuel tank petrol",
    "song track tune",
    "tweets posted posts post wrote written tweet",
    "read say says text look",
    "far distance away miles",
    "status state condition look",
    "time clock oclock",
    "fly flight flights",
    "compare differ differs difference diff changed",
    "mean average",
)
"""Words that people use for each other in requests for lookups."""
_CONDITION = re.compile(r"\b(if|unless|otherwise|whether|depending|in case|under|below|above|over|as long as|provided)\b", re.IGNORECASE)
"""Words that make one thing depend on another."""
_GROUPS = tuple(frozenset(line.split()) for line in _SYNONYMS)


@define
class UnaskedCalls:
    """Finds calls that nobody asked for in one environment's tasks. `limit`: most completions of one replay."""

    environment: Environment
    limit: int
    _tools: Mapping[str, Tool] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._tools = {tool.name: tool for tool in self.environment.describe().tools}

    def find(self, task: Task, told: Trace, replays: int) -> str | None:
        """Describe the first unasked call; None when there is none. Plays at most `replays` shorter solutions."""
        for place, call in enumerate(told.calls):
            beside = [other for other in told.calls if other.turn == call.turn and other is not call]
            if (
                call.index is None
                or call.ends
                or not beside
                or _takes(told, place)
                or supplies(told, place)
                or self._evidence(told, call, beside)
            ):
                continue
            if not any(self._evidence(told, other, [call]) for other in beside):
                continue  # no call of the turn is worded, so the words are of another kind
            if replays <= 0:
                return None
            replays -= 1
            if self._is_idle(task, call.index):
                return f"nothing asks for {call.action.name}, call {place + 1} of {len(told.calls)}, and no other call needs it"
        return None

    def _is_idle(self, task: Task, index: int) -> bool:
        """Whether the other calls succeed without this one, and return the same."""
        rest = [*task.solution[:index], *task.solution[index + 1 :]]
        right = play(self.environment, task, self.environment.script(task.solution)[: self.limit])
        tried = attempt(self.environment, task, rest, self.limit)
        if tried is None or failure(tried, len(rest)) is not None:
            return False
        results = [step.result for step in right.own_steps]
        return [step.result for step in tried.own_steps] == [*results[:index], *results[index + 1 :]]

    def _evidence(self, told: Trace, call: TracedCall, beside: Sequence[TracedCall]) -> bool:
        """Whether the turn has a word of the tool, or a value of the call that no other call of the turn takes."""
        text = told.asks(call.turn)
        said = _content(text)
        tool = self._tools.get(call.action.name)
        names = [name for name, value in call.action.arguments.items() if not isinstance(value, bool)]
        own = _content(" ".join([call.action.name, *names, tool.description.partition(". ")[0] if tool else ""]))
        if any(_alike(word, other) for word in own for other in said):
            return True
        if _CONDITION.search(text) and isinstance(call.step.result, Mapping):
            shown = _content(" ".join(str(key) for key in call.step.result))
            if any(_alike(word, other) for word in shown for other in said):
                return True  # the turn makes something depend on what the call shows
        spoken = SpokenText()
        spoken.ask(text)
        others = [value for other in beside for value in literals(dict(other.action.arguments))]
        values = [value for value in literals(dict(call.action.arguments)) if spoken.states(value)]
        if any(value not in others for value in values):
            return True
        together = [list(literals(dict(other.action.arguments))) for other in beside]
        return len(values) > 1 and not any(all(value in taken for value in values) for taken in together)


def _takes(told: Trace, place: int) -> bool:
    """Whether the call takes a value that an earlier call returned and the user did not say before."""
    call, returned, said = told.calls[place], SpokenText(), SpokenText()
    for earlier in told.calls[:place]:
        returned.add(earlier.step.observation)
    said.add(told.said(call.turn))
    return any(returned.contains(value) and not said.contains(value) for value in literals(dict(call.action.arguments)))


def supplies(told: Trace, place: int) -> bool:
    """Whether a later call takes a value that this call returned, or that is computed from it, and that the user did not say before."""
    for later in told.calls[place + 1 :]:
        said, known = SpokenText(), SpokenText()
        said.ask(told.said(later.turn))
        known.ask(told.said(later.turn))
        known.add(told.calls[place].step.observation)
        if any(_gives(known, said, value) for value in literals(dict(later.action.arguments))):
            return True
    return False


def _gives(known: SpokenText, said: SpokenText, value: Any) -> bool:
    if isinstance(value, int | float):
        return known.states(value) and not said.states(value)
    return known.contains(value) and not said.contains(value)


def _content(text: str) -> set[str]:
    return {word for word in words(" ".join(text_of(re.sub(r"[_.]", " ", text)).content)) if word not in _COMMON}


def _alike(first: str, second: str) -> bool:
    """Whether two words have one stem, or people use them for each other."""
    if first == second or (min(len(first), len(second)) >= 4 and first[:4] == second[:4]):
        return True
    return any(first in group and second in group for group in _GROUPS)
