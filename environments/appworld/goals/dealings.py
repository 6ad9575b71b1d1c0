"""A user's payments and payment requests, and the spans of time that people speak of."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, TypeVar

from attrs import frozen

from coevolve import Action

from .scene import Scene, Unavailable, pages
from .snapshot import Row

T = TypeVar("T")


@frozen
class Span:
    """Days from `first` to `last`, as the user says it ("this month")."""

    words: str
    first: date
    last: date
    open_ended: bool = False
    """Whether it reaches up to now, so that only its beginning has to be given."""

    def holds(self, moment: str) -> bool:
        return self.first <= date.fromisoformat(moment[:10]) <= self.last

    @property
    def arguments(self) -> Mapping[str, str]:
        """The arguments with which payments of this time are listed."""
        first = {"min_created_at": self.first.isoformat()}
        return first if self.open_ended else {**first, "max_created_at": self.last.isoformat()}


def spans(scene: Scene) -> list[Span]:
    """This month and the one before."""
    today = scene.data.now.date()
    begin = today.replace(day=1)
    before = begin - timedelta(days=1)
    return [Span("this month", begin, today, open_ended=True), Span(f"in {before:%B}", before.replace(day=1), before)]


def payments(scene: Scene, direction: str, span: Span | None = None) -> list[Row]:
    """The user's payments, "sent" or "received", the oldest first. Raises Unavailable where the last day of `span` matters."""
    mine = "sender" if direction == "sent" else "receiver"
    rows = [row for row in scene.data.rows("venmo.show_transactions") if row[mine]["email"] == scene.data.me["email"]]
    rows = [row for row in rows if span is None or span.holds(row["created_at"])]
    if span is not None and not span.open_ended and any(row["created_at"][:10] == span.last.isoformat() for row in rows):
        raise Unavailable("it depends on whether the last day counts")
    return sorted(rows, key=lambda row: row["created_at"])


def other(row: Row, direction: str) -> Mapping[str, str]:
    """The other person of a payment or request: name and email."""
    found: Mapping[str, str] = row["receiver" if direction == "sent" else "sender"]
    return found


def listing(rows: Sequence[Row], **arguments: Any) -> list[Action]:
    """The calls that list payments which `arguments` select; `rows` are these."""
    return pages("venmo.show_transactions", len(rows), **arguments)


def requests(scene: Scene, direction: str) -> list[Row]:
    """The payment requests that the user sent or received and that are still open, the oldest first."""
    rows = scene.data.rows(f"venmo.show_{direction}_payment_requests")
    return sorted((row for row in rows if not row["approved_at"] and not row["denied_at"]), key=lambda row: row["created_at"])


def open_requests(scene: Scene, direction: str) -> list[Action]:
    """The calls that list `requests`."""
    return pages(f"venmo.show_{direction}_payment_requests", len(requests(scene, direction)), status="pending")


def balance(scene: Scene) -> float:
    """Dollars in the user's account."""
    return float(scene.data.one("venmo.show_venmo_balance")["venmo_balance"])


def friends(scene: Scene) -> set[str]:
    """Email addresses of the user's friends, whom money can be sent to."""
    return {row["email"] for row in scene.data.rows("venmo.search_friends")}


def cents(amount: float) -> int:
    return round(amount * 100)


def part(amount: float, of: int) -> float:
    """An `of`-th of an amount. Raises Unavailable when that is not a whole number of cents."""
    if cents(amount) % of:
        raise Unavailable("the amount cannot be divided to the cent")
    return cents(amount) // of / 100


def total(rows: Sequence[Row]) -> float:
    """The sum of amounts, to the cent."""
    return sum(cents(row["amount"]) for row in rows) / 100


def single(rows: Sequence[T], key: Callable[[T], Any], largest: bool = True) -> T:
    """The one with the largest (or smallest) key. Raises Unavailable when there is none, or several."""
    if not rows:
        raise Unavailable("there is nothing to compare")
    best = (max if largest else min)(key(row) for row in rows)
    found = [row for row in rows if key(row) == best]
    if len(found) > 1 or len(rows) < 2:
        raise Unavailable("there is not exactly one, or no other to compare it with")
    return found[0]
