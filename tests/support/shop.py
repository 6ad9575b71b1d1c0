"""A shop whose scorer demands every result of the solution and the same basket; its users speak over several turns."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from coevolve import Action, Description, Observation, Step, Task, TaskKeys, Tool
from coevolve.core.environment_defaults import digest

LAMPS = (
    {"id": "LX71", "name": "desk lamp", "price": 19.5},
    {"id": "LX72", "name": "floor lamp", "price": 84.25},
    {"id": "LX73", "name": "lantern", "price": 33.75},
)


def _tool(name: str, description: str, **properties: Any) -> Tool:
    return Tool(name, description, {"type": "object", "properties": properties, "required": list(properties)}, group="shop")


TEXT = {"type": "string"}
TOOLS = (
    _tool("list_lamps", "List the lamps that the shop has in stock."),
    _tool("buy_item", "Put an item of the shop into the basket of the customer.", item_id=TEXT, amount={"type": "integer"}),
    _tool("get_balance", "Get the money that the customer has left."),
    _tool("gift_cards", "Names of all gift cards."),
    _tool("wrap", "Wrap the basket.", card={"type": "string"}),
    _tool("sort", "Sort the basket by price.", order={"type": "string", "enum": ["up", "down"]}),
)


class ShopEpisode:
    tools = None

    def __init__(self, task: Task) -> None:
        self.task, self.turns = task, list(task.payload["turns"])
        self.messages = ({"role": "system", "content": "tools"}, {"role": "user", "content": self.turns[0]})
        self.turn, self.basket, self.results = 0, list[Any](), list[Any]()

    def step(self, text: str) -> Observation:
        if not text:
            self.turn += 1
            if self.turn == len(self.turns):
                return Observation((), (), True)
            return Observation(({"role": "user", "content": self.turns[self.turn]},))
        call = json.loads(text)
        action = Action(call["name"], call["arguments"], self.turn)
        result, error = self._do(action)
        self.results.append(result)
        return Observation(({"role": "tool", "content": json.dumps(result)},), (Step(action, json.dumps(result), result, error),))

    def _do(self, action: Action) -> tuple[Any, str | None]:
        given = dict(action.arguments)
        if action.name == "list_lamps":
            return {"lamps": list(LAMPS)}, None
        if action.name == "get_balance":
            return {"balance": 168.5}, None
        if action.name == "gift_cards":
            return {"cards": ["Birthday", "Wedding", "Farewell"]}, None
        if action.name == "buy_item" and given.get("item_id") in {lamp["id"] for lamp in LAMPS}:
            self.basket.append([given["item_id"], given["amount"]])
            return {"basket": [list(item) for item in self.basket]}, None
        if action.name in ("wrap", "sort"):
            self.basket.append(given)
            return {"done": True}, None
        return {"error": "there is no such thing"}, "there is no such thing"

    def state(self) -> str:
        return digest(self.basket)

    def score(self) -> float:
        results = [json.dumps(result) for result in self.results]
        return float(
            self.state() == self.task.payload["end"]
            and all(json.dumps(result) in results for result in self.task.payload["results"])
            and self.turn == len(self.turns)
        )

    def __enter__(self) -> "ShopEpisode":
        return self

    def __exit__(self, *_: object) -> None: ...


class Shop:
    name: ClassVar[str] = "shop"

    def describe(self) -> Description:
        return Description(TOOLS)

    def open(self, task: Task) -> Any:
        return ShopEpisode(task)

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        texts, turn = list[str](), 0
        for action in actions:
            texts += [""] * (action.turn - turn)
            turn = action.turn
            texts.append(json.dumps({"name": action.name, "arguments": dict(action.arguments)}))
        return (*texts, "")

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        texts = (query or "").split("\n\n")
        actions = tuple(step.action for step in steps)
        if len(texts) != len({action.turn for action in actions}):
            return None
        return Task(task_id, "shop", "\n\n".join(texts), "", actions, {**start.payload, "turns": texts})

    def keys(self, task: Task) -> TaskKeys:
        return TaskKeys(digest(task.query), digest([task.query, task.payload]))


def shop_task(*turns: tuple[str, Sequence[tuple[str, dict[str, Any]]]], id: str = "shop-task") -> Task:
    """A task of these turns, each a request and its calls; its scorer wants what the calls return."""
    actions = tuple(Action(name, given, turn) for turn, (_, calls) in enumerate(turns) for name, given in calls)
    texts = [text for text, _ in turns]
    bare = Task(id, "shop", "\n\n".join(texts), "", actions, {"turns": texts, "end": "", "results": []})
    episode = ShopEpisode(bare)
    for text in Shop().script(actions):
        episode.step(text)
    payload = {"turns": texts, "end": episode.state(), "results": [dict(result) for result in episode.results]}
    return Task(id, "shop", bare.query, "", actions, payload)
