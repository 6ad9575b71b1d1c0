"""What everybody knows, so that a request need not say it and no tool need find it out: a few tickers, and factors between units.

The lists are short on purpose. A company that is not among them needs a lookup, or its code in the request.
"""

import re
from collections.abc import Iterator, Mapping

TICKERS: Mapping[str, str] = {
    "AAPL": "apple",
    "AMZN": "amazon",
    "GOOG": "google|alphabet",
    "META": "meta|facebook",
    "MSFT": "microsoft",
    "NFLX": "netflix",
    "NVDA": "nvidia",
    "TSLA": "tesla",
}
"""Ticker symbol -> a pattern of the names by which people call the company."""
_FACTORS: Mapping[str, tuple[float, ...]] = {
    r"seconds?|minutes?|hours?": (60.0, 3600.0),
    r"days?|weeks?": (7.0, 24.0),
    r"months?|years?|dozens?": (12.0,),
    r"kilomet(?:er|re)s?|km|miles?": (1.609344,),
    r"inch(?:es)?|centimet(?:er|re)s?|cm": (2.54,),
    r"foot|feet|met(?:er|re)s?": (0.3048,),
    r"gallons?|lit(?:er|re)s?": (3.785411784,),
    r"pounds?|lbs?|kilograms?|kilos?|kg": (0.45359237,),
}


def names_of(code: object) -> str | None:
    """A pattern of the names that everybody has for a code; None where not everybody knows it."""
    return TICKERS.get(code) if isinstance(code, str) else None


def called(text: str, code: object) -> bool:
    """Whether a text names what everybody knows the code for."""
    names = names_of(code)
    return names is not None and re.search(rf"\b(?:{names})\b", text, re.IGNORECASE) is not None


def factors(text: str) -> Iterator[float]:
    """Factors between the units that a text names."""
    for units, known in _FACTORS.items():
        if re.search(rf"\b(?:{units})\b", text, re.IGNORECASE):
            yield from known
