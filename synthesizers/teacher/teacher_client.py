"""Send the teacher's requests within the budget and the rate limit, with retries; recall replies that the journal already holds.

    ask = recall from the journal
       or up to 1 + retries attempts, each: a slot, the rate limit, a reservation in the budget, one HTTP call, one row in the journal

A reply that was cut off at its limit on tokens is returned as it is: the parser keeps the complete candidates in it, and the caller repeats
the request, with twice the limit, only where it cannot read the reply. A retry here would pay twice for a reply that is mostly good, and a
small model that never stops would fill any limit. The limit is doubled here only where no text came at all (a model that thinks first).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NoReturn

from attrs import define

from coevolve import Chat, InfrastructureFault, Journal, Message, TeacherCall, TooManyFaults, Unsent, UserError, one_line
from coevolve.endpoint import (
    Answer,
    Budget,
    Dialect,
    Endpoint,
    Failed,
    Usage,
    check_packages,
    read_answer,
    repeated,
    tokens_of,
    waiting,
)

from .budget import Ledger
from .faults import BudgetSpent, EndpointDown, TeacherFault
from .options import PACKAGES, TeacherOptions

IN_A_ROW = 3
"""The endpoint counts as down after this many failed requests in a row."""
MOST_ROOM = 4
"""Upper bound on the limit on tokens after empty replies that were cut off, as a multiple of the first limit."""
AROUND = 8
"""Estimate of the tokens that a chat template adds to one message."""
ESTIMATED = "the teacher's endpoint reports no token usage: tokens and cost are estimates (one token for 3 bytes)"


@define
class _LoopResources:
    """The semaphore and the HTTP client of one event loop; they cannot be used in another."""

    loop: asyncio.AbstractEventLoop
    slots: asyncio.Semaphore
    endpoint: Endpoint | None = None


@define
class _Request:
    """One request: its content in the journal (`kept`), and the form and the limit on tokens of its next attempt."""

    key: str
    iteration: int
    purpose: str
    kept: Mapping[str, Any]
    dialect: Dialect
    room: int

    @property
    def prompt_tokens(self) -> int:
        """Upper estimate of the prompt's tokens. It includes the schema, because some servers put it into the prompt."""
        texts = [str(message.get("content", "")) for message in self.kept["messages"]]
        return sum(AROUND + tokens_of(text) for text in texts) + tokens_of(self.kept["schema"] or "")


