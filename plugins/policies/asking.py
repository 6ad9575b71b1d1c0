"""Asks an endpoint for the answers of many conversations at once: at its pace, within the budget, again where that may help.

What the model says is an answer, also a refusal or nothing at all; only what the endpoint fails to do is a fault, and it costs one rollout.
Endpoints differ in what they take (functions, a temperature, the name of the limit on tokens): what one refuses is left out from then on.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field

from coevolve import Environment, InfrastructureFault, Sampling, UserError
from coevolve.endpoint import (
    Answer,
    Endpoint,
    Failed,
    Pace,
    Usage,
    error_fields,
    growing,
    line,
    read_answer,
    read_budget,
    tokens_of,
    waiting,
)

from .draw import uniforms
from .tool_calls import as_text, example_of, native, plain

IN_A_ROW = 3
"""Conversations that fail for good one after the other until the endpoint counts as down."""
NOT_UNDERSTOOD = (400, 415, 422, 500, 501)
"""Statuses with which servers refuse what they do not know; some raise on it."""
TOO_LONG = ("context_length_exceeded", "string_above_max_length", "exceed_context_size_error")
TOO_LONG_WORDS = ("context length", "context size", "context window", "maximum context", "too many tokens")

Reply = str | InfrastructureFault | None


@define
class _Held:
    """Reservations of calls that are on their way, in the budget's unit, and a word whenever one settles."""

    amount: float = 0.0
    settled: asyncio.Event = field(factory=asyncio.Event)


@define
class _Here:
    """What belongs to one event loop."""

    endpoint: Endpoint
    slots: asyncio.Semaphore
    held: _Held = field(factory=_Held)


