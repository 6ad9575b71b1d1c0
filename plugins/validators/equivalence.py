"""Decide whether two tasks are equivalent: they start and end alike, and neither asks for more than the other.

    equivalent(a, b)  =  start(a) = start(b)  and  end(a) = end(b)  and  not more(a, b)  and  not more(b, a)
    more(a, b)        =  a has a turn that asks for one of its calls, and b makes none of this turn's calls,
                         or a and b call one tool with different values, and each value occurs only in the own request

start and end are the world's states before and after the solution. end includes the call that ends the episode, if there is one, because it
gives the answer. Tasks that change nothing are only compared when they share a call. A turn asks for a call when it holds one of the call's
values, most words of the tool's name, or most words of the first sentence of the tool's document.

So a lookup inside a turn that the other task has, too, does not make a new task, however the turn is worded. A scorer that demands each
result (BFCL) gives such tasks different keys, although nobody asked for the lookup. A further turn that asks for the lookup makes a new
task; a further turn of chatter does not. The wording counts only in turns that have no call in common with the other task, so synonyms
cannot make a paraphrase look new.

When both tasks have a single turn, its sentences are compared instead of turns. A sentence makes a task new when two things hold: no
sentence of the other request has a third of its words, and it asks for a call that the other task does not make, by the tool's words or by
a value that the other request does not hold.

Tasks with the same turns in another order are left to the keys, which are equal when the results are.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator

from attrs import define, field, frozen

from coevolve import Action, Environment, Replay, Task, play

from .grounding import SpokenText, literals, mode_arguments
from .similarity import text_of

RESEMBLANCE = 0.9
"""Jaro-Winkler similarity (0 to 1) from which two words are forms of one word: "check" and "checking", but not "present" and "pressure"."""
COUNTERPART = 1 / 3
"""Share of a sentence's words from which a sentence of another request counts as its counterpart."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+(?:\.\d+)?")
_SHORTEST_WORD = 3
"""Fewest letters of a word that is compared."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


@frozen
class Part:
    """A turn or a sentence of a request: its text, its content words, and the calls that it may ask for."""

    text: str
    words: tuple[str, ...]
    calls: tuple[Action, ...]


@frozen
class ComparedTask:
    """A task as it is compared: its calls as JSON texts with their number, and its turns."""

    task: Task
    calls: Counter[str]
    turns: tuple[Part, ...]


def compared(task: Task) -> ComparedTask:
    """Prepare a task for comparison."""
    return ComparedTask(task, Counter(_call(action) for action in task.solution), tuple(_turns(task)))


def _call(action: Action) -> str:
    return json.dumps([action.name, dict(action.arguments)], sort_keys=True, default=str)


def _part(text: str, calls: tuple[Action, ...]) -> Part:
    return Part(text, words(" ".join(text_of(text).content)), calls)


def _turns(task: Task) -> Iterator[Part]:
    """The turns that have calls. The text of a turn without calls belongs to the next turn that has some.

    Where the request's paragraphs do not match the turns, every turn has the whole request as its text.
    """
    numbers = sorted({action.turn for action in task.solution})
    texts = [text for text in task.query.split("\n\n") if text.strip()]
    if len(texts) != len(numbers):
        fits = bool(numbers) and len(texts) == numbers[-1] + 1
        ends = zip([-1, *numbers], numbers, strict=False)
        texts = ["\n".join(texts[before + 1 : number + 1]) for before, number in ends] if fits else [task.query] * len(numbers)
    for number, text in zip(numbers, texts, strict=True):
        yield _part(text, tuple(action for action in task.solution if action.turn == number))


@define
class EquivalenceIndex:
    """Finds a known task to which a candidate is equivalent. `limit`: most completions of one replay."""

    environment: Environment
    limit: int
    _added: list[ComparedTask] = field(factory=list)
    _by_start: dict[str, list[ComparedTask]] = field(factory=dict)
    _starts: dict[str, tuple[Task, str]] = field(factory=dict)
    _ends: dict[str, tuple[Task, tuple[str, Action | None]]] = field(factory=dict)
    _tools: dict[str, tuple[tuple[str, ...], ...]] | None = None
    _modes: set[tuple[str, str]] | None = None

    def add(self, one: ComparedTask) -> None:
        """Add a known task. Its start state is computed at the next `find`."""
        self._added.append(one)

    def clear(self) -> None:
        """Remove all tasks. Their start and end states stay cached, for the same task objects."""
        self._added.clear()
        self._by_start.clear()

    def find(self, candidate: ComparedTask, made: Replay) -> str | None:
        """Id of a known task to which the candidate is equivalent; None when there is none. `made` is the replay of its solution.

        Raises what the environment raises.
        """
        while self._added:
            self._by_start.setdefault(self.start(self._added[-1].task), []).append(self._added[-1])
            self._added.pop()
        for other in self._by_start.get(made.start, ()):
            if made.state == made.start and not candidate.calls & other.calls:
                continue
            if self._end(other.task) != made.end or _permuted(candidate, other):
                continue
            if not self._more(candidate, other) and not self._more(other, candidate):
                return other.task.id
        return None

    def start(self, task: Task) -> str:
        """Digest of the state in which a task begins; computed once for a task."""
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

    def _more(self, one: ComparedTask, other: ComparedTask) -> bool:
        if self._swapped(one, other):
            return True
        if len(one.turns) == len(other.turns) == 1:
            return self._more_in_single_turn(one.turns[0], other.turns[0], other.calls)
        apart = [turn for turn in one.turns if not any(_call(action) in other.calls for action in turn.calls)]
        return any(self._names_tool(turn, action) or self._names_value(turn.text, action) for turn in apart for action in turn.calls)

    def _swapped(self, one: ComparedTask, other: ComparedTask) -> bool:
        mine = {action.name for action in one.task.solution if _call(action) not in other.calls and self._own_value(one, action, other)}
        return any(
            action.name in mine and _call(action) not in one.calls and self._own_value(other, action, one) for action in other.task.solution
        )

    def _own_value(self, one: ComparedTask, action: Action, other: ComparedTask) -> bool:
        return self._names_value(one.task.query, action, beside=other.task.query)

    def _more_in_single_turn(self, mine: Part, theirs: Part, made: Counter[str]) -> bool:
        surplus = tuple(action for action in mine.calls if _call(action) not in made)
        others = [words(text) for text in _SENTENCE.split(theirs.text)]
        for text in _SENTENCE.split(mine.text) if surplus else ():
            sentence = _part(text, surplus)
            if not sentence.words or any(_share(sentence.words, other) >= COUNTERPART for other in others):
                continue
            if any(self._names_tool(sentence, action) or self._names_value(text, action, beside=theirs.text) for action in surplus):
                return True
        return False

    def _names_tool(self, part: Part, action: Action) -> bool:
        """Whether the part holds most words of the tool's name, or most words of the first sentence of its document."""
        if self._tools is None:
            self._tools = {
                tool.name: (words(tool.name), words(" ".join(text_of(tool.description.partition(". ")[0]).content)))
                for tool in self.environment.describe().tools
            }
        return any(_share(named, part.words) > 1 / 2 for named in self._tools.get(action.name, ()))

    def _names_value(self, text: str, action: Action, beside: str = "") -> bool:
        """Whether the text holds a value of the call that `beside` lacks. Modes of the tool do not count."""
        if self._modes is None:
            self._modes = mode_arguments(self.environment)
        own, other = SpokenText(), SpokenText()
        own.add(text)
        other.add(beside)
        given = {name: value for name, value in action.arguments.items() if (action.name, name) not in self._modes}
        return any(own.contains(value) and not other.contains(value) for value in literals(given))


