"""Teachers that propose known tasks again: in other words, and with calls that nobody asks for.

Nothing here knows the validators. Words are replaced by a table of synonyms; courtesy, the order of clauses and the case of letters change,
too. Useless calls are found by trying the environment's tools: a call is useless when it succeeds and leaves the world as it was.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from coevolve import Action, CandidateTask, Environment, Feedback, Origin, Step, Task, perform

_SYNONYMS = """
delete remove erase
show display present
find locate retrieve
send dispatch forward
make create produce
check verify inspect
tell inform
need require
want wish
help assist
buy purchase
cancel revoke
list enumerate
move shift relocate
copy duplicate
book reserve arrange
current present existing
latest newest recent
last final previous
directory folder
file document
message note
trip journey travel
flight plane
car vehicle automobile
total sum
price cost
ticket issue
please kindly
quick fast rapid
ensure guarantee
details specifics particulars
begin start
review examine
sort arrange order
invite ask
writer author
birthday anniversary
head leader
due deadline
phone telephone
sender originator
city town
room chamber
newest latest
"""
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    word: tuple(other for other in line.split() if other != word) for line in _SYNONYMS.strip().splitlines() for word in line.split()
}
BEFORE = (
    "",
    "Please, ",
    "Hello! ",
    "Could you kindly ",
    "I would like you to ",
    "Would you mind to ",
    "Be so good and ",
    "Right, next one: ",
)
AFTER = ("", " Thanks!", " Thank you so much.", " I would appreciate it.", " That would be a great help.", " Cheers")

_CHATTY = """
check confirm validate
show give reveal
find look fetch
list outline overview
display view
make build set
create establish open
get obtain acquire
order purchase transaction
stock share equity
price value quote
status condition state
car truck ride
trip vacation itinerary
flight ticket fare
message text memo
post tweet update
file report log
directory path place
account profile balance
money funds cash
current actual live
total amount count
tire wheel
fuel gas petrol
door lock
engine motor
distance mileage
nearest closest
budget limit
compare diff
content body
search look
user person member
company firm business
details information data
add include insert
remove clear drop
send mail
calculate compute estimate
average mean
cost expense rate
"""
"""Near-synonyms; many of them are words of tools that do something else."""
CHATTY: Mapping[str, tuple[str, ...]] = {
    word: tuple(other for other in line.split() if other != word) for line in _CHATTY.strip().splitlines() for word in line.split()
}
_ASIDES = """
My colleague asked me for this before lunch.
Report back when it is done.
I have been putting this off all week, my status is hopeless.
Let me know how it went.
The weather in the city is awful today, so I stay at my desk.
Keep an eye on my budget of patience.
I checked my messages and my account, and nothing else is open.
No tickets, no flights, no stocks: just this.
You are a star.
We talked about it over coffee.
"""
ASIDES = tuple(_ASIDES.strip().splitlines())
"""Sentences that people add to a request; they also name things that tools do."""


@frozen
class Manner:
    """How a teacher rewords a request: `synonyms` of words, texts before and after a paragraph, and sentences added as asides."""

    synonyms: Mapping[str, tuple[str, ...]]
    before: Sequence[str]
    after: Sequence[str]
    asides: Sequence[str] = ()
    any_lookup: bool = False
    """Whether useless calls also come from other tasks (with arguments) and sometimes get their own turn."""
    often: float = 0.7
    """Probability that a word with a synonym is replaced."""


PLAIN = Manner(SYNONYMS, BEFORE, AFTER)
TALKATIVE = Manner(
    CHATTY, ("", "So, ", "Here is the thing: ", "Today I need this. "), ("", " OK?", " Go ahead.", " No rush."), ASIDES, True
)


def wordnet(folder: Path) -> Manner:
    """A manner that replaces words by their synonyms in WordNet (the files data.noun, data.verb, data.adj, data.adv of version 3)."""
    found: dict[str, set[str]] = {}
    for kind in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{kind}").read_text(encoding="utf-8").splitlines():
            if not line.startswith(" "):
                fields = line.split(" ")
                words = {word.lower() for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2] if word.isalpha() and len(word) > 2}
                for word in words:
                    found.setdefault(word, set()).update(words - {word})
    synonyms = {word: tuple(sorted(others)) for word, others in found.items() if others}
    return Manner(synonyms, TALKATIVE.before, TALKATIVE.after, ASIDES, True, 0.4)


def paraphrase(query: str, rng: random.Random, manner: Manner = PLAIN) -> str:
    """The request in other words. Its paragraphs (the turns of a conversation) stay separate."""
    return "\n\n".join(_paragraph(text, rng, manner) for text in query.split("\n\n"))


def _paragraph(text: str, rng: random.Random, manner: Manner) -> str:
    clauses = re.split(r"(?<=[.!?]) +", text)
    if len(clauses) > 1 and rng.random() < 0.5:
        rng.shuffle(clauses)
    words = [_other(word, rng, manner) for word in " ".join(clauses).split(" ")]
    body = " ".join(words)
    body = body[0].lower() + body[1:] if body and rng.random() < 0.5 else body
    if manner.asides and rng.random() < 0.5:
        body = f"{body} {rng.choice(manner.asides)}"
    return rng.choice(manner.before) + body + rng.choice(manner.after)


def _other(word: str, rng: random.Random, manner: Manner) -> str:
    bare = re.sub(r"\W", "", word).lower()
    if bare in manner.synonyms and "'" not in word and rng.random() < manner.often:
        return re.sub(r"\w+", rng.choice(manner.synonyms[bare]), word, count=1)
    return word


def executed(environment: Environment, task: Task, actions: Sequence[Action]) -> tuple[list[Step], str] | None:
    """The steps of `actions` in a fresh episode of the task, and the end state; None when one fails."""
    with environment.open(task) as episode:
        steps = [step for seen in perform(episode, environment.script(actions)) for step in seen.steps]
        state = episode.state()
    return None if len(steps) < len(actions) or any(step.error for step in steps) else (steps, state)


@cache
def _free(environment: Any) -> list[tuple[str, dict[str, list[Any]]]]:
    """Tools whose required arguments can all be drawn from their schemas."""
    found = []
    for tool in environment.describe().tools:
        schemas = {name: tool.parameters["properties"][name] for name in tool.parameters.get("required", ())}
        if all("enum" in schema or schema.get("type") == "boolean" for schema in schemas.values()):
            found.append((tool.name, {name: schema.get("enum", [True, False]) for name, schema in schemas.items()}))
    return found


Calls = Sequence[tuple[str, Mapping[str, Any]]]
"""Pairs of a tool's name and arguments."""


