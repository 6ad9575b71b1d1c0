"""The benchmark's other kinds of a task, made from it without a new word.

missing_function   a function that one turn cannot do without is offered a turn later (category miss_func)
missing_parameter  the user leaves a value out first (category miss_param); this needs other words, so goals/story.py makes such tasks
long_context       the services hold the benchmark's large amounts of further data (category long_context)
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

SUBSTITUTES = (
    {"rm", "rmdir"},
    {"touch", "echo"},
    {"cp", "mv"},
    {"post_tweet", "retweet"},
    {"resolve_ticket", "close_ticket", "edit_ticket"},
)
"""Functions of which one can do another's work: they are held out together."""


def variants(apis: Apis, task: Task, seed: int) -> list[Task]:
    """The variants of `task` that its own solution still solves, each kind at most once. A task in which the user leaves a value out is
    its own variant; of other variants there are none."""
    category = task.payload["category"]
    if category == "miss_param":
        return [_variant(apis, task, "missing_parameter", {"category": category})]
    if category != "base":
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
    places = [
        (turn, sorted(_together(name)))
        for turn, used in enumerate(changing)
        for name in sorted(used)
        if not any(_together(name) & others for number, others in enumerate(names) if number != turn)
    ]
    if not places:
        return None
    turn, held_out = rng.choice(places)
    question, answers = list(payload["question"]), list(payload["ground_truth"])
    question.insert(turn + 1, [])
    answers.insert(turn, [])
    return _variant(apis, task, "missing_function", {
        "category": "miss_func", "question": question, "ground_truth": answers, "missed_function": {str(turn + 1): held_out},
    })  # fmt: skip


def _together(name: str) -> set[str]:
    return {name}.union(*(group for group in SUBSTITUTES if name in group))


def long_context(apis: Apis, task: Task) -> Task | None:
    """The task among large amounts of data.

    None where its services hold no more then, its calls fail there, or a list of numbers (fares, averages) is longer there: which of them
    the request means would be open.
    """
    made = _variant(apis, task, "long_context", {"category": "long_context"})
    small, large = (fresh(apis, Start.of(one.payload)) for one in (task, made))
    if small.public() == large.public():
        return None
    for text in (text for texts in task.payload["ground_truth"] for text in texts):
        call = ground_truth(text, apis.parameters)
        before, after = small.execute(call), large.execute(call)
        if after.error is not None or _more_numbers(before.value, after.value):
            return None
    return made


def _more_numbers(small: Any, large: Any) -> bool:
    """Whether a list of numbers in the large result is longer than in the small one, or stands for a number."""
    if isinstance(small, Mapping) and isinstance(large, Mapping):
        return any(_more_numbers(small.get(name), value) for name, value in large.items() if name in small)
    numbers = isinstance(large, list) and large and all(isinstance(one, int | float) for one in large)
    return bool(numbers) and (not isinstance(small, list) or len(small) < len(large))


def _variant(apis: Apis, task: Task, kind: str, changes: Mapping[str, Any]) -> Task:
    detail = {"release": task.payload["release"], "category": changes["category"], "variant": kind}
    made = make_task(apis, task.id, {**task.payload, **changes}, Origin("composed", parents=(task.id,), detail=detail), task.query)
    return attrs.evolve(made, intent=task.intent)
