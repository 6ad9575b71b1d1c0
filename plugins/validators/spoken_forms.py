"""The values that a text states in a person's way: "five thousand", "half", "20%", "$2.5k", "December 10, 2026", "3 pm".

The functions read more than one meaning where a text allows it ("3/4/2026" has two dates): they find sources of values, and decide nothing.
"""

import re
from collections.abc import Iterator

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_SMALL = {word: number for number, word in enumerate(_UNITS.split())}
_TENS = {word: 10 * number for number, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "k": 1_000, "dozen": 12}
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_ALONE: dict[str, tuple[float, ...]] = {
    **{word: (float(number),) for number, word in enumerate(_ORDINALS, 1)},
    "once": (1.0,), "twice": (2.0,), "double": (2.0,), "pair": (2.0,), "couple": (2.0,), "triple": (3.0,), "single": (1.0,),
    "half": (0.5, 50.0), "halfway": (0.5, 50.0), "halve": (2.0,), "quarter": (0.25, 4.0), "full": (1.0, 100.0), "fully": (1.0, 100.0),
    "completely": (1.0, 100.0), "maximum": (1.0, 100.0), "all": (1.0, 100.0), "percentage": (100.0,), "percent": (100.0,),
    "a": (1.0,), "an": (1.0,), "nothing": (0.0,), "squared": (2.0,), "cubed": (3.0,), "square": (2.0,), "cube": (3.0,), "binary": (2.0,),
    "highest": (1.0, 5.0, 10.0), "lowest": (0.0, 1.0), "next": (1.0,), "last": (1.0,), "evenly": (2.0,),
}  # fmt: skip
"""Words that state a number by themselves, with the numbers that they may state."""
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:\s*(%|percent|k\b|m\b|thousand|million|hundred|dozen))?", re.IGNORECASE)
_SCALE = {"%": 0.01, "percent": 0.01, "k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "hundred": 100.0, "dozen": 12.0}
_WORD = re.compile(r"[a-z]+")
_MONTHS = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS) + "|sept"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_SPOKEN_DATES = (
    re.compile(rf"\b({_MONTH})\.?\s+(?:the\s+)?{_DAY}\b(?:,?\s+(?:of\s+)?(\d{{4}}))?", re.IGNORECASE),
    re.compile(rf"\b{_DAY}\s+(?:of\s+)?({_MONTH})\b\.?(?:,?\s+(?:of\s+)?(\d{{4}}))?", re.IGNORECASE),
)
_WRITTEN_DATE = re.compile(r"\b(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4})\b")
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s*(am|pm|a\.m\.|p\.m\.|o'clock)?(?!\w)", re.IGNORECASE)
_YEAR = re.compile(r"\b((?:19|20)\d{2})\b")


def numbers(text: str) -> set[float]:
    """The numbers that a text states, in digits or in words. Signs do not matter.

    >>> sorted(numbers("Half of it, five thousand, 20% and $2.5k"))
    [0.2, 0.5, 2.5, 5.0, 20.0, 50.0, 2500.0, 5000.0]
    """
    found = set(_words(text.casefold()))
    for match in _NUMBER.finditer(text):
        value = float(match[1].replace(",", ""))
        found.add(value)
        if match[2]:
            found.add(round(value * _SCALE[match[2].casefold()], 10))
    return found


def _words(text: str) -> Iterator[float]:
    """Numbers in words. A run of number words is read as one number, and each of its parts counts, too."""
    whole, part, running = 0.0, 0.0, False
    for word in [*_WORD.findall(text), ""]:
        if word in _SMALL or word in _TENS:
            part += _SMALL.get(word, _TENS.get(word, 0))
            running = True
            yield float(_SMALL.get(word, _TENS.get(word, 0)))
        elif word in _SCALES and (running or word != "k"):
            part = max(part, 1.0) * _SCALES[word]
            running = True
            yield part
            if _SCALES[word] >= 1000:
                whole, part = whole + part, 0.0
        elif not (running and word == "and"):
            if running:
                yield whole + part
            whole, part, running = 0.0, 0.0, False
            yield from _ALONE.get(word, ())


def dates(text: str) -> set[tuple[int | None, int, int]]:
    """The (year, month, day) that a text may state; the year is None where the date has none."""
    found: set[tuple[int | None, int, int]] = set()
    for number, pattern in enumerate(_SPOKEN_DATES):
        for match in pattern.finditer(text):
            month, day = (match[1], match[2]) if number == 0 else (match[2], match[1])
            found.add((int(match[3]) if match[3] else None, 1 + [name[:3] for name in _MONTHS].index(month[:3].casefold()), int(day)))
    for match in _WRITTEN_DATE.finditer(text):
        first, second, third = (int(part) for part in match.groups())
        found |= {(first, second, third)} if first > 31 else {(_year(third), first, second), (_year(third), second, first)}
    return {(year, month, day) for year, month, day in found if 1 <= month <= 12 and 1 <= day <= 31}


def _year(number: int) -> int:
    return number if number > 99 else 2000 + number


def years(text: str) -> set[int]:
    """The years of four digits in a text."""
    return {int(year) for year in _YEAR.findall(text)}


def times(text: str) -> set[tuple[int, int]]:
    """The times of the day, (hour, minute), that a text may state."""
    found = set()
    for match in _CLOCK.finditer(text):
        hour, minute, half = int(match[1]), int(match[2] or 0), (match[3] or "").replace(".", "").casefold()
        if match[2] is None and not half:
            continue
        if half in ("am", "pm"):
            hour = hour % 12 + (12 if half == "pm" else 0)
        found |= {(hour, minute)} | ({(hour % 12 + 12, minute)} if half not in ("am", "pm") else set())
    return found


def months(text: str) -> set[int]:
    """The months, 1 to 12, that a text names."""
    return {number for number, name in enumerate(_MONTHS, 1) if re.search(rf"\b{name}\b", text, re.IGNORECASE)}


def durations(text: str) -> set[int]:
    """The spans of time in a text, in minutes.

    >>> sorted(durations("Half an hour earlier, or twenty minutes; the meeting takes 2 hours"))
    [20, 30, 120]
    """
    found = {30} if re.search(r"\bhalf an hour\b", text, re.IGNORECASE) else set()
    found |= {15} if re.search(r"\bquarter of an hour\b", text, re.IGNORECASE) else set()
    for match in re.finditer(r"\b(?:half |quarter of )?([\w-]+(?:\.\d+)?)[ -](hour|minute)s?\b", text, re.IGNORECASE):
        if match[0].casefold().startswith(("half", "quarter")):
            continue
        found |= {round(number * (60 if match[2].casefold() == "hour" else 1)) for number in numbers(match[1].replace("-", " "))}
    return found
