"""Two tasks are the same when they do the same and neither asks for more.

    same(a, b)  =  start(a) = start(b)  and  end(a) = end(b)  and  not more(a, b)  and  not more(b, a)
    more(a, b)  =  a has a turn, none of whose calls b makes, that asks for one of them,
                   or a and b call one tool for different values, which only their own request says

start and end are the world's states before and after the solution, end with the call that ends the episode, if one does: it gives the
answer. A task that changes nothing is only compared with those that make one of its calls. A turn asks for a call when it says one of the
call's values, or most of the words of the tool's name, or most of those of the first sentence of the tool's document.

So a lookup put into a turn that the other task has as well is no new task, in whatever words: a scorer that demands each result (BFCL)
makes other keys of it, but nobody asked. A further turn that asks for the lookup is one, and a further turn of mere chatter is none. Words
are only ever read where a turn has nothing in common with the other task: synonyms cannot make a paraphrase new.

Where both tasks have a single turn, sentences stand for turns. A sentence counts when no sentence of the other request has a third of its
words, and asks for a call that the other does not make by the tool's words, or by a value that the other request does not say.

The same turns in another order are left to the keys: they are equal when the results are.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator

from attrs import define, field, frozen

from coevolve import Action, Environment, Replay, Task, play

from .grounding import Said, literals, modes
from .similarity import text_of

RESEMBLANCE = 0.9
"""Jaro-Winkler similarity from which two words are forms of one, as "check" and "checking" are, and "present" and "pressure" are not."""
COUNTERPART = 1 / 3
"""Share of a sentence's words from which a sentence of another request says the same."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+(?:\.\d+)?")
_LEAST = 3
"""Letters of a word that can speak of a call."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


@frozen
class Part:
    """A turn or a sentence of a request: its text, the content words of it, and the calls that it may ask for."""

    text: str
    words: tuple[str, ...]
    calls: tuple[Action, ...]


@frozen
class Known:
    """A task, its calls, and its turns."""

    task: Task
    calls: Counter[str]
    turns: tuple[Part, ...]


def known(task: Task) -> Known:
    return Known(task, Counter(_call(action) for action in task.solution), tuple(_turns(task)))


def _call(action: Action) -> str:
    return json.dumps([action.name, dict(action.arguments)], sort_keys=True, default=str)


def _part(text: str, calls: tuple[Action, ...]) -> Part:
    return Part(text, words(" ".join(text_of(text).content)), calls)


def _turns(task: Task) -> Iterator[Part]:
    """The turns in which something is done; what a turn says in which nothing is done yet belongs to the next one. The whole request stands
    for each where paragraphs and turns do not fit."""
    numbers = sorted({action.turn for action in task.solution})
    said = [text for text in task.query.split("\n\n") if text.strip()]
    if len(said) != len(numbers):
        fits = bool(numbers) and len(said) == numbers[-1] + 1
        ends = zip([-1, *numbers], numbers, strict=False)
        said = ["\n".join(said[before + 1 : number + 1]) for before, number in ends] if fits else [task.query] * len(numbers)
    for number, text in zip(numbers, said, strict=True):
        yield _part(text, tuple(action for action in task.solution if action.turn == number))


@define
class Sameness:
    """Finds the known task that a candidate is the same as. `limit`: completions of one replay at most."""

    environment: Environment
    limit: int
    _added: list[Known] = field(factory=list)
    _by_start: dict[str, list[Known]] = field(factory=dict)
    _starts: dict[str, tuple[Task, str]] = field(factory=dict)
    _ends: dict[str, tuple[Task, tuple[str, Action | None]]] = field(factory=dict)
    _tools: dict[str, tuple[tuple[str, ...], ...]] | None = None
    _modes: set[tuple[str, str]] | None = None

    def add(self, one: Known) -> None:
        self._added.append(one)

    def clear(self) -> None:
        """Forget all tasks; where a task begins and ends is not computed again while the task object stays the same."""
        self._added.clear()
        self._by_start.clear()

    def find(self, candidate: Known, made: Replay) -> str | None:
        """Id of a known task that the candidate is the same as; `made` is the replay of its solution."""
        while self._added:
            self._by_start.setdefault(self._start(self._added[-1].task), []).append(self._added[-1])
            self._added.pop()
        for other in self._by_start.get(made.start, ()):
            if made.state == made.start and not candidate.calls & other.calls:
                continue
            if self._end(other.task) != made.end or _permuted(candidate, other):
                continue
            if not self._more(candidate, other) and not self._more(other, candidate):
                return other.task.id
        return None

    def _start(self, task: Task) -> str:
        found = self._starts.get(task.id)
        if found is None or found[0] is not task:
            with self.environment.open(task) as episode:
                found = self._starts[task.id] = (task, episode.state())
        return found[1]

    def _end(self, task: Task) -> tuple[str, Action | None]:
        found = self._ends.get(task.id)
        if found is None or found[0] is not task:
            made = play(self.environment, task, self.environment.script(task.solution)[: self.limit])
            found = self._ends[task.id] = (task, made.end)
        return found[1]

    def _more(self, one: Known, other: Known) -> bool:
        if self._swapped(one, other):
            return True
        if len(one.turns) == len(other.turns) == 1:
            return self._more_in_a_turn(one.turns[0], other.turns[0], other.calls)
        apart = [turn for turn in one.turns if not any(_call(action) in other.calls for action in turn.calls)]
        return any(self._names(turn, action) or self._says(turn.text, action) for turn in apart for action in turn.calls)

    def _swapped(self, one: Known, other: Known) -> bool:
        mine = {action.name for action in one.task.solution if _call(action) not in other.calls and self._own(one, action, other)}
        return any(
            action.name in mine and _call(action) not in one.calls and self._own(other, action, one) for action in other.task.solution
        )

    def _own(self, one: Known, action: Action, other: Known) -> bool:
        return self._says(one.task.query, action, beside=other.task.query)

    def _more_in_a_turn(self, mine: Part, theirs: Part, made: Counter[str]) -> bool:
        surplus = tuple(action for action in mine.calls if _call(action) not in made)
        others = [words(text) for text in _SENTENCE.split(theirs.text)]
        for text in _SENTENCE.split(mine.text) if surplus else ():
            sentence = _part(text, surplus)
            if not sentence.words or any(_share(sentence.words, other) >= COUNTERPART for other in others):
                continue
            if any(self._names(sentence, action) or self._says(text, action, beside=theirs.text) for action in surplus):
                return True
        return False

    def _names(self, part: Part, action: Action) -> bool:
        """Whether a part of a request says most words of the tool's name or of its document's first sentence."""
        if self._tools is None:
            self._tools = {
                tool.name: (words(tool.name), words(" ".join(text_of(tool.description.partition(". ")[0]).content)))
                for tool in self.environment.describe().tools
            }
        return any(_share(telling, part.words) > 1 / 2 for telling in self._tools.get(action.name, ()))

    def _says(self, text: str, action: Action, beside: str = "") -> bool:
        """Whether a text says a value of the call which chooses more than how the tool works, and which `beside` does not say."""
        if self._modes is None:
            self._modes = modes(self.environment)
        said, known = Said(), Said()
        said.add(text)
        known.add(beside)
        given = {name: value for name, value in action.arguments.items() if (action.name, name) not in self._modes}
        return any(said.holds(value) and not known.holds(value) for value in literals(given))


def _permuted(first: Known, second: Known) -> bool:
    """Whether both have the same turns, in whatever order."""
    return first.calls == second.calls and _made(first) == _made(second)


def _made(one: Known) -> Counter[tuple[str, ...]]:
    return Counter(tuple(sorted(map(_call, turn.calls))) for turn in one.turns)


def words(text: str) -> tuple[str, ...]:
    """The words of a text or a name, each once.

    >>> words("check_tirePressure of 4.5")
    ('check', 'tire', 'pressure', '4.5')
    """
    found = (word.casefold() for word in _WORD.findall(text) if len(word) >= _LEAST or word[0].isdigit())
    return tuple(dict.fromkeys(found))


def _share(some: tuple[str, ...], others: tuple[str, ...]) -> float:
    """Which part of some words the others have, in any form."""
    return sum(any(_resemble(word, other) for other in others) for word in some) / len(some) if some else 0.0


def _resemble(first: str, second: str) -> bool:
    from rapidfuzz.distance import JaroWinkler

    if first == second or first[0].isdigit():
        return first == second
    return first[:2] == second[:2] and JaroWinkler.normalized_similarity(first, second) >= RESEMBLANCE
