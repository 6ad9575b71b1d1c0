"""Policy "scripted": plays given texts instead of sampling, for tests and baselines, and to try an environment without a model.

[policy]
name = "scripted"
source = "solution"       # or: source = "texts", texts = ["calendar.list()", "answer('3')"]
"""

from collections.abc import Sequence
from itertools import cycle
from typing import Any, ClassVar

from attrs import define, frozen

from coevolve import Environment, Message, Sampling, Task, Tokens, UserError, did_you_mean, hookimpl


@frozen
class ScriptedOptions:
    """The source of the texts."""

    source: str = "solution"
    """"solution": the task's own solution, written by the environment; "texts": those of the option `texts`."""
    texts: tuple[str, ...] = ()
    """Texts that every conversation plays in order; after the last it begins again with the first."""


@define
class ScriptedConversation:
    """A conversation that plays its texts. It has no token ids, so it cannot be used for training."""

    messages: list[Message]
    script: Any
    """Iterator over the texts that are left."""
    tokens: Tokens | None = None

    def observe(self, messages: Sequence[Message]) -> None:
        """Add the environment's messages."""
        self.messages.extend(messages)


class Scripted:
    """Plays texts. Source "solution" needs `bind(environment)` before the first conversation, and plays "" after the end of a solution."""

    name: ClassVar[str] = "scripted"
    Options: ClassVar[type[Any]] = ScriptedOptions

    def __init__(self, options: ScriptedOptions) -> None:
        if options.source not in ("solution", "texts"):
            raise UserError(f"policy.source {options.source!r} is unknown{did_you_mean(options.source, ['solution', 'texts'])}")
        if options.source == "texts" and not options.texts:
            raise UserError('policy.texts is empty; give the texts to play, or set policy.source = "solution"')
        self.options = options
        self._environment: Environment | None = None

    def bind(self, environment: Environment) -> None:
        """Set the environment whose `script` converts solutions to texts."""
        self._environment = environment

    def begin(self, task: Task, messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None, row: int) -> ScriptedConversation:
        """A new conversation about `task` that opens with `messages`. Raises UserError where `bind` is missing."""
        if self.options.source == "texts":
            return ScriptedConversation(list(messages), cycle(self.options.texts))
        if self._environment is None:
            raise UserError('policy "scripted" with source "solution" needs bind(environment) before it plays')
        return ScriptedConversation(list(messages), iter(self._environment.script(task.solution)))

    def complete(self, conversations: Sequence[Any], sampling: Sampling) -> list[str | None]:
        """The next text of each conversation; `sampling` has no effect."""
        texts: list[str | None] = []
        for conversation in conversations:
            text = next(conversation.script, "")
            conversation.messages.append({"role": "assistant", "content": text})
            texts.append(text)
        return texts


@hookimpl
def coevolve_policies() -> list[type[Scripted]]:
    return [Scripted]
