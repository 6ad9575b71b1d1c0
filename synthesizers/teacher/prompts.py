"""The teacher's prompts. They are short and concrete, for models from a hundred million weights upwards.

The stable part comes first (the environment and its tools, the same in every request of an exploration), so that a server with a prefix
cache computes it once. Replies are JSON. Each request contains the shape, with or without structured output.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from coevolve import Action, Message, Signal, Step, Task

from . import rendering
from .options import TeacherOptions
from .replies import Reflection

KINDS = {
    "forgetting": "The agent solved this task lately and fails it now.",
    "boundary": "The agent sometimes solves this task and sometimes fails it.",
    "rare": "The agent did something here that it hardly ever does.",
}
"""The sentence for each kind of signal (paper, section on signals)."""
BY_PROGRESS = {
    "forgetting": "The agent did most of this task lately and does little of it now.",
    "boundary": "The agent gets further with this task at some times than at others.",
}
"""The sentences of those kinds whose signal was read off the progress of rollouts (`of = "progress"`)."""

AGAIN = "That could not be read. Answer with one JSON object of the shape asked for, and nothing else."

_SYSTEM = """You make practice tasks for an agent that works with tools.

The environment:
{notes}

Its tools:
{tools}
{world}
The notes above are for the agent. You answer with one JSON object and nothing else."""

_REFLECT = """The agent was given this task:
{query}

{why}
{evidence}

Find the weakness behind it. Answer with one JSON object of four fields:
"weakness": where the agent goes wrong or wavers, with the names of the tools;
"why": the likely cause;
"tries": a list of things to try in the environment, each a chain of tools by name;
"variant": what a new task must need so that it trains the same skill in another way."""

_EXPLORE = """Explore the environment, call by call. It is as at the beginning of this task:
{query}

{context}

Each message of yours is one JSON object for one call: "thought" says what you want to find out, "action" has the "tool" and its
"arguments", as in
{example}
Take values from the task, from the list of tools or from what a tool returned before. A call that fails tells you something too. The tool
"stop" ends a round. A round has at most {steps} calls.

Round 1 of {rounds}. Your first call?"""

_ROUND = "Round {number} of {rounds}: the environment is as at the beginning again. Try what you have not tried yet. Your first call?"

_ABSTRACT = """These calls were made in the environment, beginning where this task begins:
{query}

{context}

{steps}

