"""What was spent and what is on its way: every HTTP attempt is a call, and is reserved before it is sent.

A cap of N calls lets N calls out, however many run at once. Caps in tokens and cost reserve an upper estimate (bytes of the prompt / 3, and
the whole room of the reply) and settle to what the endpoint says it used, so they can be passed only by what that estimate is too low.
"""

from collections.abc import Iterable

from attrs import define, field, frozen

from coevolve import Journal
from coevolve.endpoint import read_budget

from .faults import SPENT
from .options import TeacherOptions


@frozen(eq=False)
class Held:
    """A reservation."""

    iteration: int
    tokens: int
    cost: float


@define
class _Sum:
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def amount(self, unit: str) -> float:
        return float(getattr(self, unit))


@define
class Budget:
    """The caps of one run: `budget` for all of it, `calls_per_evolution` for each evolution. Counts every part's calls in the journal."""

    options: TeacherOptions
    journal: Journal
    _held: set[Held] = field(factory=set)
    _spent: _Sum = field(factory=_Sum)
    _by_iteration: dict[int, int] = field(factory=dict)
    _seen: int = 0

    def take(self, iteration: int, tokens: int, cost: float) -> Held | str | None:
        """A reservation; None when there may be room once a call that is on its way has settled; else why there is none."""
        self._look()
        most = self.options.calls_per_evolution
        if most and self._by_iteration.get(iteration, 0) + sum(one.iteration == iteration for one in self._held) >= most:
            return f"{SPENT} of {most} calls for this evolution is used up"
        wanted = Held(iteration, tokens, cost)
        if cap := read_budget(self.options.budget):
            amount, unit = cap
            spent, held, one = (total.amount(unit) for total in (self._spent, _sum(self._held), _sum([wanted])))
            if spent + held + one > amount:
                if unit != "calls" and self._held and spent + one <= amount:
                    return None  # what is on its way is held at its upper estimate
                return f"{SPENT} of {self.options.budget} for this run is used up"
        self._held.add(wanted)
        return wanted

    def release(self, held: Held) -> None:
        """The call stands in the journal now, or was never sent."""
        self._held.discard(held)

    def _look(self) -> None:
        calls = self.journal.calls()
        for call in calls[self._seen :]:
            if not call.sent:
                continue
            self._spent = _Sum(self._spent.calls + 1, self._spent.tokens + call.tokens, self._spent.cost + call.cost)
            self._by_iteration[call.iteration] = self._by_iteration.get(call.iteration, 0) + 1
        self._seen = len(calls)


def _sum(held: Iterable[Held]) -> _Sum:
    total = _Sum()
    for one in held:
        total = _Sum(total.calls + 1, total.tokens + one.tokens, total.cost + one.cost)
    return total