def useless(environment: Environment, task: Task, rng: random.Random, tried: Calls = (), tries: int = 100) -> Action | None:
    """A call that succeeds at the task's start and changes nothing; None when none is found.

    Candidates are the calls in `tried`, and calls whose arguments can be drawn from their schemas.
    """
    hashable: Any = environment
    with environment.open(task) as episode:
        before, start = episode.state(), episode.snapshot()
        for _ in range(tries):
            if tried and rng.random() < 0.7:
                name, arguments = rng.choice(tried)
                action = Action(name, dict(arguments))
            else:
                name, choices = rng.choice(_free(hashable))
                action = Action(name, {key: rng.choice(values) for key, values in choices.items()})
            seen = episode.step(environment.script([action])[0])
            if len(seen.steps) == 1 and seen.steps[0].error is None and episode.state() == before:
                return action
            episode.restore(start)
    return None


def padded(environment: Environment, task: Task, query: str, task_id: str, rng: random.Random, tried: Calls = ()) -> Task | None:
    """The task with one to three useless calls added; None when no call was found that leaves the end state as it is."""
    actions = list(task.solution)
    for _ in range(rng.randint(1, 3)):
        if (extra := useless(environment, task, rng, tried)) is not None:
            place = rng.randrange(len(actions) - 1) if len(actions) > 1 else 0  # the last call may be the answer
            actions.insert(place, attrs.evolve(extra, turn=actions[place].turn))
    apart = None
    if tried and "\n\n" in task.query and rng.random() < 0.3:
        apart = useless(environment, task, rng, tried)
    if apart is not None:
        actions.append(attrs.evolve(apart, turn=actions[-1].turn))
    played, wanted = executed(environment, task, actions), executed(environment, task, task.solution)
    if played is None or wanted is None or played[1] != wanted[1] or len(actions) == len(task.solution):
        return None
    steps = played[0]
    if apart is not None:
        steps[-1] = attrs.evolve(steps[-1], action=attrs.evolve(steps[-1].action, turn=steps[-1].action.turn + 1))
        query = f"{query}\n\n{rng.choice(ASIDES)}"
    return again(environment, task, actions, steps, query, task_id)


