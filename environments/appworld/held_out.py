"""Held-out tasks whose solutions are not in the data, as the benchmark ships its test splits: what else is known of them, and its copies.

The data still says what a solution changes (the models and fields that the evaluation names), whether something is asked, how many apps
and APIs a solution calls, and the request. A candidate copies such a task when its own solution does what is known of the task's and its
request has some words in common with the task's; the less the solutions agree, the more words. Values do not count, so that the same
scenario with other values is a copy too.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from attrs import frozen

from .synonyms import content, likeness

SAME, ALIKE, OTHER = 0.15, 0.4, 0.75
"""Likeness of two requests from which a task is a copy: a question whose solution agrees in all that is known, a task whose solution
changes only what the other one's changes, any other task. A task that changes something and agrees in all that is known is always one."""
ASIDE = ("supervisor", "api_docs", "admin")
"""Apps that are not counted among a solution's."""
_MODEL = re.compile(r"\b[a-z_]+\.[A-Z]\w*")
_QUOTED = re.compile(r"""["'](\w+(?:\.\w+)?)["']""")


@frozen
class Effect:
    """What a solution did: the fields that it changed by model, whether it gave an answer, and the APIs that it called."""

    fields: Mapping[str, frozenset[str]]
    asked: bool
    calls: frozenset[str]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Effect":
        """Of a trace (engine/synthesize.py)."""
        changes = found["diff"].items()
        fields = {model: frozenset(name for updated in change["updated"].values() for name in updated) for model, change in changes}
        return cls(fields, found["answer"] is not None, frozenset(call[0] for call in found["calls"]))

    @property
    def apps(self) -> frozenset[str]:
        """The apps that it called."""
        return frozenset(name.split(".")[0] for name in self.calls) - frozenset(ASIDE)


@frozen
class KnownTask:
    """What the data says of a task without its solution."""

    words: frozenset[str]
    """The content of its request."""
    named: frozenset[str]
    """The models and fields that its evaluation names."""
    asked: bool
    apps: int
    apis: int
    mentioned: frozenset[str]
    """Apps that its request names."""

    def fits(self, effect: Effect) -> bool:
        """Whether `effect` changes nothing but what the evaluation names, gives an answer where one is asked for, and used the apps that
        the request names."""
        changes = frozenset(effect.fields)
        named = frozenset().union(*effect.fields.values()) | changes
        changes_something = any(_MODEL.fullmatch(name) for name in self.named)
        alike = effect.asked == self.asked and bool(changes) == changes_something
        return alike and named <= self.named and self.mentioned <= effect.apps

    def threshold(self, effect: Effect) -> float:
        """The likeness of the requests from which a task with this effect is a copy."""
        if not self.fits(effect):
            return OTHER
        differ = abs(len(effect.calls) - self.apis)
        # An agent may leave out a lookup before it changes something.
        if len(effect.apps) != self.apps or differ > (1 if effect.fields else 0):
            return ALIKE
        return 0.0 if effect.fields else SAME


def copied(root: Path, apps: Sequence[str], query: str, effect: Effect, held_out: Sequence[str]) -> Iterator[tuple[str, float]]:
    """The ids among `held_out` of which a task with this request and effect is a copy, and the likeness of the requests."""
    words = content(query, apps)
    for task_id in held_out:
        known = known_task(root, task_id, tuple(apps))
        if known is not None and (found := likeness(words, known.words)) >= known.threshold(effect):
            yield task_id, found


@lru_cache(maxsize=4096)
def known_task(root: Path, task_id: str, apps: tuple[str, ...]) -> KnownTask | None:
    """What the data says of a task; None where a file is missing or cannot be read."""
    folder = root / "data" / "tasks" / task_id
    truth = folder / "ground_truth"
    try:
        query = json.loads((folder / "specs.json").read_text(encoding="utf-8"))["instruction"]
        counts = json.loads((truth / "metadata.json").read_text(encoding="utf-8"))
        asked = json.loads((truth / "answer.json").read_text(encoding="utf-8")) is not None
        evaluation = (truth / "evaluation.py").read_text(encoding="utf-8")
        private, tests = ((truth / f"{name}.json").read_text(encoding="utf-8") for name in ("private_data", "test_data"))
    except (OSError, ValueError, LookupError, TypeError):
        return None
    named = frozenset(_MODEL.findall(tests)) | frozenset(name for text in (evaluation, private) for name in _QUOTED.findall(text))
    mentioned = frozenset(app for app in apps if app != "phone" and app.replace("_", " ") in query.lower())
    return KnownTask(content(query, apps), named, asked, counts.get("num_apps", 0), counts.get("num_apis", 0), mentioned)
