"""Request the answers of many conversations from an endpoint: concurrently, within the rate limit and the budget, with retries.

Any text of the model is an answer, also a refusal or an empty text. A failure of the endpoint is a fault, also one that it reports inside
an answer, and one that withholds the model's text; it ends one rollout.
A field that the endpoint refuses is not sent again (coevolve.endpoint.Dialect).
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from attrs import define

from coevolve import Environment, InfrastructureFault, Sampling, Unsent, UserError, one_line
from coevolve.endpoint import Answer, Budget, Dialect, Endpoint, Failed, Pace, Spent, Usage, read_answer, repeated, tokens_of

from .draw import uniforms
from .tool_calls import as_text, example_of, native, plain

IN_A_ROW = 3
"""The endpoint counts as down after this many failed conversations in a row."""

Reply = str | InfrastructureFault | None


@define
class _Connection:
    """The HTTP client and the semaphore of one call of `all`; both belong to its event loop."""

    endpoint: Endpoint
    slots: asyncio.Semaphore


class EndpointRequests:
    """Sends all requests of one policy and updates `spent` with each call. Use it in one event loop at a time."""

    def __init__(self, options: Any, spent: Spent, environment: Environment | None) -> None:
        self.options, self.spent, self._environment = options, spent, environment
        self._pace = Pace(options.requests_per_minute)
        self._budget = Budget(options.budget, lambda: spent)
        self._dialect = Dialect(tools=options.tools != "text", fixed=frozenset() if options.tools == "auto" else frozenset({"tools"}))
        self._tools_seen = False
        self._in_a_row = 0

    def taken(self) -> dict[str, Any]:
        """How the endpoint accepted tools and temperature, as far as it is known, for the record of a run."""
        found: dict[str, Any] = {}
        if self._tools_seen:
            found["tools"] = "functions" if self._dialect.tools else "in the prompt"
        return found if self._dialect.temperature else {**found, "temperature": "the endpoint's own: it does not accept one"}

    async def all(self, conversations: Sequence[Any], sampling: Sampling, on_completion: Callable[[int, str], None]) -> list[Reply]:
        """The replies in the conversations' order; calls `on_completion(index, text)` when a text arrives.

        The first exception cancels the rest.

        A reply is a text, the fault of its conversation, or None where the prompt is too long.
        """
        try:
            here = _Connection(Endpoint(self.options), asyncio.Semaphore(self.options.concurrency))
        except Failed as failed:
            raise UserError(failed.reason) from None

        async def answered(n: int, conversation: Any) -> Reply:
            reply = await self._one(here, conversation, sampling)
            if isinstance(reply, str):
                on_completion(n, reply)
            return reply

        tasks = [asyncio.create_task(answered(n, conversation)) for n, conversation in enumerate(conversations)]
        try:
            await asyncio.gather(*tasks)
            return [task.result() for task in tasks]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await here.endpoint.close()

    async def _one(self, here: _Connection, conversation: Any, sampling: Sampling) -> Reply:
        try:
            answer = await repeated(lambda: self._attempt(here, conversation, sampling), self.options.retries, self._pace)
        except Failed as failed:
            return None if failed.too_long else self._lost(failed)
        self._in_a_row = 0
        return self._add_answer(conversation, answer)

    async def _attempt(self, here: _Connection, conversation: Any, sampling: Sampling) -> Answer:
        """Send one request; the model's answer, which may be empty or a refusal. Raises Failed."""
        dialect, scrub = self._dialect, here.endpoint.scrub
        body = self._body(dialect, conversation, sampling)
        prompt, room = tokens_of(body["messages"]) + tokens_of(body.get("tools", "")), sampling.max_new_tokens
        async with here.slots:
            await self._pace.turn()
            async with self._budget.held(prompt + room, self.options.cost(prompt, room)):
                usage: Usage | None = Usage(prompt, reported=False)
                failed = True
                try:
                    answer = read_answer(*await here.endpoint.post(body))
                    usage, failed = answer.usage or Usage(prompt, tokens_of(answer.text), reported=False), False
                    return Answer(scrub(answer.text), answer.usage, answer.calls, answer.cut)
                except Failed as error:
                    failed = not error.own
                    usage = error.usage or (Usage(prompt, reported=False) if error.lost else None)
                    error.reason = one_line(scrub(error.reason), 400)
                    if error.own:
                        return Answer("" if error.again else scrub(error.raw))
                    if (simpler := dialect.simpler(error, body)) is not None:
                        self._dialect = self._dialect.common(simpler)
                    if not error.too_long and self._dialect != dialect:
                        error.instead = self._dialect
                    raise
                finally:
                    self._count(usage, failed)

    def _count(self, usage: Usage | None, failed: bool) -> None:
        spent = self.spent
        spent.calls += 1
        spent.failed += failed
        if usage is not None:
            spent.prompt_tokens += usage.prompt
            spent.completion_tokens += usage.completion
            spent.cost += self.options.cost(usage.prompt, usage.completion)
            spent.estimated += not usage.reported

    def _body(self, dialect: Dialect, conversation: Any, sampling: Sampling) -> dict[str, Any]:
        tools = conversation.tools if self._environment is not None else None
        self._tools_seen = self._tools_seen or bool(tools)
        functions = None
        if tools and dialect.tools:
            messages = native(conversation.turns)
            functions = [tool if "function" in tool else {"type": "function", "function": tool} for tool in tools]
        else:
            messages = plain(conversation.turns, tools, example_of(tools, self._environment) if tools and self._environment else "")
        seed = None
        if self.options.seed:
            seed = int(uniforms(sampling.seed, [conversation.row], [len(conversation.turns)], 1)[0, 0].item() * 2**31)
        return dialect.body(self.options.model, messages, sampling.max_new_tokens, sampling.temperature, tools=functions, seed=seed)

    def _add_answer(self, conversation: Any, answer: Answer) -> str:
        """Add the answer to the conversation; return its text as the environment reads it."""
        conversation.cut += answer.cut
        if not answer.calls or self._environment is None:
            conversation.wrote(answer.text)
            return answer.text
        text, carried_out = as_text(answer.calls, self._environment)
        conversation.wrote(text, answer.text, answer.calls if carried_out else ())
        return text

    def _lost(self, failed: Failed) -> InfrastructureFault:
        """The fault of one conversation. Raises UserError or InfrastructureFault where the failure concerns all of them."""
        if failed.status in (401, 403, 404):
            raise UserError(failed.reason)
        if failed.unsent is None and failed.counts:
            self._in_a_row += 1
        if self._in_a_row >= IN_A_ROW:
            where = self.options.base_url
            raise InfrastructureFault(f"the endpoint {where} failed {self._in_a_row} conversations in a row, the last: {failed.reason}")
        if failed.unsent is not None:
            return InfrastructureFault(f"{failed.reason}: raise policy.budget" if failed.unsent is Unsent.BUDGET else failed.reason)
        if failed.body or not failed.counts:  # the endpoint itself said what is wrong
            return InfrastructureFault(f"{failed.reason} (from {self.options.base_url})")
        fix = "check policy.base_url, and that a server answers there"
        return InfrastructureFault(f"{failed.reason} (from {self.options.base_url}: {fix})")
