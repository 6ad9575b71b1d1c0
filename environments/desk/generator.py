"""Seed tasks: random plans, worded, solved and assigned to the splits by the family of their tools."""

import random
from collections.abc import Iterator, Sequence
from hashlib import sha256

from coevolve import Task

from .tools import ACTIONS, ENTITIES, RELAYS, SIMPLE, SOURCES, TOOLS, Spec
from .values import FORMS
from .wording import FRAMES, HELD_OUT_FRAMES, Node, Plan, ask, family, fits, intent, solve

SHAPES = {
    "answer": 0.04,
    "given": 0.03,
    "simple": 0.03,
    "source action": 0.22,
    "source relay answer": 0.10,
    "source relay action": 0.24,
    "source action, simple": 0.12,
    "source relay relay action": 0.07,
    "source action, source action": 0.15,
}
"""Share of each shape of plan among the tasks of every split: one to four calls, none to three links."""


def held_out(name: str) -> bool:
    """Whether a family of tool sequences belongs to split "test" alone."""
    return _draw(name) % 4 == 0


def split_of(name: str) -> str:
    """The split that a family belongs to: a quarter "test", a sixteenth "dev", the rest "train"."""
    return "test" if held_out(name) else "dev" if _draw(name) % 16 == 1 else "train"


def _draw(name: str) -> int:
    return int.from_bytes(sha256(name.encode()).digest()[:8], "big")


def random_plan(rng: random.Random, shape: str | None = None) -> Plan:
    """A plan of the given shape, or of a shape drawn as in SHAPES."""
    shape = shape or rng.choices(list(SHAPES), list(SHAPES.values()))[0]
    while True:
        plan = tuple(_chain(rng, part.split()) for part in shape.split(", "))
        if len({root.spec.name for root in plan}) == len(plan):  # a tool that occurs twice could undo its own change
            return plan


def _chain(rng: random.Random, kinds: Sequence[str]) -> Node:
    if kinds[0] == "simple":
        spec = rng.choice(SIMPLE)
        return Node(spec, _entity(rng, spec))
    if kinds[0] == "given":
        spec = rng.choice(ACTIONS)
        return Node(spec, _entity(rng, spec), rng.choice(FORMS[spec.takes or ""][spec.reads or ""]))
    return _nested(rng, _specs(rng, [k for k in kinds if k not in ("answer", "source")]))


def _nested(rng: random.Random, specs: Sequence[Spec]) -> Node:
    """A source and the tools that it goes through, in the forms that they read."""
    node: Node | None = None
    for spec, after in zip(specs, (*specs[1:], None), strict=True):
        form = None if not spec.gives else after.reads if after else rng.choice(list(FORMS[spec.gives]))
        node = Node(spec, _entity(rng, spec), node, form)
    assert node is not None
    return node


def plan_with(rng: random.Random, producer: str, consumer: str) -> Plan:
    """A plan of one chain that ends with a given link, and begins with a source when the link's lookup takes a value."""
    made = TOOLS[producer]
    first = [rng.choice([s for s in SOURCES if s.gives == made.takes])] if made.takes else []
    return (_nested(rng, [*first, made, TOOLS[consumer]]),)


def _specs(rng: random.Random, kinds: Sequence[str]) -> list[Spec]:
    """A source and tools of the given kinds, each taking what the one before gives; no tool twice."""
    while True:
        specs = [rng.choice(SOURCES)]
        for kind in kinds:
            fitting = [s for s in (RELAYS if kind == "relay" else ACTIONS) if s.takes == specs[-1].gives and s not in specs]
            if not fitting:
                break
            specs.append(rng.choice(fitting))
        if len(specs) == 1 + len(kinds):
            return specs


def _entity(rng: random.Random, spec: Spec) -> str | None:
    return rng.choice(ENTITIES[spec.entity]) if spec.entity else None


def word(plan: Plan, rng: random.Random, frames: Sequence[str]) -> str:
    """A request for the plan in one of the frames."""
    return ask(plan, rng.choice([f for f in frames if fits(plan, f)]))


def generate(split: str, seed: int) -> Iterator[Task]:
    """The endless tasks of a split, no request twice; a shorter list is the beginning of a longer one."""
    rng, seen = random.Random(f"desk {split} {seed}"), set[str]()
    while True:
        plan, world = random_plan(rng), rng.getrandbits(31)
        solution = solve(plan, world)
        if split_of(family(solution)) != split:
            continue
        query = word(plan, rng, HELD_OUT_FRAMES if split == "test" else FRAMES)
        if query not in seen:
            seen.add(query)
            yield Task(f"desk-{split}-{len(seen) - 1}", "desk", query, intent(plan), solution, {"seed": world})
