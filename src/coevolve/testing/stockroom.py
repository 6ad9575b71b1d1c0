"""A small but real environment: a stockroom with a catalogue, staff, labels and mail.

A task needs one to six calls. Names must be looked up first, in the representation that the next call takes (`as`: a code or a
barcode, a badge or an address); some calls take the wrong one in silence, so a failure may show in the end state only. Completions
are JSON (`{"tool": ..., "arguments": {...}}`); anything that is not a call is answered with an error, an empty one ends the episode.
"""

import copy
import functools
import hashlib
import json
import random
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from attrs import frozen

from coevolve import Action, Description, Message, Observation, Step, Task, TaskKeys, Tool, Trajectory

_ITEMS = "lamp chair kettle rope ladder bucket clock mirror stool vase tray basket torch carpet drum pillow"
_PEOPLE = "Ana Ben Caro Dov Eli Fay Gus Hana Ivo Jun Kim Lea"
ITEMS, PEOPLE = _ITEMS.split(), _PEOPLE.split()
LIMIT = 14


def _tool(name: str, description: str, arguments: Mapping[str, Any], returns: Mapping[str, Any]) -> Tool:
    schema = {"type": "object", "properties": dict(arguments), "required": list(arguments)}
    return Tool(name, description, schema, {"type": "object", "properties": dict(returns)}, name.split(".")[0])


def _text(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "format": kind, **more}


_COUNT = {"type": "integer", "format": "count"}
_REFERENCE = {"reference": {"type": "string"}}
_DONE = {"ok": {"type": "boolean"}}
TOOLS = (
    _tool("catalog.find", "Look up an item.", {"item": _text("item"), "as": {"type": "string", "enum": ["code", "barcode"]}}, _REFERENCE),
    _tool(
        "staff.find", "Look up a person.", {"person": _text("person"), "as": {"type": "string", "enum": ["badge", "address"]}}, _REFERENCE
    ),
    _tool("stock.count", "How many there are.", {"code": _text("code")}, {"count": _COUNT}),
    _tool("stock.add", "Add to the stock.", {"code": _text("code"), "amount": _COUNT}, _DONE),
    _tool("stock.reserve", "Keep an item for a person.", {"code": _text("code"), "badge": _text("badge")}, _DONE),
    _tool("label.print", "Print labels.", {"barcode": _text("barcode"), "amount": _COUNT}, _DONE),
    _tool("door.admit", "Let a person in.", {"badge": _text("badge")}, _DONE),
    _tool("mail.send", "Mail a number.", {"address": _text("address"), "number": _COUNT}, _DONE),
)
_SCHEMAS = {tool.name: tool.parameters["properties"] for tool in TOOLS}
_TYPES: dict[str, type] = {"string": str, "integer": int}


class World:
    """Items, people and what was done; made from a number."""

    def __init__(self, number: int) -> None:
        draw = random.Random(f"stockroom {number}")
        self.items = {
            name: {"code": f"C{draw.randrange(1000, 10000)}", "barcode": f"{draw.randrange(10**6, 10**7)}"}
            for name in draw.sample(ITEMS, 4)
        }
        self.people = {
            name: {"badge": f"B{draw.randrange(100, 1000)}", "address": f"{name.lower()}{draw.randrange(100)}@store"}
            for name in draw.sample(PEOPLE, 3)
        }
        self.stock = {entry["code"]: draw.randrange(10, 100) for entry in self.items.values()}
        self.done: list[Any] = []

    @staticmethod
    @functools.lru_cache(maxsize=4096)
    def _prototype(number: int) -> "World":
        return World(number)

    @classmethod
    def fresh(cls, number: int) -> "World":
        """The world of that number before anything was done in it."""
        return cls._prototype(number).copy()

    def call(self, name: str, given: Mapping[str, Any]) -> Any:
        """The result; a LookupError or TypeError says what is wrong with the call."""
        schema = _SCHEMAS[name]
        if set(given) != set(schema):
            raise TypeError(f"{name} takes {', '.join(schema)}")
        for key, of in schema.items():
            if type(given[key]) is not _TYPES[of["type"]] or given[key] not in of.get("enum", [given[key]]):
                raise TypeError(f"{key} is not right")
        if name in ("catalog.find", "staff.find"):
            known = self.items if name == "catalog.find" else self.people
            asked = given.get("item", given.get("person"))
            if asked not in known:
                raise LookupError(f"there is no {asked}")
            return {"reference": known[asked][given["as"]]}
        if name.startswith("stock.") and given["code"] not in self.stock:
            raise LookupError(f"there is no code {given['code']}")
        if name == "stock.count":
            return {"count": self.stock[given["code"]]}
        if name == "stock.add":
            self.stock[given["code"]] += given["amount"]
        else:
            self.done.append([name, dict(given)])
        return {"ok": True}

    def copy(self) -> "World":
        """A world of its own in the same state."""
        new = copy.copy(self)
        new.stock, new.done = dict(self.stock), list(self.done)
        return new

    def changes(self, start: "World") -> Counter[str]:
        """What was done since `start`: an amount of each item whose stock is another one, and the calls on record."""
        stock = [json.dumps(item) for item in self.stock.items() if item not in start.stock.items()]
        return Counter([*stock, *(json.dumps(call, sort_keys=True) for call in self.done)])

    def digest(self) -> str:
        text = json.dumps([self.items, self.people, self.stock, sorted(map(json.dumps, self.done))])
        return hashlib.sha256(text.encode()).hexdigest()