def again(environment: Environment, task: Task, actions: Sequence[Action], steps: Sequence[Step], query: str, task_id: str) -> Task | None:
    """A task like `task` with exactly these calls, even those that the environment would leave out."""
    composed = environment.compose(task, steps, task_id, query)
    if composed is None or len(composed.solution) >= len(actions):
        return composed
    return attrs.evolve(composed, solution=tuple(actions))


class AlwaysTheSame:
    """A synthesizer that only paraphrases one task, every second time with useless calls.

    A manner with `any_lookup` also takes calls of the tasks in `others`.
    """

    def __init__(self, task: Task, manner: Manner = PLAIN, others: Sequence[Task] = (), many: int = 100) -> None:
        self.task, self.manner, self.many = task, manner, many
        calls = [*task.solution, *(action for other in others for action in other.solution)]
        self.tried = [(action.name, action.arguments) for action in calls] if manner.any_lookup else []

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        for number in range(self.many):
            query, task_id = paraphrase(self.task.query, rng, self.manner), f"same-{feedback.iteration}-{number}"
            made: Task | None = attrs.evolve(self.task, id=task_id, query=query)
            if number % 2:
                made = padded(environment, self.task, query, task_id, rng, self.tried)
            if made is not None:
                yield CandidateTask(attrs.evolve(made, origin=Origin("same", feedback.iteration)))


LEAKS = ("verbatim", "paraphrased", "same actions", "same end state")


class Leaking:
    """A synthesizer that knows the held-out split.

    It proposes each task verbatim, in other words, with its calls under another request, and with other calls that lead to the same end.
    The detail of the origin holds the kind.
    """

    def __init__(self, held_out: Sequence[Task], others: Sequence[Task]) -> None:
        self.held_out, self.others = held_out, others

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        for number, task in enumerate(self.held_out):
            for kind in LEAKS:
                made = self._leak(kind, task, f"leak-{feedback.iteration}-{number}-{kind.replace(' ', '-')}", environment, rng)
                if made is not None:
                    yield CandidateTask(attrs.evolve(made, origin=Origin("leak", feedback.iteration, detail={"kind": kind})))

    def _leak(self, kind: str, task: Task, task_id: str, environment: Environment, rng: random.Random) -> Task | None:
        if kind == "verbatim":
            return attrs.evolve(task, id=task_id)
        if kind == "paraphrased":
            return attrs.evolve(task, id=task_id, query=paraphrase(task.query, rng))
        other = f"{rng.choice(self.others).query} (number {rng.randrange(10**6)})"
        if kind == "same actions":
            return attrs.evolve(task, id=task_id, query=other)
        return padded(environment, task, other, task_id, rng)


def tally(
    judges: Any, environment: Any, found: Iterator[CandidateTask], pool: Any, held_out: Sequence[Task]
) -> tuple[Any, list[tuple[str, str]]]:
    """Let a list of validators judge the candidates; returns the pool afterwards, and (kind, reason) of each candidate."""
    reasons = []
    for candidate in found:
        for validator in judges:
            verdict = validator.validate(candidate, environment, pool, held_out)
            if not verdict.accepted:
                break
            candidate = attrs.evolve(candidate, task=verdict.task or candidate.task)
        else:
            pool = pool.with_tasks([candidate.task])
        reasons.append((str(candidate.task.origin.detail.get("kind", "")), str(verdict.reason)))
    return pool, reasons