Make at most {count} new tasks of them that the agent can be trained on; fewer, or an empty list, are fine. Each needs calls that depend
on each other. The tasks differ from each other and from the one above in what they end in or in what they ask: a part of another task, or
the same calls divided anew, is refused. {rules} The solution names the calls above by their numbers, in order, failed ones left out, and
none that the user's words do not ask for or need.{turns} A call that was not made may be written out,
{{"tool": NAME, "arguments": {{...}}}}: a question ends with the one that gives its answer, where the notes name such a call. Answer with
one JSON object of this shape:
{shape}"""

RULES = """The words are those of a person with a purpose, who knows nothing of tools: no list of calls, no tool's name, no argument's
name as code writes it (access_token; "access token" is fine). They say every value that the agent needs and cannot look up: airport
codes, symbols and ids that come from nowhere are refused. They say no value that an earlier call returns, but describe it ("its price",
"the order you just placed"). They allow one reading only: "the cheapest one", never "one of them". They ask for everything that the calls
do, and for nothing else; a lookup that a later call needs is not asked for."""
"""What a good request is, for the teacher."""

TURNS = """The turns share out the calls in their order. In each the user asks for exactly what its calls do; lookups that these or later
calls need belong to it unasked. A turn has no calls ([]) only where the user leaves out a value and the agent must ask: the next turn gives
it."""
"""What good turns are, for the teacher."""


@frozen
class Prompts:
    """The messages of one exploration. All of them begin with `system`."""

    options: TeacherOptions
    system: str
    task: Task
    several: bool
    """Whether tasks have several user turns."""

    @classmethod
    def of(cls, options: TeacherOptions, notes: str, tools: str, task: Task, several: bool, world: str = "") -> "Prompts":
        """Prompts whose system message holds the environment's notes, the rendered tools and the task's world ("": not known)."""
        holds = f"\nThe world where the task begins:\n{world}\n" if world else ""
        system = _SYSTEM.format(notes=rendering.cut(notes, options.context_chars // 10), tools=tools, world=holds)
        return cls(options, system, task, several)

    def reflect(self, signal: Signal, evidence: str) -> list[Message]:
        """The request for a reflection on a signal."""
        measured = rendering.cut(json.dumps(dict(signal.evidence), sort_keys=True), 300)
        said = KINDS | (BY_PROGRESS if signal.evidence.get("of") == "progress" else {})
        why = said.get(signal.kind) or f"The signal {signal.kind!r} {f'says: {measured}' if signal.evidence else 'was found here.'}"
        return self._ask(_REFLECT.format(query=self._query, why=why, evidence=evidence))

    def explore(self, reflection: Reflection | None) -> list[Message]:
        """The request for the first call of the first round."""
        options = self.options
        first = next(iter(self.task.solution), Action("NAME", {"ARGUMENT": "VALUE"}))
        example = wanted("what this returns", first.name, first.arguments)
        if len(example) > 300:
            example = wanted("what this returns", "NAME", {"ARGUMENT": "VALUE"})
        fields = {"rounds": options.rounds, "steps": options.steps, "example": example}
        return self._ask(_EXPLORE.format(query=self._query, context=context(reflection, options.context_chars), **fields))

    def next_round(self, number: int) -> str:
        """The text that begins round `number`, counted from 1."""
        return _ROUND.format(number=number, rounds=self.options.rounds)

    def abstract(self, reflection: Reflection | None, steps: str) -> list[Message]:
        """The request for candidate tasks; `steps` are the rendered calls."""
        text = _ABSTRACT.format(
            query=self._query,
            context=context(reflection, self.options.context_chars),
            steps=steps,
            count=self.options.candidates,
            rules=RULES,
            turns=f" {TURNS}" if self.several and self.options.queries == "teacher" else "",
            shape=shape(self.options.queries, self.several),
        )
        return self._ask(text)

    @property
    def _query(self) -> str:
        return rendering.cut(self.task.query, self.options.context_chars // 10)

    def _ask(self, text: str) -> list[Message]:
        return [{"role": "system", "content": self.system}, {"role": "user", "content": text}]

    def room(self, messages: Sequence[Message]) -> int:
        """The characters that a request without its evidence or steps has left for them."""
        return limit(self.options) - sum(len(message["content"]) for message in messages)


def limit(options: TeacherOptions) -> int:
    """Upper bound on the characters of a request, so that an unreadable reply and AGAIN can be appended to it."""
    return options.context_chars - quoted_chars(options) - len(AGAIN)


def tools_chars(options: TeacherOptions) -> int:
    """Upper bound on the characters of the list of tools; less of a short prompt, of which the fixed words take much."""
    return min(3 * options.context_chars // 10, options.context_chars // 2 - 1900)


def world_chars(options: TeacherOptions) -> int:
    """Upper bound on the characters that tell what the world holds; 0 for a short prompt."""
    return min(1500, max(0, options.context_chars // 8 - 1000))


def quoted_chars(options: TeacherOptions) -> int:
    """Upper bound on the characters that the next request quotes from an unreadable reply."""
    return options.context_chars // 20


def context(reflection: Reflection | None, chars: int) -> str:
    """The exploration context as text, in at most a sixth of the `chars` of a request."""
    if reflection is None:
        return "No weakness is named: look for what the environment offers."
    weakness, why, variant = (rendering.cut(text, chars // 36) for text in (reflection.weakness, reflection.why, reflection.variant))
    tries = "\n".join(f"- {rendering.cut(one, chars // 72)}" for one in list(dict.fromkeys(reflection.tries))[:6])
    return f"The agent's weakness: {weakness}\nWhy: {why}\nTo try:\n{tries}\nA new task must need: {variant}"


def observed(step: Step, number: int, chars: int) -> str:
    """The result of call `number`, as a message to the teacher; the result is cut to `chars` characters."""
    if step.error is not None:
        return f"Call {number} failed: {rendering.cut(step.error, chars)}"
    return f"Call {number} returned: {rendering.cut(step.observation, chars)}"


def wanted(thought: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """A call in the JSON shape that the prompt requires."""
    call = {"thought": rendering.cut(thought, 200), "action": {"tool": tool, "arguments": dict(arguments)}}
    return json.dumps(call, ensure_ascii=False)


def fitted(head: Sequence[Message], talk: Sequence[Message], chars: int) -> list[Message]:
    """`head` and the newest part of `talk` (replies and answers in turn) that fits into `chars`; a note counts the missing calls."""
    size = sum(len(message["content"]) for message in (*head, *talk))
    left_out = 0
    while size > chars and left_out + 2 < len(talk):
        size -= sum(len(message["content"]) for message in talk[left_out : left_out + 2])
        left_out += 2
    kept = [dict(message) for message in talk[left_out:]]
    if not left_out:
        return [*head, *kept]
    *before, last = head
    note = f"({left_out // 2} earlier calls and their answers are left out here.)"
    return [*before, {**last, "content": f"{last['content']}\n\n{note}"}, *kept]


def shape(queries: str, several: bool) -> str:
    """The shape of a reply with candidate tasks, as an example. `several`: whether tasks have several turns."""
    words = '"intent": "what it is for"'
    if queries == "teacher" and several:
        turn = '{"request": "what the user says, with every value that is needed and no tool\'s name", "solution": [1]}'
        return f'{{"candidates": [{{{words}, "turns": [{turn}, {{"request": "...", "solution": [2, 3]}}]}}]}}'
    if queries == "teacher":
        words += ', "query": "the request in the user\'s words, with every value that is needed and no tool\'s name"'
    return f'{{"candidates": [{{{words}, "solution": [1, 2]}}]}}'
