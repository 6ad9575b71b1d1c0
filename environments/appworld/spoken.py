"""A call's values as people say them: ids by the name of the thing, people by what they are to the user, money, times and dates."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from .goals.saying import clock, day, days, listed, money

LONGEST = 80
"""Most characters of a text that a request repeats."""
_THINGS = {
    "album_id": ("title", '"{}"', "that album"),
    "alarm_id": ("label", 'my alarm "{}"', "that alarm"),
    "artist_id": ("name", "{}", "that artist"),
    "contact_id": ("first_name", "{}", "them"),
    "label_id": ("name", '"{}"', "that label"),
    "note_id": ("title", 'my note "{}"', "that note"),
    "payment_request_id": ("description", 'the payment request for "{}"', "that request"),
    "playlist_id": ("title", 'my playlist "{}"', "that playlist"),
    "project_id": ("name", 'my project "{}"', "that project"),
    "section_id": ("name", '"{}"', "that section"),
    "song_id": ("title", '"{}"', "that song"),
    "sub_task_id": ("title", '"{}"', "that subtask"),
    "task_id": ("title", 'the task "{}"', "that task"),
    "transaction_id": ("description", 'the payment for "{}"', "that payment"),
}
"""For each id: the field that names the thing, how it is named, and what it is called when it has just been made."""
_SECRET = ("password", "token", "code", "card", "cvv")
_PLAIN = ("first_name", "last_name", "priority", "volume", "rating", "snooze_minutes", "seek_seconds")
"""Values that are said as they are, without quotation marks."""


class Unsayable(ValueError):
    """A value, or a call, that a user would not put into words."""


class Values:
    """Says values of a call that was made after the calls `before`; `user` is the user's e-mail address."""

    def __init__(self, before: Sequence[Sequence[Any]], user: str) -> None:
        self._before, self._user = before, user
        self._rows = [row for call in before for row in _rows(call[3])]

    def say(self, name: str, value: Any) -> str:
        """The value of the argument `name`. Raises Unsayable where a user would not say it."""
        if any(word in name for word in _SECRET) or isinstance(value, bool | Mapping):
            raise Unsayable(f"{name} is not said")
        if name.endswith("_id"):
            return self._thing(name, value)
        if "email" in name or name == "phone_number":
            return self._person(name, value)
        if name == "amount":
            return money(float(value))
        if name == "time":
            return clock(str(value))
        if name.endswith("_date"):
            return day(date.fromisoformat(str(value)[:10]))
        if isinstance(value, list):
            return days(value) if name == "repeat_days" else listed(self._text(name, one) for one in value) if value else _nothing(name)
        return str(value) if isinstance(value, int | float) else self._text(name, value)

    def _thing(self, name: str, value: Any) -> str:
        field, form, made = _THINGS.get(name, ("", "", ""))
        if any(re.match(r"\w+\.create_", call[0]) and isinstance(call[3], Mapping) and call[3].get(name) == value for call in self._before):
            return made
        named = {str(row[field]) for row in self._rows if row.get(name) == value and row.get(field)}
        same = {row[name] for row in self._rows if name in row and str(row.get(field)) in named}
        if len(named) != 1 or len(same) != 1:
            raise Unsayable(f"no lookup has named the thing with {name} {value}")
        return form.format(self._text(field, named.pop(), quoted=False))

    def _person(self, name: str, value: Any) -> str:
        key = "phone_number" if name == "phone_number" else "email"
        profile = [row for row in self._rows if row.get("email") == self._user]
        if value == self._user or any(row.get(key) == value for row in profile):
            raise Unsayable("nobody writes to themselves")
        for row in self._rows:
            if row.get(key) == value and row.get("relationships"):
                same = [one for one in self._rows if row["relationships"][0] in one.get("relationships", ())]
                if all(one.get(key) == value for one in same):
                    return f"my {row['relationships'][0]}"
        names = {str(row.get("name") or f"{row.get('first_name')} {row.get('last_name')}") for row in self._rows if row.get(key) == value}
        return names.pop() if len(names) == 1 else str(value)

    def _text(self, name: str, value: Any, quoted: bool = True) -> str:
        text = str(value).strip()
        status = any(isinstance(call[3], Mapping) and call[3].get("message") == value for call in self._before)
        if not text or len(text) > LONGEST or "\n" in text or '"' in text or status:
            raise Unsayable(f"nobody dictates {name}")
        return text if name in _PLAIN or not quoted else f'"{text}"'


def _nothing(name: str) -> str:
    raise Unsayable(f"{name} is empty")


def _rows(answer: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(answer, Mapping):
        yield answer
        for value in answer.values():
            yield from _rows(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from _rows(value)