class StockroomEpisode:
    """One attempt in a world of its own."""

    tools: Sequence[dict[str, Any]] | None = None

    def __init__(self, task: Task, goal: World | None) -> None:
        self._goal = goal
        self._start = task.payload["world"]
        self._world = World.fresh(self._start)
        self._calls = 0
        self._over = False
        self.messages: Sequence[Message] = (
            {"role": "system", "content": "Answer with one JSON call a message, or with nothing when you are done."},
            {"role": "user", "content": task.query},
        )

    def __enter__(self) -> "StockroomEpisode":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def step(self, text: str) -> Observation:
        if self._over or not text.strip():
            self._over = True
            return Observation(done=True)
        self._calls += 1
        self._over = self._calls >= LIMIT
        fault = "too many calls" if self._over else None
        action = _parse(text)
        if action is None:
            return Observation(({"role": "tool", "content": "This is not a call."},), done=self._over, fault=fault)
        result, error = None, None
        try:
            result = self._world.call(action.name, action.arguments)
        except (LookupError, TypeError) as problem:
            error = str(problem.args[0])
        content = json.dumps({"error": error} if error else result)
        step = Step(action, content, result, error)
        return Observation(({"role": "tool", "content": content},), (step,), done=self._over, fault=fault)

    def score(self) -> float:
        return float(self._goal is not None and self._world.digest() == self._goal.digest())

    def progress(self) -> float:
        """Share of the goal's changes that were made; each other change stands in the divisor too."""
        if self._goal is None:
            return 0.0
        start = World.fresh(self._start)
        wanted, made = self._goal.changes(start), self._world.changes(start)
        return (wanted & made).total() / max(1, (wanted | made).total())

    def snapshot(self) -> Any:
        return self._world.copy(), self._calls, self._over

    def restore(self, snapshot: Any) -> None:
        world, self._calls, self._over = snapshot
        self._world = world.copy()

    def state(self) -> str:
        return self._world.digest()

    def close(self) -> None:
        self._over = True


def _parse(text: str) -> Action | None:
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(call, dict) or call.get("tool") not in list(_SCHEMAS) or not isinstance(call.get("arguments"), dict):
        return None
    return Action(call["tool"], call["arguments"])


RECIPES = ("add", "label", "admit", "mail", "mail the count", "label the count", "add the count", "reserve")


def _recipe(kind: str, world: World, draw: random.Random) -> list[Action]:
    item, person, amount = draw.choice(list(world.items)), draw.choice(list(world.people)), draw.randrange(1, 10)
    code, barcode = Action("catalog.find", {"item": item, "as": "code"}), Action("catalog.find", {"item": item, "as": "barcode"})
    badge, address = Action("staff.find", {"person": person, "as": "badge"}), Action("staff.find", {"person": person, "as": "address"})
    of, who = world.items[item], world.people[person]
    counted = [code, Action("stock.count", {"code": of["code"]})]
    there = world.stock[of["code"]]
    return {
        "add": [code, Action("stock.add", {"code": of["code"], "amount": amount})],
        "label": [barcode, Action("label.print", {"barcode": of["barcode"], "amount": amount})],
        "admit": [badge, Action("door.admit", {"badge": who["badge"]})],
        "mail": [address, Action("mail.send", {"address": who["address"], "number": amount})],
        "mail the count": [*counted, address, Action("mail.send", {"address": who["address"], "number": there})],
        "label the count": [*counted, barcode, Action("label.print", {"barcode": of["barcode"], "amount": there})],
        "add the count": [*counted, Action("stock.add", {"code": of["code"], "amount": there})],
        "reserve": [code, badge, Action("stock.reserve", {"code": of["code"], "badge": who["badge"]})],
    }[kind]


def perform(number: int, actions: Sequence[Action]) -> tuple[list[Step], World]:
    """Carry out `actions` in a fresh world; a call that fails has its error in its step."""
    world, steps = World.fresh(number), []
    for action in actions:
        try:
            result = world.call(action.name, action.arguments)
            steps.append(Step(action, json.dumps(result), result))
        except (KeyError, LookupError, TypeError) as problem:
            steps.append(Step(action, "", None, str(problem)))
    return steps, world


