"""How people write values: money, dates, times, durations, lists."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time

_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def money(amount: float) -> str:
    """Dollars, with cents only where there are some.

    >>> money(18.5), money(40.0), money(1250)
    ('$18.50', '$40', '$1,250')
    """
    return f"${amount:,.0f}" if float(amount).is_integer() else f"${amount:,.2f}"


def listed(names: Iterable[str], word: str = "and") -> str:
    """Names with commas and a word before the last one.

    >>> listed(["tent"]), listed(["tent", "stove"]), listed(["a", "b", "c"])
    ('tent', 'tent and stove', 'a, b and c')
    """
    every = list(names)
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} {word} {every[-1]}"


def number(count: int) -> str:
    """A count, in words up to twelve.

    >>> number(3), number(40)
    ('three', '40')
    """
    return _SMALL[count] if 0 <= count < len(_SMALL) else str(count)


def minutes(seconds: int) -> str:
    """A song's length as players show it.

    >>> minutes(187), minutes(60)
    ('3:07', '1:00')
    """
    return f"{seconds // 60}:{seconds % 60:02d}"


def day(value: date | datetime | str) -> str:
    """A day of this year.

    >>> day("2023-05-04T10:00:00")
    'May 4'
    """
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return f"{moment:%B} {moment.day}"


def clock(value: str | time) -> str:
    """A time of day on a clock with twelve hours.

    >>> clock("07:40"), clock("21:30"), clock("18:00"), clock("00:05")
    ('7:40 am', '9:30 pm', '6 pm', '12:05 am')
    """
    moment = time.fromisoformat(value) if isinstance(value, str) else value
    hour = moment.hour % 12 or 12
    return f"{hour}{f':{moment.minute:02d}' if moment.minute else ''} {'am' if moment.hour < 12 else 'pm'}"


def days(names: Sequence[str]) -> str:
    """Days of the week, as the phone names them.

    >>> days(["monday", "wednesday"]), days(["saturday", "sunday"]), days(["monday", "tuesday", "wednesday", "thursday", "friday"])
    ('Mondays and Wednesdays', 'weekends', 'weekdays')
    """
    if set(names) == {"saturday", "sunday"}:
        return "weekends"
    if set(names) == {"monday", "tuesday", "wednesday", "thursday", "friday"}:
        return "weekdays"
    return "every day" if len(set(names)) == 7 else listed(f"{name.capitalize()}s" for name in names)
