"""Decide whether two requests have the same text: equal without case, spaces and punctuation, or equal in all content words.

A pool made from templates holds requests that differ by one name, one number or one "not", and these are different tasks. So near
duplicates must have equal content words. They may differ in the words of `FILLERS`; a similarity of the whole texts bounds how much.
"""

import re
from collections.abc import Sequence

from attrs import frozen

_FILLERS = """
a an the please kindly could can would will you i we me my our us of is are be been that this these those it its and then also just now so
hi hello hey thanks thank want wants need needs like to for
"""
FILLERS = frozenset(_FILLERS.split())
"""Words without content in a request. Negations, quantities and prepositions have content, except "to" and "for", which courtesy uses, too
("I would like to"). In the pool, the order of the names around them still distinguishes "a to b" from "b to a"."""

_WORD = re.compile(r"\w+(?:[.,:/@'_-]+\w+)*|[^\w\s.,;:!?'\"()\[\]{}-]+")


@frozen
class Text:
    """A request as it is compared: `plain` is the text without case and punctuation, `content` its content words in order."""

    plain: str
    content: tuple[str, ...]

    @property
    def bag(self) -> tuple[str, ...]:
        """The content words without their order."""
        return tuple(sorted(self.content))


def text_of(query: str) -> Text:
    """Prepare a request for comparison. A request of fillers only keeps all its words as content.

    >>> text_of("Please, delete the file A.txt!").content
    ('delete', 'file', 'a.txt')
    """
    words = _WORD.findall(query.casefold())
    content = tuple(word for word in words if word not in FILLERS)
    return Text(" ".join(words), content or tuple(words))


def nearest(query: Text, others: Sequence[Text], threshold: float) -> float | None:
    """The token sort ratio (0 to 100) of the most similar of `others`; None when all are below `threshold`.

    `others` are texts with the same content words as `query`.
    """
    from rapidfuzz import fuzz, process

    found = process.extractOne(query.plain, [other.plain for other in others], scorer=fuzz.token_sort_ratio, score_cutoff=threshold)
    return None if found is None else float(found[1])
