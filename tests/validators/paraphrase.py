"""The same task again in other words, and with calls that nobody asks for: what a lazy or a leaking teacher hands in.

Nothing here knows the validators. Words are exchanged by a table of synonyms; courtesy, the order of clauses and letters' case change too.
Useless calls are found by trying the environment's tools: what succeeds and leaves the world as it was.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import attrs

from coevolve import Action, CandidateTask, Environment, Feedback, Origin, Step, Task

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


def paraphrase(query: str, rng: random.Random) -> str:
    """The request in other words; its paragraphs (the turns of a conversation) stay apart."""
    return "\n\n".join(_paragraph(text, rng) for text in query.split("\n\n"))


def _paragraph(text: str, rng: random.Random) -> str:
    clauses = re.split(r"(?<=[.!?]) +", text)
    if len(clauses) > 1 and rng.random() < 0.5:
        rng.shuffle(clauses)
    words = [_other(word, rng) for word in " ".join(clauses).split(" ")]
    body = " ".join(words)
    body = body[0].lower() + body[1:] if body and rng.random() < 0.5 else body
    return rng.choice(BEFORE) + body + rng.choice(AFTER)


def _other(word: str, rng: random.Random) -> str:
    bare = re.sub(r"\W", "", word).lower()
    if bare in SYNONYMS and "'" not in word and rng.random() < 0.7:
        return re.sub(r"\w+", rng.choice(SYNONYMS[bare]), word, count=1)
    return word


def play(environment: Environment, task: Task, actions: Sequence[Action]) -> tuple[list[Step], str] | None:
    """The steps of `actions` in a fresh episode of the task, and the end state; None when one fails."""
    steps: list[Step] = []
    with environment.open(task) as episode:
        for text in environment.script(actions):
            seen = episode.step(text)
            steps += seen.steps
            if seen.done:
                break
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


def useless(environment: Environment, task: Task, rng: random.Random, tries: int = 100) -> Action | None:
    """A call that succeeds at the task's start and changes nothing; None when none is found."""
    of: Any = environment  # as something that can be a key
    with environment.open(task) as episode:
        before, start = episode.state(), episode.snapshot()
        for _ in range(tries):
            name, choices = rng.choice(_free(of))
            action = Action(name, {key: rng.choice(values) for key, values in choices.items()})
            seen = episode.step(environment.script([action])[0])
            if len(seen.steps) == 1 and seen.steps[0].error is None and episode.state() == before:
                return action
            episode.restore(start)
    return None


def padded(environment: Environment, task: Task, query: str, task_id: str, rng: random.Random) -> Task | None:
    """The task with one to three useless calls put in; None where none was found that leaves the end state as it is."""
    actions = list(task.solution)
    for _ in range(rng.randint(1, 3)):
        if (extra := useless(environment, task, rng)) is not None:
            place = rng.randrange(len(actions) - 1) if len(actions) > 1 else 0  # what stands last may be the answer
            actions.insert(place, attrs.evolve(extra, turn=actions[place].turn))
    played, wanted = play(environment, task, actions), play(environment, task, task.solution)
    if played is None or wanted is None or played[1] != wanted[1] or len(actions) == len(task.solution):
        return None
    return again(environment, task, actions, played[0], query, task_id)


def again(environment: Environment, task: Task, actions: Sequence[Action], steps: Sequence[Step], query: str, task_id: str) -> Task | None:
    """A task like `task` with exactly these calls, whatever the environment would leave out."""
    composed = environment.compose(task, steps, task_id, query)
    if composed is None or len(composed.solution) >= len(actions):
        return composed
    return attrs.evolve(composed, solution=tuple(actions))


class AlwaysTheSame:
    """A synthesizer that has one idea: paraphrases of one task, every other one with useless calls."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        for number in range(100):
            query, task_id = paraphrase(self.task.query, rng), f"same-{feedback.iteration}-{number}"
            made: Task | None = attrs.evolve(self.task, id=task_id, query=query)
            if number % 2:
                made = padded(environment, self.task, query, task_id, rng)
            if made is not None:
                yield CandidateTask(attrs.evolve(made, origin=Origin("same", feedback.iteration)))


LEAKS = ("verbatim", "paraphrased", "same actions", "same end state")


class Leaking:
    """A synthesizer that was fed with the held-out split: each task verbatim, in other words, with its calls under another task's request,
    and with other calls that lead to the same end. The kind is in the origin's detail."""

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
    door: Any, environment: Any, found: Iterator[CandidateTask], pool: Any, held_out: Sequence[Task]
) -> tuple[Any, list[tuple[str, str]]]:
    """Let a door (a list of validators) judge candidates: the pool afterwards, and (kind, reason) of each."""
    reasons = []
    for candidate in found:
        for validator in door:
            verdict = validator.validate(candidate, environment, pool, held_out)
            if not verdict.accepted:
                break
            candidate = attrs.evolve(candidate, task=verdict.task or candidate.task)
        else:
            pool = pool.with_tasks([candidate.task])
        reasons.append((str(candidate.task.origin.detail.get("kind", "")), str(verdict.reason)))
    return pool, reasons
