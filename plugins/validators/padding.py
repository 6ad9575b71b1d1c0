"""A known task with useless calls put in or left out, which no key tells: the actions differ, and where results count so does the end.

Two tasks are the same but for padding when they begin in the same state, have half of the shorter solution's calls in common, and

- one holds all calls of the other, whose scorer accepts its solution; or both end in the same state, which they have changed;
- and neither request has words of its own for a call that only its own solution has.

So a paraphrase with a lookup thrown in is no new task, and a request that is one lookup longer is: it says what the lookup is for. A word
is a request's own when the other one has none like it. Own words are for a call when one of them stands in an argument, or two resemble
words of the tool's name or of its document's first sentence that few tools share ("headlights", not "current" or "user"). Where the
shorter request has no words of its own, three of the longer one's are enough.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable

from attrs import define, field, frozen

from coevolve import Action, Environment, Task

from .grounding import literals
from .replays import Replay, replay
from .similarity import Text

RESEMBLANCE = 0.9
"""Jaro-Winkler similarity from which two words are forms of one, as "check" and "checking" are, and "present" and "pressure" are not."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+(?:\.\d+)?")
_LEAST = 3
"""Letters of a word that can speak of a call."""
_ENOUGH = 2
"""Words that speak of a call together, where its document has so many that tell: one alone may be a synonym of what was said before."""
_MUCH = 3
"""Words of its own from which the longer request says more, when the shorter one says nothing that the longer does not."""
_COURTESY = "much appreciate appreciated great grateful glad help helpful cheers mind good kind hello next right one"
COURTESY = frozenset(_COURTESY.split())
"""Words that say nothing of a task, beside the fillers of similarity.py."""
_FEW = 3
"""Tools that share a word which still tells them from the others."""


@frozen
class Known:
    """A task with its request's words and its calls."""

    task: Task
    text: Text
    calls: Counter[str]


def known(task: Task, text: Text) -> Known:
    return Known(task, text, Counter(_text(action) for action in task.solution))


def _text(action: Action) -> str:
    return json.dumps([action.name, dict(action.arguments)], sort_keys=True, default=str)


@define
class Padding:
    """Finds the known task that a candidate pads. `limit`: completions of one replay at most."""

    environment: Environment
    limit: int
    _added: list[Known] = field(factory=list)
    _by_start: dict[str, list[Known]] = field(factory=dict)
    _starts: dict[str, tuple[Task, str]] = field(factory=dict)
    _words: dict[str, set[str]] = field(factory=dict)
    _rare: dict[str, tuple[str, ...]] = field(factory=dict)

    def add(self, one: Known) -> None:
        self._added.append(one)

    def clear(self) -> None:
        """Forget all tasks; where a task begins is not computed again while the task object stays the same."""
        self._added.clear()
        self._by_start.clear()

    def find(self, candidate: Known, made: Replay) -> str | None:
        """Id of a known task that the candidate pads or thins; `made` is the replay of its solution."""
        while self._added:
            self._by_start.setdefault(self._start(self._added[-1].task), []).append(self._added[-1])
            self._added.pop()
        for other in self._by_start.get(made.start, ()):
            common = (candidate.calls & other.calls).total()
            if candidate.calls == other.calls or 2 * common < min(candidate.calls.total(), other.calls.total()):
                continue  # the same calls in another order are a matter for the keys
            if self._same(candidate, made, other) and not self._told_apart(candidate, other):
                return other.task.id
        return None

    def _start(self, task: Task) -> str:
        found = self._starts.get(task.id)
        if found is None or found[0] is not task:
            with self.environment.open(task) as episode:
                found = self._starts[task.id] = (task, episode.state())
        return found[1]

    def _same(self, candidate: Known, made: Replay, other: Known) -> bool:
        if made.state != made.start and self._play(other.task, other.task).state == made.state:
            return True
        if candidate.calls >= other.calls:
            return self._solves(candidate, other)
        return other.calls >= candidate.calls and self._solves(other, candidate)

    def _solves(self, longer: Known, shorter: Known) -> bool:
        return self._play(shorter.task, longer.task).solved

    def _play(self, task: Task, of: Task) -> Replay:
        return replay(self.environment, task, self.environment.script(of.solution), self.limit)

    def _told_apart(self, first: Known, second: Known) -> bool:
        mine, theirs = _own(first, second), _own(second, first)
        if self._speaks(first, second, mine) or self._speaks(second, first, theirs):
            return True
        longer, shorter = (mine, theirs) if first.calls.total() > second.calls.total() else (theirs, mine)
        return len(longer) >= _MUCH and not shorter

    def _speaks(self, one: Known, other: Known, own: set[str]) -> bool:
        """Whether the request has words of its own for a call that only its own solution has."""
        surplus = one.calls - other.calls
        for action in one.task.solution:
            if own and _text(action) in surplus:
                values = own & set(words(" ".join(str(value) for value in literals(action.arguments))))
                telling = self._telling(action.name)
                named = _kinds(word for word in sorted(own - values) if any(_resemble(word, wanted) for wanted in telling))
                if values or named >= max(1, min(_ENOUGH, _kinds(telling))):
                    return True
        return False

    def _telling(self, tool: str) -> tuple[str, ...]:
        """Words of a tool's name and document that few tools share, in any form."""
        if not self._words:
            tools = self.environment.describe().tools
            self._words = {tool.name: set(words(f"{tool.name} {_sentence(tool.description)}")) for tool in tools}
        if tool not in self._rare:
            others = self._words.values()
            shared = {word: sum(any(_resemble(word, other) for other in found) for found in others) for word in self._words.get(tool, ())}
            self._rare[tool] = tuple(sorted(word for word, count in shared.items() if count <= _FEW))
        return self._rare[tool]


def _own(one: Known, other: Known) -> set[str]:
    """Words of a request that the other one has none like, courtesy left out."""
    theirs = words(other.text.plain)
    return {word for word in words(" ".join(one.text.content)) if word not in COURTESY and not any(_resemble(word, w) for w in theirs)}


def _kinds(found: Iterable[str]) -> int:
    """How many words there are when forms of one count once."""
    kinds: list[str] = []
    for word in found:
        if not any(_resemble(word, other) for other in kinds):
            kinds.append(word)
    return len(kinds)


def words(text: str) -> tuple[str, ...]:
    """The words of a text or a name.

    >>> words("check_tirePressure of 4.5")
    ('check', 'tire', 'pressure', '4.5')
    """
    return tuple(word.casefold() for word in _WORD.findall(text) if len(word) >= _LEAST or word[0].isdigit())


def _sentence(document: str) -> str:
    return document.partition(". ")[0]


def _resemble(first: str, second: str) -> bool:
    from rapidfuzz.distance import JaroWinkler

    if first == second or first[0].isdigit():
        return first == second
    return first[:2] == second[:2] and JaroWinkler.normalized_similarity(first, second) >= RESEMBLANCE
