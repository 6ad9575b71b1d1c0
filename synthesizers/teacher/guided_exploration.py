"""Re-exploration: rounds of calls in fresh episodes of a task, through the contract that the policy uses (paper, section 3).

Every round begins where the task begins. What earlier rounds learnt stays in the conversation; nothing that they did stays in the world:
the calls of one round alone lead from the task's beginning to what they found, which a new task needs. A call that fails, or that ends the
episode by mistake, is undone and reported to the teacher.
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
"""Questions that an exploration with a limit keeps for the abstraction."""


@define
class GuidedExploration:
    """The calls of one exploration, failed ones included, in order; `ends` are the numbers of calls after which a round was over."""

    environment: Environment
    tools: Mapping[str, Tool]
    task: Task
    prompts: Prompts
    questions: Questions
    steps: list[Step] = field(factory=list)
    ends: list[int] = field(factory=list)

    async def run(self, head: Sequence[Message], offered: Sequence[Tool]) -> None:
        """Run all rounds. Raises TeacherFault and InfrastructureFault; the steps until then stay in `steps`."""
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
        options, repeated, first = self.prompts.options, set[str](), len(self.steps)
        for n in range(1, options.steps + 1):
            if not self._may_ask:
                return
            # Small models repeat themselves for ever: a tool that was called twice alike is not offered again in this round.
            free = [tool for tool in offered if tool.name not in repeated] or offered
            schema = schemas.step(free, stop=n > 1)
            messages = fitted(head, talk, limit(options))
            want = await self.questions.ask("explore", f"/{number}.{n}", messages, schema, read_step)
            if want is None or want.tool is None:
                _stopped(talk, want)
                return
            step, over = await asyncio.to_thread(self._carry_out, episode, want.tool, want.arguments)
            told = observed(step, len(self.steps) + 1, options.context_chars // 12)
            if any(before.action == step.action for before in self.steps[first:]):
                repeated.add(step.action.name)
                told += " You made this very call before; make another one."
            self.steps.append(step)
            said = cut(wanted(want.thought, want.tool, want.arguments), options.context_chars // 12)
            talk.append({"role": "assistant", "content": said})
            talk.append({"role": "user", "content": told})
            if over:
                return

    @property
    def _may_ask(self) -> bool:
        return self.questions.left is None or self.questions.left > KEPT

    def _carry_out(self, episode: Episode, name: str, arguments: Mapping[str, Any]) -> tuple[Step, bool]:
        """One call, and whether the episode is over by it; a call that fails leaves the episode as it was."""
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
        told = " ".join(str(message.get("content", "")) for message in seen.messages)
        return _failed(action, seen.fault or told or "this is no call"), False


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