class TeacherClient:
    """Sends the requests of one synthesizer during a run. Use it in one event loop at a time, and call `aclose` before the next loop.

    With provider "policy" the policy answers. Its tokens are estimated. A request is not retried, because the policy's random numbers are
    fixed.
    """

    def __init__(self, options: TeacherOptions, journal: Journal, chat: Chat | None) -> None:
        check_packages("synthesizer 'teacher'", "teacher", PACKAGES)
        if options.provider == "policy" and chat is None:
            raise UserError("synthesizer.provider = 'policy' needs the policy in training, and there is none here; set it to 'endpoint'")
        self.options, self._journal = options, journal
        self._chat = chat if options.provider == "policy" else None
        self._model = options.model if self._chat is None else "policy"
        self._ledger = Ledger(journal)
        self._run_budget = Budget(options.budget, self._ledger.whole, " for this run")
        self._evolution_budgets: dict[int, Budget] = {}
        self._pace = waiting.Pace(options.requests_per_minute)
        self._dialect = Dialect() if options.structured == "auto" else Dialect(options.structured, fixed=frozenset({"format"}))
        self._iteration: int | None = None
        self._in_a_row = 0
        self._down = ""
        self._here: _LoopResources | None = None

    def begin(self, iteration: int) -> None:
        """Start the evolution of `iteration`; an endpoint that was down gets another try."""
        self._iteration, self._in_a_row, self._down = iteration, 0, ""

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        here, self._here = self._here, None
        if here and here.endpoint:
            await here.endpoint.close()

    async def ask(
        self,
        key: str,
        iteration: int,
        purpose: str,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """The reply's raw text. `key` names the request in the run; it must not depend on timing.

        Raises TeacherFault where no usable reply came (after the last attempt; at once for a refusal), BudgetSpent or EndpointDown where
        nothing was sent, and TooManyFaults for an endpoint that is down where `when_down` is "stop".
        """
        if iteration != self._iteration:
            self.begin(iteration)
        room = max_tokens or self.options.max_tokens
        kept = {
            "model": self._model,
            "messages": [{name: _sendable(value) for name, value in message.items()} for message in messages],
            "schema": schema,
            "temperature": self.options.temperature,
            "max_tokens": room,
        }
        if known := self._journal.recall(key, kept):
            return self._recalled(known[-1])
        request = _Request(key, iteration, purpose, kept, self._dialect, room)
        try:
            text = await repeated(lambda: self._attempt(request), self.options.retries, self._pace)
        except Failed as failed:
            self._give_up(request, failed)
        self._in_a_row = 0
        self._dialect = self._dialect.common(request.dialect)
        return text

    def _recalled(self, call: TeacherCall) -> str:
        if call.fault is None:
            return call.reply or ""
        self._raise(call.fault.partition("\n")[0], call.unsent)

    async def _attempt(self, request: _Request) -> str:
        """One attempt, recorded in the journal. Raises Failed."""
        here = self._of_loop()
        async with here.slots, self._reserved(request):
            started = waiting.now()

            def record(reply: str | None, fault: str | None, usage: Usage) -> None:
                cost = self._cost(usage.prompt, usage.completion)
                seconds = waiting.now() - started
                about = (request.key, request.iteration, request.purpose, self._model, request.kept)
                self._journal.record(TeacherCall(*about, reply, fault, usage.prompt, usage.completion, cost, seconds))

            scrub: Callable[[str], str] = str
            try:
                if self._chat is None:
                    here.endpoint = here.endpoint or Endpoint(self.options)
                    scrub = here.endpoint.scrub
                    answer = await _ask_endpoint(here.endpoint, request)
                else:
                    answer = await self._ask_policy(request)
            except Failed as failed:
                failed.reason, failed.raw = one_line(scrub(failed.reason), 400), scrub(failed.raw)
                if failed.unsent is None:
                    record(None, failed.fault, failed.usage or Usage(request.prompt_tokens if failed.lost else 0))
                self._learn(request, failed)
                raise
            except asyncio.CancelledError:
                record(None, "cancelled", Usage(request.prompt_tokens))
                raise
            else:
                text = scrub(answer.text)
                record(text, None, self._usage(request, answer))
                return text

    @asynccontextmanager
    async def _reserved(self, request: _Request) -> AsyncIterator[None]:
        """Wait for the rate limit and reserve the call in both budgets. Raises Failed where one has no room or the endpoint is down."""
        prompt, iteration = request.prompt_tokens, request.iteration
        most = prompt + request.room, self._cost(prompt, request.room)
        if iteration not in self._evolution_budgets:
            calls = self.options.calls_per_evolution
            spent = self._ledger.evolution(iteration)
            self._evolution_budgets[iteration] = Budget(f"{calls}calls" if calls else "", spent, " for this evolution")
        await self._pace.turn()
        self._check_up()
        async with self._evolution_budgets[iteration].held(*most), self._run_budget.held(*most):
            self._check_up()
            yield

    def _check_up(self) -> None:
        if self._down:
            raise Failed(self._down, counts=False, unsent=Unsent.DOWN)

    def _learn(self, request: _Request, failed: Failed) -> None:
        """Change the next attempt: its form, or its limit on tokens."""
        if failed.instead is not None:
            request.dialect = failed.instead
        elif failed.cut:
            request.room = min(2 * request.room, MOST_ROOM * int(request.kept["max_tokens"]))

    async def _ask_policy(self, request: _Request) -> Answer:
        assert self._chat is not None
        kept = request.kept
        try:
            text = await asyncio.to_thread(self._chat, request.key, kept["messages"], kept["temperature"], request.room)
        except InfrastructureFault as error:
            raise Failed(f"the policy cannot answer: {one_line(error, 200)}") from None
        if text is None:
            raise Failed("the prompt leaves the policy no room to answer", counts=False)
        text = text.encode("utf-8", "replace").decode("utf-8")
        if not text.strip():
            raise Failed("the reply is empty", text, counts=False)
        return Answer(text)

    def _usage(self, request: _Request, answer: Answer) -> Usage:
        if answer.usage is not None:
            return answer.usage
        if self._chat is None:
            self._journal.notify(ESTIMATED)
        return Usage(request.prompt_tokens, tokens_of(answer.text), reported=False)

    def _cost(self, prompt: int, completion: int) -> float:
        if self._chat is not None:
            return 0.0
        return self.options.cost(prompt, completion)

    def _give_up(self, request: _Request, failed: Failed) -> NoReturn:
        """Count a request that failed after its last attempt, record it if it was never sent, and raise its fault."""
        if failed.counts and not failed.too_long:
            self._in_a_row += 1
            if self._in_a_row >= IN_A_ROW and not self._down:
                where = self.options.base_url if self._chat is None else "policy"
                self._down = f"the endpoint {where} failed {self._in_a_row} requests in a row, the last with: {failed.reason}"
                self._journal.notify(f"the teacher is down: {self._down}")
                if self.options.when_down == "stop":
                    failed = Failed(self._down, unsent=Unsent.DOWN)  # its row in the journal makes a replay stop here too
        if self._run_budget.refused:
            self._journal.notify(f"the teacher's budget of {self.options.budget} is used up: the run goes on without it")
        if failed.unsent is not None:
            about = (request.key, request.iteration, request.purpose, self._model, request.kept)
            self._journal.record(TeacherCall(*about, fault=failed.reason, unsent=failed.unsent))
        self._raise(failed.reason, failed.unsent)

    def _raise(self, reason: str, unsent: Unsent | None) -> NoReturn:
        if unsent is Unsent.BUDGET:
            raise BudgetSpent(reason) from None
        if unsent is Unsent.DOWN:
            if self.options.when_down == "stop":
                raise TooManyFaults(
                    f"{reason}; repair it and continue with coevolve resume, or set synthesizer.when_down = 'go_on'"
                ) from None
            raise EndpointDown(reason) from None
        raise TeacherFault(reason) from None

    def _of_loop(self) -> _LoopResources:
        loop = asyncio.get_running_loop()
        if self._here is None or self._here.loop is not loop:
            self._here = _LoopResources(loop, asyncio.Semaphore(self.options.concurrency))
        return self._here


async def _ask_endpoint(endpoint: Endpoint, request: _Request) -> Answer:
    """One call in the form of the request's dialect. Raises Failed, with `instead` where another form may help."""
    kept = request.kept
    body = request.dialect.body(kept["model"], kept["messages"], request.room, kept["temperature"], kept["schema"])
    try:
        answer = read_answer(*await endpoint.post(body))
    except Failed as failed:
        failed.instead = request.dialect.simpler(failed, body)
        raise
    if not answer.text.strip():  # only calls of functions that the request did not offer
        raise Failed("the reply is empty", again=True, counts=False, usage=answer.usage)
    return answer


def _sendable(value: Any) -> Any:
    """The value; a text without lone surrogates, which cannot be encoded."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


def ask_for_repair(
    client: TeacherClient, key: str, iteration: int, messages: Sequence[Message], schema: Mapping[str, Any] | None
) -> str | None:
    """The teacher's reply to one request to repair a candidate; None where it gives none. Closes the client's connection."""

    async def asked() -> str | None:
        try:
            return await client.ask(key, iteration, "repair", messages, schema)
        except TeacherFault:
            return None
        finally:
            await client.aclose()

    return asyncio.run(asked())
