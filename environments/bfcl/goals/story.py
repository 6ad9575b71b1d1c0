"""Stories: goals in turn, each carried out where the one before it ended."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module

from coevolve import Action, Goal

from ..apis import Apis
from ..decode import Call
from ..request_lint import fault_in
from ..simulated_apis import SimulatedApis, Start, fresh
from .registry import GOALS, KnownGoal
from .scene import NotHere, Scene, Turn

MODULES: tuple[str, ...] = (
    "files",
    "files_counts",
    "files_changes",
    "files_stored",
    "files_further",
    "files_shared",
    "tickets",
    "tickets_done",
    "tickets_about",
    "trading",
    "trading_orders",
    "trading_money",
    "messages",
    "messages_people",
    "tweets",
    "tweets_found",
    "travel",
    "travel_booking",
    "travel_account",
    "vehicle",
    "vehicle_climate",
    "vehicle_trips",
    "vehicle_news",
    "sums",
    "found_figures",
)
TURNS = ((1, 0.15), (2, 0.35), (3, 0.35), (4, 0.15))
"""Number of user turns and how often; the benchmark has up to seven, but each further turn is a further thing that must be right."""
TIED, SAME, OTHER = 120.0, 2.0, 0.3
"""Weights of a next goal: one that takes up what an earlier turn left behind, one of the class of the last turn, any other."""
SECOND, FURTHER = 0.5, 0.2
"""How often a story goes on with a turn that takes nothing up, after its first turn and later: else it ends. With another class than the
last turn's it goes on in a third of these cases."""
ONE_CALL = 0.25
"""Share of the stories of a single call with arguments that may stay so. A single call without arguments may not."""
LITTLE_TO_FOLLOW = ("MathAPI",)
"""Classes whose goals open a story three times less often, because hardly anything takes them up."""
ASKED_BACK = 0.25
"""Share of the stories, among those that can, in which the user leaves out a value first and the agent must ask for it."""
TRIES = 40
"""Goals tried for one turn of a story."""


def goals(apis: Apis, start: Start, seed: int, count: int, after: Sequence[Action] = ()) -> list[Goal]:
    """Up to `count` different goals in a world, after the calls `after`. Kinds come in a random order; each is used once, then again."""
    rng = random.Random(f"goals {seed} {start}")
    world = fresh(apis, start)
    before = tuple(Call(action.name, dict(action.arguments)) for action in after)
    shown = [(call, world.execute(call).text) for call in before]
    saved, found, seen = world.save(), list[Goal](), set[str]()
    openings = _openings(apis, saved, rng)
    for opening in openings if count else ():
        story = _story(Scene(SimulatedApis(apis, saved), rng, before=before, shown=list(shown)), opening)
        if story is not None and story.query not in seen:
            seen.add(story.query)
            found.append(story)
        if len(found) == count:
            break
    return found


def _openings(apis: Apis, saved: bytes, rng: random.Random) -> Iterator[KnownGoal]:
    """Goals for the first turn: all in a random order, four times. The classes take turns, so that none fills a world with its goals."""
    owners = set(SimulatedApis(apis, saved).instances)
    first = [known for known in known_goals() if not known.needs and {known.owner, *known.also} <= owners]
    for _ in range(4):
        mixed, ranks = rng.sample(first, len(first)), Counter[str]()
        order = dict[str, int]()
        for known in mixed:
            ranks[known.owner] += 3 if known.owner in LITTLE_TO_FOLLOW else 1
            order[known.name] = ranks[known.owner]
        yield from sorted(mixed, key=lambda known: order[known.name])


def known_goals() -> list[KnownGoal]:
    """All goals, in the order of their modules."""
    for module in MODULES:
        import_module(f".{module}", __package__)
    return list(GOALS.values())


def _story(scene: Scene, opening: KnownGoal) -> Goal | None:
    if not _take(scene, opening):
        return None
    wanted = scene.rng.choices([number for number, _ in TURNS], [share for _, share in TURNS])[0]
    bare = _is_bare(scene, opening)
    for _ in range(TRIES):
        following = _following(scene)
        if bare:
            following = [known for known in following if known.needs or known.owner == opening.owner]
        if not following or (len(scene.turns) >= wanted and not bare):
            break
        known = scene.rng.choices(following, [_weight(known, scene) for known in following])[0]
        if not bare and not scene.chance(_goes_on(known, scene)):
            break
        if _take(scene, known):
            bare = False
    return None if bare and not _may_be_all(scene, opening) else _goal(scene.turns, _left_out(scene))


def _is_bare(scene: Scene, opening: KnownGoal) -> bool:
    """Whether the opening is one call only, which is too easy to be a story of its own."""
    return len(scene.earlier()) == 1 and not (_may_be_all(scene, opening) and scene.chance(ONE_CALL))


def _may_be_all(scene: Scene, opening: KnownGoal) -> bool:
    return opening.alone and bool(scene.earlier()[0].arguments)


def _left_out(scene: Scene) -> int | None:
    """The number of the turn whose user leaves a value out first; None for most stories."""
    able = [number for number, turn in enumerate(scene.turns) if turn.omission is not None]
    return scene.rng.choice(able) if able and scene.chance(ASKED_BACK) else None


def _goal(turns: Sequence[Turn], left_out: int | None) -> Goal:
    spoken: list[tuple[str, tuple[Call, ...]]] = []
    for number, turn in enumerate(turns):
        if number == left_out and turn.omission is not None:
            text, answer = turn.omission
            spoken += [(text, ()), (answer, turn.calls)]
        else:
            spoken.append((turn.text, turn.calls))
    names = [f"{turn.goal} (asked back)" if number == left_out else turn.goal for number, turn in enumerate(turns)]
    actions = tuple(Action(call.name, dict(call.arguments), number) for number, (_, calls) in enumerate(spoken) for call in calls)
    return Goal(" + ".join(names), "\n\n".join(text for text, _ in spoken), actions)


def _take(scene: Scene, known: KnownGoal) -> bool:
    """Add a turn for a goal; False, with the scene as it was, where that does not work here."""
    saved, things = scene.world.save(), {kind: list(kept) for kind, kept in scene.things.items()}
    facts, shown = dict(scene.facts), list(scene.shown)
    scene.calls, scene.omission = [], None
    try:
        text = known.function(scene)
        if not scene.calls or scene.calls[-1] in scene.earlier():
            raise NotHere("nothing that is new")
        for words in (text, *(scene.omission or ())):
            if fault := fault_in(words, scene.calls):
                raise ValueError(f"the goal {known.name} words a request badly, {fault}: {words!r}")
    except (NotHere, LookupError, TypeError, AttributeError):  # the last three: results of another release have another shape
        scene.world.load(saved)
        scene.things, scene.facts, scene.shown = things, facts, shown
        return False
    scene.turns.append(Turn(known.name, text, tuple(scene.calls), scene.omission))
    scene.told.add(known.topic)
    return True


def _following(scene: Scene) -> list[KnownGoal]:
    return [
        known
        for known in known_goals()
        if known.topic not in scene.told
        and {known.owner, *known.also} <= set(scene.world.instances)
        and all(scene.things.get(kind) for kind in known.needs)
    ]


def _goes_on(known: KnownGoal, scene: Scene) -> float:
    if known.needs:
        return 1.0
    share = SECOND if len(scene.turns) == 1 else FURTHER
    return share if known.owner == GOALS[scene.turns[-1].goal].owner else share / 3


def _weight(known: KnownGoal, scene: Scene) -> float:
    if known.needs:
        return 2 * TIED if known.also else TIED
    return SAME if known.owner == GOALS[scene.turns[-1].goal].owner else OTHER
