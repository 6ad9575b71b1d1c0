"""The people in a user's contacts, as the user calls them."""

from collections import Counter
from collections.abc import Sequence
from datetime import date

from attrs import frozen

from coevolve import Action

from .scene import Scene, Unavailable, call, pages
from .snapshot import Row

TIES = {"roommate": "has moved out", "coworker": "has changed jobs", "neighbor": "has moved to another city"}
"""Relationships that end, and how."""


@frozen
class Known:
    """Someone whom one relationship names: nobody else among the contacts has it."""

    row: Row
    relationship: str

    @property
    def my(self) -> str:
        """ "my sister" """
        return f"my {self.relationship}"

    @property
    def email(self) -> str:
        return str(self.row["email"])

    @property
    def phone_number(self) -> str:
        return str(self.row["phone_number"])

    @property
    def lookup(self) -> Action:
        """The call that finds this contact."""
        return call("phone.search_contacts", relationship=self.relationship)


def contacts(scene: Scene) -> Sequence[Row]:
    """The contacts with an email address and a phone number, without the user's own."""
    rows = scene.data.rows("phone.search_contacts")
    return [row for row in rows if row["email"] and row["phone_number"] and row["email"] != scene.data.me["email"]]


def every_contact(scene: Scene) -> list[Action]:
    """The calls that list the whole contact book."""
    return pages("phone.search_contacts", len(scene.data.rows("phone.search_contacts")))


def known(scene: Scene) -> list[Known]:
    """Those whom the user can name by a relationship alone."""
    rows = contacts(scene)
    counts = Counter(name for row in rows for name in row["relationships"])
    return [Known(row, name) for row in rows for name in row["relationships"] if counts[name] == 1]


def somebody(scene: Scene, emails: Sequence[str] | set[str]) -> Known:
    """One of those known whose address is among `emails`. Raises Unavailable when there is none."""
    return scene.pick(one for one in known(scene) if one.email in emails)


def by_email(scene: Scene, email: str) -> Row:
    """The contact with this address. Raises Unavailable when there is none."""
    for row in contacts(scene):
        if row["email"] == email:
            return row
    raise Unavailable(f"{email} is not among the contacts")


def next_birthday(row: Row, today: date) -> date:
    """The first birthday from `today` on. Raises Unavailable where it is not known, or is a leap day."""
    try:
        born = date.fromisoformat(str(row["birthday"])[:10])
        at = born.replace(year=today.year)
        return at if at >= today else born.replace(year=today.year + 1)
    except ValueError as error:
        raise Unavailable(f"no birthday of {row['first_name']}") from error
