"""Policy "openai": a model behind any OpenAI-compatible endpoint, for evaluations and attempts. Without token ids it cannot be trained.

    [policy]
    name = "openai"
    model = "qwen3-max"
    base_url = "http://127.0.0.1:8080/v1"
    api_key_env = ""            # the variable that holds the key; "" for none
    budget = "2cost"            # with input_price and output_price, per million tokens

Where the environment gives tools and the endpoint takes them, the model calls them as functions: its calls become the text in which the
environment takes actions, and their results go back as tool messages. Otherwise everything is text.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from attrs import define, frozen

from coevolve import Environment, InfrastructureFault, Message, Sampling, Task, Tokens, UserError, hookimpl
from coevolve.endpoint import EndpointOptions, Spent, ToolCall, check_packages, missing_key

from .tool_calls import Turn


@frozen(kw_only=True)
class OpenAIOptions(EndpointOptions):
    """Which model, where, and what it may cost."""

    tools: Literal["auto", "native", "text"] = "auto"
    """How the environment's tools are told: as functions ("native"), in the prompt ("text"), or the first where the endpoint takes it."""
    seed: bool = False
    """Send the draw's seed along; not every endpoint takes one, and few keep to it."""


@define(eq=False)
class EndpointConversation:
    """An episode's messages as text, and beside them the turns with the calls as the endpoint made them."""

    messages: list[Message]
    turns: list[Turn]
    tools: Sequence[dict[str, Any]] | None
    row: int
    tokens: Tokens | None = None

    def observe(self, messages: Sequence[Message]) -> None:
        self.messages.extend(messages)
        self.turns += [Turn(message) for message in messages]

    def wrote(self, text: str, content: str = "", calls: tuple[ToolCall, ...] = ()) -> None:
        """The model's answer: `text` as the environment takes it, and what the endpoint said where that is something else."""
        message = {"role": "assistant", "content": text}
        self.messages.append(message)
        self.turns.append(Turn(message, content, calls))


class OpenAIPolicy:
    """Asks for all conversations at once, at most `concurrency` at a time."""

    name: ClassVar[str] = "openai"
    Options: ClassVar[type[Any]] = OpenAIOptions

    def __init__(self, options: OpenAIOptions) -> None:
        self.options = options
        self.spent = Spent()
        self._environment: Environment | None = None
        self._requests: Any = None
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise UserError for a library or a key that is missing."""
        check_packages('policy "openai"', "openai")
        if text := missing_key(self.options):
            raise UserError(text)

    def bind(self, environment: Environment) -> None:
        """Name the environment whose `script` turns calls into text."""
        self._environment = environment

    def provenance(self) -> Mapping[str, Any]:
        """Where the answers came from, and what of the request the endpoint took."""
        found: dict[str, Any] = {"endpoint": self.options.base_url}
        return found | (self._requests.taken() if self._requests else {})

    def usage(self) -> Mapping[str, float]:
        """Calls, tokens and cost so far."""
        spent = self.spent
        names = ("calls", "failed", "prompt_tokens", "completion_tokens", "estimated", "cost")
        return {name: getattr(spent, name) for name in names}

    def begin(self, task: Task, messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None, row: int) -> Any:
        """A new conversation of `task` that opens with `messages`."""
        return EndpointConversation(list(messages), [Turn(message) for message in messages], tools, row)

    def complete(self, conversations: Sequence[Any], sampling: Sampling) -> list[str | InfrastructureFault | None]:
        """The next answer of each conversation; an InfrastructureFault where the endpoint gave none, None where the prompt is too long.

        Raises UserError for an endpoint that does not let us in, InfrastructureFault for one that fails time and again.
        """
        return self.complete_streaming(conversations, sampling, lambda n, text: None)

    def complete_streaming(
        self, conversations: Sequence[Any], sampling: Sampling, tell: Callable[[int, str], None]
    ) -> list[str | InfrastructureFault | None]:
        """As `complete`; calls `tell(index, text)` with each answer as it arrives."""
        import asyncio

        with self._lock:
            if self._requests is None:
                self.check()
                from .endpoint_requests import EndpointRequests

                self._requests = EndpointRequests(self.options, self.spent, self._environment)
            return asyncio.run(self._requests.all(conversations, sampling, tell))


@hookimpl
def coevolve_policies() -> list[type[OpenAIPolicy]]:
    return [OpenAIPolicy]
