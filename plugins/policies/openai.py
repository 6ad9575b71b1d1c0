"""Policy "openai": a model behind any OpenAI-compatible endpoint, for evaluations and attempts. It has no token ids, so it cannot train.

    [policy]
    name = "openai"
    model = "qwen3-max"
    base_url = "http://127.0.0.1:8080/v1"
    api_key_env = ""            # the variable that holds the key; "" for none
    budget = "2cost"            # with input_price and output_price, per million tokens

Where the environment has tools and the endpoint supports function calls, the model calls the tools as functions. Its calls are converted to
the text in which the environment reads actions, and the results are sent as tool messages. Otherwise everything is text.
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
    """The model, its endpoint, and the limits on requests and cost."""

    tools: Literal["auto", "native", "text"] = "auto"
    """How tools are sent: as functions ("native"), in the prompt ("text"), or as functions unless the endpoint refuses them ("auto")."""
    seed: bool = False
    """Send a seed with each request. Not every endpoint accepts one, and few are deterministic with it."""


@define(eq=False)
class EndpointConversation:
    """An episode's messages as text, and its turns with the function calls as the model made them."""

    messages: list[Message]
    turns: list[Turn]
    tools: Sequence[dict[str, Any]] | None
    row: int
    tokens: Tokens | None = None
    cut: int = 0
    """Answers that the endpoint ended at the limit of tokens."""

    def observe(self, messages: Sequence[Message]) -> None:
        """Add the environment's messages."""
        self.messages.extend(messages)
        self.turns += [Turn(message) for message in messages]

    def wrote(self, text: str, content: str = "", calls: tuple[ToolCall, ...] = ()) -> None:
        """Add the model's answer: `text` as the environment reads it; `content` and `calls` as the model wrote them, if it made calls."""
        message = {"role": "assistant", "content": text}
        self.messages.append(message)
        self.turns.append(Turn(message, content, calls))


class OpenAIPolicy:
    """Sends the requests of all conversations concurrently, at most `concurrency` at a time. Thread-safe: calls take turns."""

    name: ClassVar[str] = "openai"
    Options: ClassVar[type[Any]] = OpenAIOptions

    def __init__(self, options: OpenAIOptions) -> None:
        self.options = options
        self.spent = Spent()
        self._environment: Environment | None = None
        self._requests: Any = None
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise UserError for a missing library or key."""
        check_packages('policy "openai"', "openai")
        if text := missing_key(self.options):
            raise UserError(text)

    def bind(self, environment: Environment) -> None:
        """Set the environment whose `script` converts calls to text."""
        self._environment = environment

    def provenance(self) -> Mapping[str, Any]:
        """The endpoint's address, and the request fields that it accepted, as far as they are known."""
        found: dict[str, Any] = {"endpoint": self.options.base_url}
        return found | (self._requests.taken() if self._requests else {})

    def usage(self) -> Mapping[str, float]:
        """Calls, tokens and cost so far."""
        spent = self.spent
        names = ("calls", "failed", "prompt_tokens", "completion_tokens", "estimated", "cost")
        return {name: getattr(spent, name) for name in names}

    def begin(self, task: Task, messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None, row: int) -> Any:
        """A new conversation about `task` that opens with `messages`; `row` selects its random numbers."""
        return EndpointConversation(list(messages), [Turn(message) for message in messages], tools, row)

    def complete(self, conversations: Sequence[Any], sampling: Sampling) -> list[str | InfrastructureFault | None]:
        """The next answer of each conversation: a text, an InfrastructureFault where none came, or None where the prompt is too long.

        Raises UserError where the endpoint denies access, InfrastructureFault where several conversations in a row fail.
        """
        return self.complete_streaming(conversations, sampling, lambda n, text: None)

    def complete_streaming(
        self, conversations: Sequence[Any], sampling: Sampling, on_completion: Callable[[int, str], None]
    ) -> list[str | InfrastructureFault | None]:
        """As `complete`; calls `on_completion(index, text)` when an answer arrives."""
        import asyncio

        with self._lock:
            if self._requests is None:
                self.check()
                from .endpoint_requests import EndpointRequests

                self._requests = EndpointRequests(self.options, self.spent, self._environment)
            return asyncio.run(self._requests.all(conversations, sampling, on_completion))


@hookimpl
def coevolve_policies() -> list[type[OpenAIPolicy]]:
    return [OpenAIPolicy]
