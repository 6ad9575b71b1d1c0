"""Re-exploration: rounds of calls in fresh episodes of a task, through the contract that the policy uses (paper, section 3).

Every round begins in the task's initial state. The conversation keeps the results of earlier rounds, but the environment does not keep
their effects, because a new task must be solvable from the initial state by the calls of one round. A call that fails, or that the
environment does not read as a call, is undone, and the teacher gets the error.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from coevolve import Action, Environment, Episode, Message, Refusal, Step, Task, Tool

from . import schemas
from .abstraction import checked_arguments
from .parsing import read_step
from .prompts import Prompts, fitted, limit, observed, wanted
from .questions import Questions
from .rendering import cut
from .replies import NextStep

KEPT = 2
"""Requests that an exploration with a limit reserves for the abstraction."""


@define
class GuidedExploration:
    """One exploration. `steps` are its calls in order, failed ones included; `ends` are the numbers of calls after each round.

    `idle` holds the indices of the calls that succeeded and left the world's state as it was.
    """

    environment: Environment
    tools: Mapping[str, Tool]
    task: Task
    prompts: Prompts
    questions: Questions
    steps: list[Step] = field(factory=list)
    ends: list[int] = field(factory=list)
    idle: set[int] = field(factory=set)

    async def run(self, head: Sequence[Message], offered: Sequence[Tool]) -> None:
        """Run all rounds. Raises TeacherFault or InfrastructureFault, and keeps the calls so far in `steps`."""
        talk, options = list[Message](), self.prompts.options
        for number in range(1, options.rounds + 1):
            before = len(self.steps)
            episode = await asyncio.to_thread(self.environment.open, self.task)
            try:
                await self._round(number, episode, head, talk, offered)
            finally:
                self.ends.append(len(self.steps))
                await asyncio.to_thread(episode.close)
            if len(self.steps) == before or number == options.rounds or not self._may_ask:
                return
            _append(talk, self.prompts.next_round(number + 1))

    async def _round(self, number: int, episode: Episode, head: Sequence[Message], talk: list[Message], offered: Sequence[Tool]) -> None:
        options, repeated, made = self.prompts.options, set[str](), list[tuple[Action, str]]()
        state = await asyncio.to_thread(episode.state)
        for n in range(1, options.steps + 1):
            if not self._may_ask:
                return
            # Small models repeat calls endlessly, so after two calls with the same arguments a tool is not offered until a call changes
            # something; reading again what may have changed is useful.
            free = [tool for tool in offered if tool.name not in repeated] or offered
            schema = schemas.step(free, stop=n > 1)
            messages = fitted(head, talk, limit(options))
            want = await self.questions.ask("explore", f"/{number}.{n}", messages, schema, read_step)
            if want is None or want.tool is None:
                _stopped(talk, want)
                return
            step, over = await asyncio.to_thread(self._carry_out, episode, want.tool, want.arguments)
            self.steps.append(step)
            result = observed(step, len(self.steps), options.context_chars // 12)
            before, state = state, await asyncio.to_thread(episode.state)
            if state != before:
                repeated.clear()
            elif step.error is None:
                self.idle.add(len(self.steps) - 1)
            if (step.action, before) in made:  # with the same state after it as now
                repeated.add(step.action.name)
                result += " You made this very call before, and nothing has changed since; make another one."
            made.append((step.action, state))
            request = cut(wanted(want.thought, want.tool, want.arguments), options.context_chars // 12)
            talk.append({"role": "assistant", "content": request})
            talk.append({"role": "user", "content": result})
            if over:
                return

    @property
    def _may_ask(self) -> bool:
        return self.questions.left is None or self.questions.left > KEPT

    def _carry_out(self, episode: Episode, name: str, arguments: Mapping[str, Any]) -> tuple[Step, bool]:
        """Carry out one call; return its step, and whether it ended the episode. A call that fails leaves the episode as it was."""
        action = Action(name, dict(arguments))
        if name not in self.tools:
            return _failed(action, f"there is no tool {name!r}"), False
        try:
            action = Action(name, checked_arguments(self.tools[name], arguments))
        except Refusal as refusal:
            return _failed(action, refusal.detail), False
        before = episode.snapshot()
        seen = episode.step(self.environment.script([action])[0])
        if seen.steps and seen.steps[0].error is None:
            return seen.steps[0], seen.done
        episode.restore(before)
        if seen.steps:
            return seen.steps[0], False
        answer = " ".join(str(message.get("content", "")) for message in seen.messages)
        return _failed(action, seen.fault or answer or "this is no call"), False


def _failed(action: Action, error: str) -> Step:
    return Step(action, f"error: {error}", None, error)


def _stopped(talk: list[Message], want: NextStep | None) -> None:
    """Add the two messages that end a round: the teacher stopped, or no reply could be read."""
    talk.append({"role": "assistant", "content": wanted(want.thought if want else "", "stop", {})})
    talk.append({"role": "user", "content": "The round is over."})


def _append(talk: list[Message], text: str) -> None:
    """Add `text` to the last message."""
    last = talk[-1]
    talk[-1] = {**last, "content": f"{last['content']}\n\n{text}"}
