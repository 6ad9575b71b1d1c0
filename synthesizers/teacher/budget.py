"""Sum the calls, tokens and cost of teacher requests from the run's journal, for the run and for each evolution."""

from collections import defaultdict
from collections.abc import Callable

from attrs import define, field

from coevolve import Journal
from coevolve.endpoint import Spent


@define
class Ledger:
    """Sums over the sent calls in the journal; each call is counted once. Not thread-safe."""

    journal: Journal
    _whole: Spent = field(factory=Spent)
    _by_iteration: defaultdict[int, Spent] = field(factory=lambda: defaultdict(Spent))
    _seen: int = 0

    def whole(self) -> Spent:
        """What the whole run has spent so far."""
        self._update()
        return self._whole

    def evolution(self, iteration: int) -> Callable[[], Spent]:
        """A function that returns what the evolution of `iteration` has spent so far."""

        def spent() -> Spent:
            self._update()
            return self._by_iteration[iteration]

        return spent

    def _update(self) -> None:
        calls = self.journal.calls()
        for call in calls[self._seen :]:
            for spent in (self._whole, self._by_iteration[call.iteration]) if call.sent else ():
                spent.calls += 1
                spent.prompt_tokens += call.prompt_tokens
                spent.completion_tokens += call.completion_tokens
                spent.cost += call.cost
        self._seen = len(calls)
