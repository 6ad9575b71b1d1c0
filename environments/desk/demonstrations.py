"""Where the policy's weakness comes from: a demonstrator that errs on a sparse set of compositions.

The demonstrator makes one kind of error. On a **weak link**, a lookup whose value goes to a certain tool, it asks for a fixed wrong form
with a fixed probability. Weak links are drawn from a base seed, and have something in common (CLUSTERINGS): by default the app of the
lookup. In WEAK_GROUPS of the groups most links are weak, elsewhere few. A policy trained on its demonstrations knows every tool and most
compositions, fails greedily on the weak ones, and gets these right now and then when sampled. Only the training and the check of
the policy use this table: it is part of the policy's training, not of the world.
"""

import random
from collections.abc import Mapping

from attrs import frozen

from coevolve import Action

from .calls import DONE, write
from .tools import LINKS, TOOLS
from .values import FORMS
from .wording import Node, Plan
from .world import Refused, World

CLUSTERINGS = ("producing app", "consuming app", "kind of value", "nothing")
"""What weak links have in common: the app of the lookup, the app of the tool that takes the value, the kind of the value, or nothing."""
WEAK_GROUPS = 5 / 14
"""Share of the groups in which a link is weak with probability WITHIN; 5 of the 14 producing apps."""
WITHIN, ELSEWHERE = 0.72, 0.05
"""Probability that a link is weak in a weak group, and in another. On average 27 to 29 % of all links are weak,
for one base seed 21 to 36 % (seeds 1 to 100)."""
ERROR = (0.58, 0.78)
"""Range of the probability of the wrong form on a weak link; greedy fails there, samples succeed at 0.22 to 0.42."""


@frozen
class Habit:
    """How the demonstrator errs on one weak link."""

    form: str
    probability: float


def group_of(link: tuple[str, str], clustering: str) -> str:
    """The group of links that `link` belongs to; with clustering "nothing" each link is its own group."""
    producer, consumer = (TOOLS[name] for name in link)
    match clustering:
        case "producing app":
            return producer.app
        case "consuming app":
            return consumer.app
        case "kind of value":
            return str(producer.gives)
        case "nothing":
            return ">".join(link)
    raise ValueError(f"clustering {clustering!r} is none of {', '.join(CLUSTERINGS)}")


def weak_links(seed: int, clustering: str = CLUSTERINGS[0]) -> Mapping[tuple[str, str], Habit]:
    """(producer, consumer) -> the habit, for the links that base seed `seed` makes weak; ValueError for an unknown clustering."""
    rng = random.Random(f"weak {seed}" if clustering == CLUSTERINGS[0] else f"weak {seed} by {clustering}")
    groups = sorted({group_of(link, clustering) for link in LINKS})
    weak = set(rng.sample(groups, round(len(groups) * WEAK_GROUPS)))
    habits = {}
    for producer, consumer in LINKS:
        taker = TOOLS[consumer]
        form = rng.choice([f for f in FORMS[taker.takes or ""] if f != taker.reads])
        habit = Habit(form, rng.uniform(*ERROR))
        if rng.random() < (WITHIN if group_of((producer, consumer), clustering) in weak else ELSEWHERE):
            habits[producer, consumer] = habit
    return habits


def links_of(plan: Plan) -> list[tuple[str, str]]:
    """The links in a plan, as (producer, consumer)."""
    found, nodes = [], list(plan)
    for node in nodes:
        if isinstance(node.value, Node):
            found.append((node.value.spec.name, node.spec.name))
            nodes.append(node.value)
    return found


def demonstrate(
    plan: Plan, seed: int, habits: Mapping[tuple[str, str], Habit], rng: random.Random, due: dict[tuple[str, str], float] | None = None
) -> list[tuple[str, str]]:
    """Calls and observations of one demonstration, in order. A refused call is followed by `done`: the demonstrator gives up.

    Errors come by chance, or with `due` at regular intervals: it keeps for each weak link what part of an error is due.
    """
    world, calls = World(seed), list[tuple[str, str]]()

    def run(node: Node, taker: str | None) -> str:
        value = run(node.value, node.spec.name) if isinstance(node.value, Node) else node.value
        form = node.form
        habit = habits.get((node.spec.name, taker)) if taker else None
        if taker and habit is not None and _errs((node.spec.name, taker), habit, rng, due):
            form = habit.form
        given = {node.spec.entity: node.entity, node.spec.takes: value, "as": form}
        action = Action(node.spec.name, {name: given[name] for name in node.spec.arguments})
        try:
            calls.append((write(action), world.call(action)))
        except Refused as refused:
            calls.append((write(action), f"error: {refused}"))
            raise
        return calls[-1][1]

    answer = None
    try:
        for root in plan:
            result = run(root, None)
            answer = result if root.spec.gives else answer
    except Refused:
        answer = None
    calls.append((write(Action(DONE, {"answer": answer})), ""))
    return calls


def _errs(link: tuple[str, str], habit: Habit, rng: random.Random, due: dict[tuple[str, str], float] | None) -> bool:
    if due is None:
        return rng.random() < habit.probability
    whole, due[link] = divmod(due.get(link, rng.random()) + habit.probability, 1)
    return bool(whole)
