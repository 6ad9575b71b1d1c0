"""The benchmark's entries as tasks. A payload keeps the official entry's shape, so that the official checker could score it unchanged."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from coevolve import Action, Origin, Task, UserError

from .apis import Apis
from .decode import ground_truth

NAME = "bfcl"


@cache
def scenarios(apis: Apis, category: str) -> Mapping[int, Task]:
    """All tasks of a category by scenario number, in the benchmark's order; read once a process.

    Raises UserError, ValueError, LookupError, TypeError or AttributeError when the files are damaged.
    """
    return MappingProxyType({task.payload["scenario"]: task for task in _tasks(apis, category)})


def _tasks(apis: Apis, category: str) -> Iterator[Task]:
    release = apis.release
    answers = {entry["id"]: entry["ground_truth"] for entry in _lines(apis.folder / release.answers(category))}
    for entry in _lines(apis.folder / release.entries(category)):
        identity = entry["id"]
        if identity not in answers:
            raise UserError(f"BFCL {release.version}: {identity} lacks a ground truth; run: coevolve env setup bfcl")
        yield make_task(
            apis,
            identity,
            payload={
                "id": identity,
                "question": entry["question"],
                "initial_config": entry["initial_config"],
                "involved_classes": entry["involved_classes"],
                "ground_truth": answers[identity],
                "release": release.version,
                "category": category,
                "scenario": int(identity.rsplit("_", 1)[1]),
                **{key: entry[key] for key in ("missed_function",) if key in entry},
            },
            origin=Origin(detail={"release": release.version, "category": category}),
        )


def make_task(apis: Apis, identity: str, payload: Mapping[str, Any], origin: Origin, query: str | None = None) -> Task:
    """A task whose solution is read from the payload's ground truth. Raises ValueError when that cannot be read."""
    solution = []
    for turn, calls in enumerate(payload["ground_truth"]):
        for text in calls:
            call = ground_truth(text, apis.parameters)
            solution.append(Action(call.name, call.arguments, turn))
    texts = requests(payload["question"])
    return Task(
        id=identity,
        environment=NAME,
        query="\n\n".join(filter(None, texts)) if query is None else query,
        intent=f"{len(texts)} turns with {', '.join(payload['involved_classes'])}",
        solution=tuple(solution),
        payload=payload,
        origin=origin,
    )


def requests(question: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """The user's text of each turn; empty in a turn that only offers functions that were held out."""
    return ["\n".join(message["content"] for message in turn) for turn in question]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
