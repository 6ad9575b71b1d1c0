"""Count the candidates that reading damaged teacher replies recovers, and those that a repair invents.

    python benchmarks/salvage_gain.py [RUN ...]

The malformed replies of the tests, whose planted candidates are known, are read in three ways: by the strict JSON reader at each opening
bracket; by json_repair where that fails (`pip install json-repair`); and as the teacher does (salvage.py, repair.py). Each RUN is a run
folder whose stored replies are counted too; what is right in them is not known. A reply without any candidate may cost another request.
"""

import importlib.util
import json
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from coevolve import Reason, Refusal
from coevolve.synthesizers.teacher import salvage
from coevolve.synthesizers.teacher.parsing import read_candidates
from coevolve.synthesizers.teacher.replies import Candidate

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "teacher"))

Rewrite = Callable[[str, int], tuple[str, int]]


_rewrite = salvage.as_json


def strict(text: str, start: int) -> tuple[str, int]:
    _rewrite(text, start)  # for the reason: cut off, or broken
    raise Refusal(Reason.BROKEN_JSON)


def library(text: str, start: int) -> tuple[str, int]:
    import json_repair

    try:
        value = json_repair.repair_json(text[start:], return_objects=True, skip_json_loads=True)
    except ValueError:  # nested too deep; at the next bracket it would be again
        value = None
    return json.dumps(value), len(text)


def count(replies: Sequence[tuple[str, tuple[Candidate, ...] | None]]) -> str:
    right = wrong = empty = 0
    for text, planted in replies:
        found, _ = read_candidates(text, "teacher" if planted is not None else "environment")
        empty += not found
        right += sum(planted is None or candidate in planted for candidate in found)
        wrong += sum(planted is not None and candidate not in planted for candidate in found)
    return f"{right:6} candidates, {wrong:4} invented, {empty:4} replies without any"


def stored(folder: Path) -> list[tuple[str, None]]:
    with sqlite3.connect(f"file:{folder / 'run.sqlite'}?mode=ro", uri=True) as db:
        return [
            (reply, None) for (reply,) in db.execute("SELECT reply FROM teacher_calls WHERE reply IS NOT NULL AND purpose = 'abstract'")
        ]


def main() -> None:
    import malformed

    corpus = [(reply.text, reply.good) for reply in malformed.replies()]
    print(f"{len(corpus)} malformed replies with {sum(len(good) for _, good in corpus)} good candidates")
    sources = {"malformed replies": corpus} | {folder: stored(Path(folder)) for folder in sys.argv[1:]}
    ways: dict[str, Rewrite] = {"strict reader alone": strict}
    if importlib.util.find_spec("json_repair") is not None:
        ways["json_repair, unchecked"] = library
    ways["the teacher's reading"] = _rewrite
    for name, replies in sources.items():
        print(name)
        for way, rewrite in ways.items():
            salvage.as_json = rewrite
            print(f"  {way:24}{count(replies)}")


if __name__ == "__main__":
    main()
