"""Check that the answer to a question can come from what the calls before it returned.

An answer is often none of the values that an agent read: a count, a sum, an average, a share, "yes". The search is bounded: a count is at
most the number of values read; any other figure is a sum, a mean or a difference over a column of records, over a stretch of it in the
order of some column (so that "since May" and "over $20" are such stretches), rounded or in other units. Whether the answer is the right
one is for "blind_solve".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any

from .spoken_forms import numbers
from .well_known import factors

_COUNT = re.compile(r"\b(how many|number of|count|how often|how much|how long|percent\w*|share|total|altogether)\b|%", re.IGNORECASE)
_ASKS = re.compile(
    r"\b(is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|should|whether|if|yes)\b.*?(\?|\byes\b|\bno\b|$)",
    re.IGNORECASE | re.DOTALL,
)
COMPARES = re.compile(r"\b(settle\w*|compare|totals?|sums?|altogether|on average|owe[sd]?)\b", re.IGNORECASE)
"""Words with which a user asks for a figure over several records outside of a question."""
_GROUPS = 8
"""Most groups of records whose totals are compared."""
_ROWS = 60
"""Most records of one column whose stretches are summed."""


def is_derivable(answer: Any, asked: str, results: Sequence[tuple[str, Any]]) -> bool:
    """Whether the results of (tool, result) can give an answer that none of them holds, to what `asked` asks."""
    if isinstance(answer, bool):
        return True
    if isinstance(answer, str):
        if answer.strip().casefold() in ("yes", "no"):
            return _ASKS.search(asked) is not None
        if not re.fullmatch(r"\s*[-+$]?\d+(?:,\d{3})*(?:\.\d+)?\s*%?\s*", answer):
            return False
        answer = max(numbers(answer), default=0.0)
    value = abs(float(answer))
    read = sum(1 for _, result in results for _ in _leaves(result))
    if value == int(value) and value <= read and _COUNT.search(asked):
        return True
    scales = {1.0, *factors(asked)} | ({100.0} if re.search(r"percent|%|share", asked, re.IGNORECASE) else set())
    columns = [column for column in _columns(results) if column]
    return any(_same(value, figure, scale) for column in columns for figure in _figures(column) for scale in scales)


def _same(value: float, figure: float, scale: float) -> bool:
    return any(
        abs(value - made) <= 1e-6 * max(1.0, value) or any(round(made, digits) == value for digits in (0, 1, 2)) or int(made) == value
        for made in {abs(figure) * scale, abs(figure) / scale}
    )


def _figures(column: Sequence[float]) -> Iterator[float]:
    """Sums and means of all stretches of a column, and differences of any two of its values."""
    sums = [0.0, *accumulate(column[:_ROWS])]
    for start in range(len(sums)):
        for end in range(start + 1, len(sums)):
            yield sums[end] - sums[start]
            yield (sums[end] - sums[start]) / (end - start)
            yield column[end - 1] - column[start]


def _columns(results: Sequence[tuple[str, Any]]) -> Iterator[list[float]]:
    """The numbers of each field of each table, once in the order of each field; and the numbers of each text."""
    for rows in _tables(results):
        fields = {name for row in rows for name in row}
        for order in sorted(fields):
            placed = sorted(rows, key=lambda row: (isinstance(row.get(order), str), str(row.get(order)), id(row)))
            if all(isinstance(row.get(order), int | float) for row in rows):
                placed = sorted(rows, key=lambda row: float(row[order]))
            groups = [list(rows) for _, rows in groupby(placed, key=lambda row: row.get(order))]
            for name in fields:
                if 1 < len(groups) <= _GROUPS:
                    yield [sum(float(row[name]) for row in group if _is_number(row.get(name))) for group in groups]
                yield [float(row[name]) for row in placed if _is_number(row.get(name))]
    for _, result in results:
        for text in _leaves(result):
            if isinstance(text, str) and len(found := re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)) > 1:
                yield [float(number) for number in found]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tables(results: Sequence[tuple[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The records of each list and of each tool's single answers, with nested fields by path; no record twice."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for tool, result in results:
        for place, row in _records(result):
            table = tables.setdefault(f"{tool}:{place}", [])
            if row not in table:
                table.append(row)
    return iter(tables.values())


def _records(value: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, Mapping):
        yield place, dict(_scalars(value))
        for name, inner in value.items():
            yield from _records(inner, f"{place}.{name}")
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _records(inner, place)


def _scalars(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _scalars(inner, f"{path}{name}.")
        elif isinstance(inner, str | int | float):
            yield f"{path}{name}", inner


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(inner)
    elif value is not None:
        yield value
