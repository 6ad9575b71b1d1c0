"""Ask a person in the terminal for verdicts, task by task. What was judged is kept at once, so that the person may stop anywhere."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ..model import Task
from .rubric import GRADES, reasons
from .verdicts import TaskVerdict, checked_verdict
from .view import TaskView

KEYS: Mapping[str, str] = {grade[0]: grade for grade in GRADES}
QUIT, SKIP, HELP = "q", "s", "?"


def ask(
    views: Iterator[tuple[Task, str, TaskView]], judge: str, read: Callable[[str], str], show: Callable[[str], None]
) -> Iterator[TaskVerdict]:
    """Show each task's text and yield the verdict that `read` gives; ends with the tasks, with "q", and at the end of the input."""
    for task, text, _ in views:
        show(f"\n{text}\n")
        try:
            verdict = _one(task, judge, read, show)
        except EOFError:
            return
        if verdict is None:
            return
        if verdict != SKIP:
            assert isinstance(verdict, TaskVerdict)
            yield verdict


def _one(task: Task, judge: str, read: Callable[[str], str], show: Callable[[str], None]) -> TaskVerdict | str | None:
    """The verdict; SKIP, or None where the person wants to stop."""
    while True:
        answer = read("g good, u usable, b bad, s skip, ? reasons, q quit: ").strip().lower()
        if answer == QUIT:
            return None
        if answer == SKIP:
            return SKIP
        if answer == HELP:
            show(reason_list())
        grade = KEYS.get(answer) or (answer if answer in GRADES else None)
        if grade is None:
            continue
        try:
            codes = "" if grade == "good" else _codes(read("reasons, by number or code (? lists them): "), read, show)
            note = read("note: ").strip()
            return checked_verdict({"task": task.id, "verdict": grade, "reasons": codes, "note": note}, {task.id: task}, judge)
        except ValueError as error:
            show(f"that verdict {error}")


def _codes(text: str, read: Callable[[str], str], show: Callable[[str], None]) -> str:
    while text.strip() == HELP:
        show(reason_list())
        text = read("reasons, by number or code: ")
    return " ".join(_code(word) for word in text.replace(",", " ").split())


def _code(word: str) -> str:
    known: Sequence[str] = tuple(reasons())
    return known[int(word) - 1] if word.isdecimal() and 1 <= int(word) <= len(known) else word


def reason_list() -> str:
    """The reason codes with their numbers and meanings."""
    return "\n".join(f"{number:2} {code}: {text}" for number, (code, text) in enumerate(reasons().items(), 1))
