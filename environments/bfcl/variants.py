"""The benchmark's other kinds of a task, made from it without a new word.

    missing_function   a function that one turn cannot do without is offered a turn later (category miss_func)
    long_context       the services hold the benchmark's large amounts of further data (category long_context)

Tasks whose user leaves a value out first (category miss_param) need other words: goals/story.py makes them.
"""

import random
from collections.abc import Mapping
from typing import Any

import attrs

from coevolve import Origin, Task

from .apis import Apis
from .data import make_task
from .decode import ground_truth
from .digest import canonical
from .simulated_apis import Start, fresh


def variants(apis: Apis, task: Task, seed: int) -> list[Task]:
    """The variants of `task` that its own solution still solves; each kind at most once. Empty for a task that is a variant already."""
    if task.payload["category"] != "base":
        return []
    made = (missing_function(apis, task, random.Random(f"missing function {seed} {task.id}")), long_context(apis, task))
    return [one for one in made if one is not None]


def missing_function(apis: Apis, task: Task, rng: random.Random) -> Task | None:
    """The task with one function held out until a further, silent turn.

    None when no function changes something in one turn only. A function that only looks something up is not held out, because another
    one might tell the same.
    """
    payload = task.payload
    world, changing = fresh(apis, Start.of(payload)), list[set[str]]()
    for texts in payload["ground_truth"]:
        changing.append(set())
        for text in texts:
            call, before = ground_truth(text, apis.parameters), canonical(world.public())
            world.execute(call)
            if canonical(world.public()) != before:
                changing[-1].add(call.name)
    names = [{ground_truth(text, apis.parameters).name for text in texts} for texts in payload["ground_truth"]]
    places = [(turn, name) for turn, used in enumerate(changing) for name in sorted(used) if sum(name in others for others in names) == 1]
    if not places:
        return None
    turn, name = rng.choice(places)
    question, answers = list(payload["question"]), list(payload["ground_truth"])
    question.insert(turn + 1, [])
    answers.insert(turn, [])
    return _variant(apis, task, "missing_function", {
        "category": "miss_func", "question": question, "ground_truth": answers, "missed_function": {str(turn + 1): [name]},
    })  # fmt: skip


def long_context(apis: Apis, task: Task) -> Task | None:
    """The task among large amounts of data; None where its services hold no more then, or its calls fail there."""
    made = _variant(apis, task, "long_context", {"category": "long_context"})
    small, large = (fresh(apis, Start.of(one.payload)) for one in (task, made))
    if small.public() == large.public():
        return None
    for text in (text for texts in task.payload["ground_truth"] for text in texts):
        if large.execute(ground_truth(text, apis.parameters)).error is not None:
            return None
    return made


def _variant(apis: Apis, task: Task, kind: str, changes: Mapping[str, Any]) -> Task:
    detail = {"release": task.payload["release"], "category": changes["category"], "variant": kind}
    made = make_task(apis, task.id, {**task.payload, **changes}, Origin("composed", parents=(task.id,), detail=detail), task.query)
    return attrs.evolve(made, intent=task.intent)