def _word(steps: Sequence[Step]) -> str | None:
    """The request that these steps answer; None when a lookup is not used or a value comes from nowhere."""
    source: dict[Any, tuple[str, str]] = {}
    unused: set[Any] = set()
    parts = []

    def use(value: Any, kind: str) -> str | None:
        found, name = source.get(value, ("", ""))
        unused.discard(value)
        return name if found == kind else None

    for step in steps:
        name, given = step.action.name, step.action.arguments
        if step.error:
            return None
        if name.endswith(".find"):
            source[step.result["reference"]] = (given["as"], given.get("item", given.get("person")))
            unused.add(step.result["reference"])
            continue
        whole = [use(given[key], key) for key in ("code", "barcode", "badge", "address") if key in given]
        if None in whole:
            return None
        if name == "stock.count":
            source[step.result["count"]] = ("count", f"as many as there are of {whole[0]}")
            unused.add(step.result["count"])
            continue
        number = given.get("amount", given.get("number"))
        amount = use(number, "count") or (str(number) if number in range(1, 10) else None)
        phrase = {
            "stock.add": f"add {amount} to the stock of {whole[0]}",
            "label.print": f"print {amount} labels of {whole[0]}",
            "mail.send": f"mail {whole[0]} the number {amount}",
            "door.admit": f"let {whole[0]} in",
            "stock.reserve": f"reserve {whole[0]} for {whole[-1]}",
        }[name]
        if number is not None and amount is None:
            return None
        parts.append(phrase)
    return None if unused or not parts else f"Please {', then '.join(parts)}."


def _needed(steps: Sequence[Step]) -> list[Step]:
    """The steps without the lookups and counts that no later step uses."""
    kept: list[Step] = []
    for step in reversed([step for step in steps if step.error is None]):
        found = step.result.get("reference", step.result.get("count"))
        if found is None or any(found in later.action.arguments.values() for later in kept):
            kept.append(step)
    return kept[::-1]


def _family(actions: Sequence[Action]) -> str:
    return " ".join(f"{action.name}[{action.arguments.get('as', '')}]" for action in actions)


def _held_out(actions: Sequence[Action]) -> bool:
    return zlib.crc32(f"12 {_family(actions)}".encode()) % 4 == 0


@frozen
class StockroomOptions:
    """How many tasks each split has."""

    train: int = 40
    test: int = 20


class Stockroom:
    """The environment; its test split has families of calls that no training task has."""

    name: ClassVar[str] = "stockroom"
    Options: ClassVar[type] = StockroomOptions

    def __init__(self, options: StockroomOptions) -> None:
        self.options = options

    def splits(self) -> tuple[str, ...]:
        return ("train", "test")

    def tasks(self, split: str) -> Sequence[Task]:
        count = {"train": self.options.train, "test": self.options.test}[split]
        return self._tasks(split, count)

    @staticmethod
    @functools.cache
    def _tasks(split: str, count: int) -> tuple[Task, ...]:
        made: dict[str, Task] = {}
        number = 0 if split == "train" else 100_000
        while len(made) < count:
            number += 1
            draw, world = random.Random(f"{split} {number}"), World(number)
            actions = [action for kind in draw.sample(RECIPES, draw.choice((1, 1, 2))) for action in _recipe(kind, world, draw)]
            steps, _ = perform(number, actions)
            query = _word(steps)
            if query is None or _held_out(actions) != (split == "test") or query in made:
                continue
            made[query] = Task(f"stockroom-{split}-{number}", "stockroom", query, query, tuple(actions), {"world": number})
        return tuple(made.values())

    def open(self, task: Task) -> StockroomEpisode:
        goal = perform(task.payload["world"], task.solution)[1] if task.solution else None
        return StockroomEpisode(task, goal)

    def describe(self) -> Description:
        return Description(TOOLS, "A stockroom. Look names up in the representation that the next call takes.")

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        return tuple(f"{step.action.name}:{'error' if step.error else 'ok'}" for step in trajectory.steps)

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        return (*(json.dumps({"tool": action.name, "arguments": dict(action.arguments)}) for action in actions), "")

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        needed = _needed(steps)
        worded = _word(needed)
        if worded is None:
            return None
        return Task(task_id, self.name, query or worded, worded, tuple(step.action for step in needed), dict(start.payload))

    def keys(self, task: Task) -> TaskKeys:
        actions = json.dumps([[action.name, dict(action.arguments)] for action in task.solution], sort_keys=True)
        _, world = perform(task.payload["world"], task.solution)
        return TaskKeys(actions, world.digest(), _family(task.solution))
