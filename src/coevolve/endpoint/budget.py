"""What was spent, and a cap on it that holds under concurrency: a call is reserved before it is sent, and settled afterwards.

A cap of N calls sends N calls, however many run at once. A cap in tokens or cost reserves an upper estimate and settles to the usage that
the endpoint reports, so spending exceeds the cap only where the estimate was too low.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from attrs import define

from coevolve import Unsent

from .faults import Failed
from .settings import read_budget


@define
class Spent:
    """What was spent so far. `estimated` counts the calls whose tokens the endpoint did not report."""

    calls: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    estimated: int = 0

    def amount(self, unit: str) -> float:
        """The amount spent, in one of a budget's units: calls, tokens, cost."""
        if unit == "tokens":
            return self.prompt_tokens + self.completion_tokens
        return float(self.calls if unit == "calls" else self.cost)


class Budget:
    """A cap on what `spent` returns. `most` is as in read_budget ("" for no cap); `of` is appended to it in error texts.

    Use it in one event loop at a time. `refused`: whether a call was ever refused because the budget had no room for it.
    """

    def __init__(self, most: str, spent: Callable[[], Spent], of: str = "") -> None:
        self._text, self._cap, self._spent = f"the budget of {most}{of} is used up", read_budget(most), spent
        self._held: list[float] = []
        self._waiting: set[asyncio.Future[None]] = set()
        self.refused = False

    @asynccontextmanager
    async def held(self, tokens: int, cost: float) -> AsyncIterator[None]:
        """Reserve one call of at most so many tokens and so much cost. When the block ends, `spent` must include a call that was sent.

        Raises Failed where the budget has no room; waits where running calls may use less than they reserved.
        """
        if self._cap is None:
            yield
            return
        own = {"calls": 1.0, "tokens": float(tokens), "cost": cost}[self._cap[1]]
        while not self._room(own):
            settled = asyncio.get_running_loop().create_future()
            self._waiting.add(settled)
            try:
                await settled
            finally:
                self._waiting.discard(settled)
        self._held.append(own)
        try:
            yield
        finally:
            self._held.remove(own)
            for settled in self._waiting:
                if not settled.done():
                    settled.set_result(None)

    def _room(self, own: float) -> bool:
        """True where there is room now, False where there may be room later; raises Failed where there will be none."""
        assert self._cap is not None
        most, unit = self._cap
        spent = self._spent().amount(unit)
        if spent + sum(self._held) + own <= most:
            return True
        if unit == "calls" or not self._held or spent + own > most:  # a running call counts as a call, whatever its result
            self.refused = True
            raise Failed(self._text, counts=False, unsent=Unsent.BUDGET)
        return False
