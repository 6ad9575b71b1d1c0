"""A known task with useless calls put in or left out, which no key tells: the actions differ, and where results count so does the end.

Two tasks are the same but for padding when they begin in the same state, have half of the shorter solution's calls in common, and

- one holds all calls of the other, whose scorer accepts its solution; or both end in the same state, which they have changed;
- and neither request has a word of its own for a call that only its own solution has.

So a paraphrase with a lookup thrown in is no new task, and a request that is one lookup longer is: it says what the lookup is for. A word
is for a call when it resembles a word of the tool's name, of the first sentence of its document, or of an argument.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

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
    _words: dict[str, tuple[str, ...]] | None = None

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
            if 2 * common < min(candidate.calls.total(), other.calls.total()):
                continue
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
        if candidate.calls >= other.calls:
            return self._solves(candidate, other)
        if other.calls >= candidate.calls:
            return self._solves(other, candidate)
        return made.state != made.start and self._play(other.task, other.task).state == made.state

    def _solves(self, longer: Known, shorter: Known) -> bool:
        return self._play(shorter.task, longer.task).solved

    def _play(self, task: Task, of: Task) -> Replay:
        return replay(self.environment, task, self.environment.script(of.solution), self.limit)

    def _told_apart(self, first: Known, second: Known) -> bool:
        return self._speaks(first, second) or self._speaks(second, first)

    def _speaks(self, one: Known, other: Known) -> bool:
        """Whether the request has a word of its own for a call that only its own solution has."""
        own = {word for text in set(one.text.content) - set(other.text.content) for word in words(text)}
        surplus = one.calls - other.calls
        about = {word for action in one.task.solution if _text(action) in surplus for word in self._about(action)}
        return any(_resemble(word, wanted) for word in own for wanted in about)

    def _about(self, action: Action) -> tuple[str, ...]:
        if self._words is None:
            tools = self.environment.describe().tools
            self._words = {tool.name: words(f"{tool.name} {_sentence(tool.description)}") for tool in tools}
        values: Iterable[Any] = literals(action.arguments)
        return (*self._words.get(action.name, words(action.name)), *words(" ".join(map(str, values))))


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

    if first[0].isdigit() or second[0].isdigit():
        return first == second
    return JaroWinkler.normalized_similarity(first, second) >= RESEMBLANCE
