"""Requests without their values, to find a task that is another one's scenario with other names, numbers and dates.

Only for held-out tasks without a known solution: what tells two tasks of one scenario apart is not their text but their keys.
"""

import re
from collections.abc import Sequence

_QUOTED = re.compile(r"\"[^\"]*\"|(?<!\w)'[^'\n]*'(?!\w)|\u201c[^\u201d]*\u201d|\u2018[^\u2019]*\u2019(?!\w)")
_NUMBER = re.compile(r"[$\u20ac\u00a3]?\d[\w.,:/%-]*|\S*@\S+")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b(?!I\b)[A-Z][\w'-]*(?:\s+(?:of|the|and|de|for)\s+(?=[A-Z])|\s+(?=[A-Z])|)")
_WORD = re.compile(r"\w+")
_COUNTS = "first second third fourth fifth sixth seventh eighth ninth tenth one two three four five six seven eight nine ten eleven twelve"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday"
_VALUES = frozenset(f"{_COUNTS} {_DAYS}".split())
MASK = "value"
THRESHOLD = 85.0
"""Token sort ratio (0 to 100) of two masked requests from which they are one scenario."""


def masked(query: str) -> str:
    """The words of a request in lower case, each run of quoted texts, numbers, dates and names replaced by one MASK.

    >>> masked('Send $18.5 to Ann Lee on Venmo, with the note "Two teas".')
    'send value to value on value with the note value'
    """
    for pattern in (_QUOTED, _NUMBER, _NAME):
        query = pattern.sub(f" {MASK} ", query)
    words = [MASK if word in _VALUES else word for word in _WORD.findall(query.lower())]
    return " ".join(word for n, word in enumerate(words) if word != MASK or n == 0 or words[n - 1] != MASK)


def same_scenario(query: str, others: Sequence[str], threshold: float = THRESHOLD) -> int | None:
    """The index of the masked request in `others` that is most like the masked `query`; None when all are below `threshold`."""
    from rapidfuzz import fuzz, process

    found = process.extractOne(query, others, scorer=fuzz.token_sort_ratio, score_cutoff=threshold)
    return None if found is None else int(found[2])
