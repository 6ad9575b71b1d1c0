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

from attrs import field, frozen

from .synonyms import content, likeness

SAME, ALIKE, OTHER = 0.15, 0.4, 0.75
"""Likeness of two requests from which a task is a copy: a question whose solution agrees in all that is known, a task whose solution
agrees in part, any other task. A task that changes something and agrees in all that is known is always one."""
PARTLY = 0.8
"""Agreement of the changed models from which solutions agree in part."""
KINDS = ("added", "updated", "removed")
"""What can be done to a model's rows."""
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
    kinds: Mapping[str, frozenset[str]] = field(factory=dict)
    """Which of KINDS it did to each model."""

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Effect":
        """Of a trace (engine/synthesize.py)."""
        changes = found["diff"].items()
        fields = {model: frozenset(name for updated in change["updated"].values() for name in updated) for model, change in changes}
        return cls(fields, found["answer"] is not None, frozenset(call[0] for call in found["calls"]), dict(_kinds(found["diff"])))

    @property
    def apps(self) -> frozenset[str]:
        """The apps that it called."""
        return frozenset(name.split(".")[0] for name in self.calls) - frozenset(ASIDE)


@frozen
class KnownTask:
    """What the data says of a task without its solution."""

    words: frozenset[str]
    """The content of its request."""
    models: frozenset[str]
    """The models that its evaluation says are changed."""
    fields: frozenset[str]
    """Names in its evaluation, among them the changed fields."""
    kinds: Mapping[str, frozenset[str]]
    """Which of KINDS it says of each model, for those of which the data says so."""
    asked: bool
    apps: int
    apis: int
    mentioned: frozenset[str]
    """Apps that its request names."""

    def agreement(self, effect: Effect) -> float:
        """How far `effect` agrees with what the evaluation says: the share of the changed models that both change, in [0, 1].

        0 where only one of them answers or changes something, where the request names an app that was not used, and where a model is
        changed in another way: in no field that the evaluation names, or with rows added in place of changed.
        """
        changed = frozenset(effect.fields)
        if effect.asked != self.asked or not self.mentioned <= effect.apps or bool(changed) != bool(self.models):
            return 0.0
        if any(fields and not fields & self.fields for model, fields in effect.fields.items() if model in self.models):
            return 0.0
        if any(effect.kinds[model].isdisjoint(kinds) for model, kinds in self.kinds.items() if model in effect.kinds):
            return 0.0
        return len(changed & self.models) / len(changed | self.models) if changed else 1.0

    def threshold(self, effect: Effect) -> float:
        """The likeness of the requests from which a task with this effect is a copy."""
        agreement = self.agreement(effect)
        if agreement < PARTLY:
            return OTHER
        # An agent may leave out a lookup before it changes something.
        near = len(effect.apps) == self.apps and abs(len(effect.calls) - self.apis) <= (1 if effect.fields else 0)
        if agreement < 1.0 or not near:
            return ALIKE
        return 0.0 if effect.fields else SAME


def _kinds(found: object) -> Iterator[tuple[str, frozenset[str]]]:
    """Models and what is done to them, wherever JSON values map a model to objects with the names of KINDS."""
    for name, value in found.items() if isinstance(found, dict) else ():
        if _MODEL.fullmatch(name) and isinstance(value, dict):
            yield name, frozenset(kind for kind in KINDS if value.get(kind))
        else:
            yield from _kinds(value)


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
        kinds = {model: done for model, done in _kinds(json.loads(private)) if done}
        apis = int(counts["num_apps"]), int(counts["num_apis"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    models = frozenset(_MODEL.findall(tests)) or frozenset(filter(_MODEL.fullmatch, _QUOTED.findall(f"{evaluation} {private}")))
    fields = frozenset(_QUOTED.findall(f"{evaluation} {private}"))
    mentioned = frozenset(app for app in apps if app != "phone" and app.replace("_", " ") in query.lower())
    return KnownTask(content(query, apps), models, fields, kinds, asked, *apis, mentioned)
