"""What verdicts say of a sample: shares with Wilson's intervals by origin and by reason, and how far two judges agree."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from ..errors import UserError, did_you_mean
from ..model import Task
from .rubric import GRADES, reasons
from .sample import label_of
from .verdicts import TaskVerdict

Z = 1.959964
"""Quantile of the normal distribution for an interval of 95 %."""


def wilson(count: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, both ends in [0, 1].

    >>> [round(end, 3) for end in wilson(8, 10)]
    [0.49, 0.943]
    """
    if total == 0:
        return 0.0, 1.0
    share, square = count / total, Z * Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = Z * math.sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
    return max(0.0, middle - half), min(1.0, middle + half)


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa of two judges' verdicts on the same tasks; None where chance alone would always agree, or without pairs."""
    if not pairs:
        return None
    first, second = (Counter(pair[n] for pair in pairs) for n in (0, 1))
    agreed = sum(one == other for one, other in pairs) / len(pairs)
    by_chance = sum(first[grade] * second[grade] for grade in GRADES) / len(pairs) ** 2
    return None if by_chance == 1 else (agreed - by_chance) / (1 - by_chance)


def report(tasks: Sequence[Task], verdicts: Sequence[TaskVerdict], by: str | None = None) -> Iterator[str]:
    """Lines for each judge, then one for each pair of judges. `verdicts` holds one of each judge on each task.

    Shares are by origin, or by what the synthesizer noted under `by`. UserError where it noted nothing of that name.
    """
    if by is not None and not any(by in task.origin.detail for task in tasks):
        noted = {name for task in tasks for name in task.origin.detail}
        raise UserError(f"no task notes {by!r} in its origin{did_you_mean(by, noted)}")
    ours = {task.id: task for task in tasks}
    judges = list(dict.fromkeys(verdict.judge for verdict in verdicts if verdict.task in ours))
    by_judge = {judge: {v.task: v for v in verdicts if v.judge == judge and v.task in ours} for judge in judges}
    if not judges:
        yield f"no verdict on these {len(tasks)} tasks yet"
    for judge, own in by_judge.items():
        yield f"judge {judge}: {len(own)} of {len(tasks)} tasks"
        yield from _shares(ours, list(own.values()), by)
        yield ""
    for one, other in combinations(judges, 2):
        both = [task for task in by_judge[one] if task in by_judge[other]]
        pairs = [(by_judge[one][task].verdict, by_judge[other][task].verdict) for task in both]
        yield from _agreement(one, other, pairs)


def _shares(tasks: dict[str, Task], verdicts: Sequence[TaskVerdict], by: str | None) -> Iterator[str]:
    origins = sorted({label_of(tasks[verdict.task], by) for verdict in verdicts})
    groups = {origin: [v for v in verdicts if label_of(tasks[v.task], by) == origin] for origin in origins}
    if len(groups) > 1:
        groups["all"] = list(verdicts)
    width = max(6, *map(len, groups))
    yield f"  {by or 'origin':{width}}  tasks  {'good':>18}  {'usable':>18}  {'bad':>18}"
    for origin, own in groups.items():
        cells = [_cell(sum(v.verdict == grade for v in own), len(own)) for grade in GRADES]
        yield f"  {origin:{width}}  {len(own):5}  {cells[0]:>18}  {cells[1]:>18}  {cells[2]:>18}"
    named = [(code, sum(code in v.reasons for v in verdicts)) for code in reasons()]
    if any(count for _, count in named):
        yield f"  {'reason':14}  tasks  {'share':>18}"
        yield from (f"  {code:14}  {count:5}  {_cell(count, len(verdicts)):>18}" for code, count in named if count)


def _cell(count: int, total: int) -> str:
    low, high = wilson(count, total)
    return f"{count / total:.2f} ({low:.2f} to {high:.2f})"


def _agreement(one: str, other: str, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    if not pairs:
        yield f"agreement of {one} and {other}: no task was judged by both"
        return
    found = kappa(pairs)
    same = sum(first == second for first, second in pairs)
    shown = "undefined, since both gave one verdict only" if found is None else f"{found:.2f}"
    yield f"agreement of {one} and {other}: {same} of {len(pairs)} tasks ({same / len(pairs):.2f}), Cohen's kappa {shown}"