class Asking:
    """Asks for one policy, all its life; `spent` is kept up to date."""

    def __init__(self, options: Any, spent: Any, environment: Environment | None) -> None:
        self.options, self.spent, self._environment = options, spent, environment
        self._pace = Pace(options.requests_per_minute)
        self._budget = read_budget(options.budget)
        self._native = options.tools != "text"
        self._limit, self._temperature, self._seed = "max_tokens", True, bool(options.seed)
        self._tools_seen = False
        self._in_a_row = 0

    def taken(self) -> dict[str, Any]:
        """What of a request the endpoint took, as far as it is known."""
        found: dict[str, Any] = {}
        if self._tools_seen:
            found["tools"] = "functions" if self._native else "in the prompt"
        return found if self._temperature else {**found, "temperature": "the endpoint's own: it takes none"}

    async def all(self, conversations: Sequence[Any], sampling: Sampling, tell: Callable[[int, str], None]) -> list[Reply]:
        """The replies in the conversations' order, each text told as it arrives. The first exception cancels what is still asked."""
        try:
            here = _Here(Endpoint(self.options), asyncio.Semaphore(self.options.concurrency))
        except Failed as failed:
            raise UserError(failed.reason) from None

        async def told(n: int, conversation: Any) -> Reply:
            reply = await self._one(here, conversation, sampling)
            if isinstance(reply, str):
                tell(n, reply)
            return reply

        tasks = [asyncio.create_task(told(n, conversation)) for n, conversation in enumerate(conversations)]
        try:
            await asyncio.gather(*tasks)
            return [task.result() for task in tasks]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await here.endpoint.close()

    async def _one(self, here: _Here, conversation: Any, sampling: Sampling) -> Reply:
        failures = 0
        while True:
            form = self._form()
            try:
                answer = await self._attempt(here, conversation, sampling)
            except Failed as failed:
                failed.reason = line(here.endpoint.scrub(failed.reason), 400)
                if not failed.counts:  # the model's own: it refused, or said nothing
                    return self._said(conversation, Answer("" if failed.again else here.endpoint.scrub(failed.raw)))
                if too_long(failed):
                    return None
                if form != self._form() or self._left_out(failed, conversation):
                    continue
                failures += 1
                if failed.again and failures <= self.options.retries:
                    if failed.after is not None:
                        self._pace.quiet(failed.after)
                    await waiting.sleep(growing(failures))
                    continue
                return self._lost(failed)
            self._in_a_row = 0
            return self._said(conversation, answer)

    async def _attempt(self, here: _Here, conversation: Any, sampling: Sampling) -> Answer:
        body = self._body(conversation, sampling)
        prompt = tokens_of(body["messages"]) + tokens_of(body.get("tools", ""))
        async with here.slots:
            await self._pace.turn()
            held = await self._hold(here.held, prompt, sampling.max_new_tokens)
            usage: Usage | None = Usage(prompt, told=False)
            failed = True
            try:
                answer = read_answer(*await here.endpoint.post(body))
                answer = Answer(here.endpoint.scrub(answer.text), answer.usage, answer.calls, answer.cut)
                usage = answer.usage or Usage(prompt, tokens_of(answer.text), told=False)
                failed = False
                return answer
            except Failed as error:
                failed = error.counts
                usage = error.usage or (Usage(prompt, told=False) if error.lost else None)
                raise
            finally:
                here.held.amount -= held
                here.held.settled.set()
                here.held.settled = asyncio.Event()
                self._count(usage, failed)

    async def _hold(self, held: _Held, prompt: int, room: int) -> float:
        """Reserve an upper estimate in the budget's unit; raises Failed where there is no room for it."""
        if self._budget is None:
            return 0.0
        most, unit = self._budget
        own: float = {"calls": 1.0, "tokens": prompt + room, "cost": self.options.cost(prompt, room)}[unit]
        while (spent := self._spent(unit)) + held.amount + own > most:
            if not held.amount or spent + own > most:
                raise Failed(f"the budget of {self.options.budget} is used up")
            await held.settled.wait()
        held.amount += own
        return own

    def _spent(self, unit: str) -> float:
        spent = self.spent
        found: dict[str, float] = {"calls": spent.calls, "tokens": spent.prompt_tokens + spent.completion_tokens, "cost": spent.cost}
        return found[unit]

    def _count(self, usage: Usage | None, failed: bool) -> None:
        spent = self.spent
        spent.calls += 1
        spent.failed += failed
        if usage is not None:
            spent.prompt_tokens += usage.prompt
            spent.completion_tokens += usage.completion
            spent.cost += self.options.cost(usage.prompt, usage.completion)
            spent.estimated += not usage.told

    def _body(self, conversation: Any, sampling: Sampling) -> dict[str, Any]:
        tools = conversation.tools if self._environment is not None else None
        functions = bool(tools) and self._native
        self._tools_seen = self._tools_seen or bool(tools)
        if functions:
            messages = native(conversation.turns)
        else:
            messages = plain(conversation.turns, tools, example_of(tools, self._environment) if tools and self._environment else "")
        body: dict[str, Any] = {"model": self.options.model, "messages": messages, self._limit: sampling.max_new_tokens}
        if functions:
            body["tools"] = [tool if "function" in tool else {"type": "function", "function": tool} for tool in tools or ()]
        if self._temperature:
            body["temperature"] = sampling.temperature
        if self._seed:
            drawn = uniforms(sampling.seed, [conversation.row], [len(conversation.turns)], 1)
            body["seed"] = int(drawn[0, 0].item() * 2**31)
        return body

    def _form(self) -> tuple[bool, str, bool, bool]:
        return self._native, self._limit, self._temperature, self._seed

    def _left_out(self, failed: Failed, conversation: Any) -> bool:
        """Whether the endpoint refused something that can be left out, which it is from now on."""
        if failed.status not in NOT_UNDERSTOOD:
            return False
        fields = error_fields(failed.body)
        parameter, message = str(fields.get("param") or ""), str(fields.get("message") or failed.raw).lower()
        if self._limit == "max_tokens" and "max_completion_tokens" in message:
            self._limit = "max_completion_tokens"
        elif self._temperature and (parameter == "temperature" or "temperature" in message):
            self._temperature = False
        elif self._seed and (parameter == "seed" or "seed" in message):
            self._seed = False
        elif self._native and self.options.tools == "auto" and conversation.tools and ("tool" in message or "function" in message):
            self._native = False
        else:
            return False
        return True

    def _said(self, conversation: Any, answer: Answer) -> str:
        if not answer.calls or self._environment is None:
            conversation.wrote(answer.text)
            return answer.text
        text, carried_out = as_text(answer.calls, self._environment)
        conversation.wrote(text, answer.text, answer.calls if carried_out else ())
        return text

    def _lost(self, failed: Failed) -> InfrastructureFault:
        """The fault of one conversation; raises where it is not of this one alone."""
        if failed.status in (401, 403, 404):
            raise UserError(failed.reason)
        if "budget" not in failed.reason:
            self._in_a_row += 1
        if self._in_a_row >= IN_A_ROW:
            where = self.options.base_url
            raise InfrastructureFault(f"the endpoint {where} failed {self._in_a_row} conversations in a row, the last: {failed.reason}")
        return InfrastructureFault(failed.reason)


def too_long(failed: Failed) -> bool:
    """Whether the endpoint refused a conversation for its length."""
    fields = error_fields(failed.body)
    code, message = str(fields.get("code") or fields.get("type") or ""), str(fields.get("message") or "").lower()
    return failed.status in NOT_UNDERSTOOD and (code in TOO_LONG or any(words in message for words in TOO_LONG_WORDS))