def _permuted(first: ComparedTask, second: ComparedTask) -> bool:
    """Whether both have turns with the same calls, in any order."""
    return first.calls == second.calls and _calls_by_turn(first) == _calls_by_turn(second)


def _calls_by_turn(one: ComparedTask) -> Counter[tuple[str, ...]]:
    return Counter(tuple(sorted(map(_call, turn.calls))) for turn in one.turns)


def words(text: str) -> tuple[str, ...]:
    """The words of a text or an identifier, each once, in lower case; words of fewer than three letters are left out.

    >>> words("check_tirePressure of 4.5")
    ('check', 'tire', 'pressure', '4.5')
    """
    found = (word.casefold() for word in _WORD.findall(text) if len(word) >= _SHORTEST_WORD or word[0].isdigit())
    return tuple(dict.fromkeys(found))


def _share(some: tuple[str, ...], others: tuple[str, ...]) -> float:
    """The share (0 to 1) of `some` words that occur among `others`, in any form."""
    return sum(any(_resemble(word, other) for other in others) for word in some) / len(some) if some else 0.0


def _resemble(first: str, second: str) -> bool:
    from rapidfuzz.distance import JaroWinkler

    if first == second or first[0].isdigit():
        return first == second
    return first[:2] == second[:2] and JaroWinkler.normalized_similarity(first, second) >= RESEMBLANCE
