"""An exact learner on the desk: a policy without a network, and the worlds that it acts in, for studies over many worlds.

exact_run.py puts the loop's own parts around it, exact_study.py compares arms on it.

The policy is one logit for each of the desk's links (a lookup whose value goes to a certain tool): the logit of asking for the right form.
A task is solved when all of its links are right, so held-out success is known exactly. The update is GRPO's:

    theta[link] += rate * sum over rollouts of A_k (right - p) + the same, weaker, for links with the same producer, consumer and app
    theta[link] -= pull * (theta[link] - theta_0[link])

Tasks are the desk's. A world is drawn from a seed: which links are weak, what the weak ones have in common (CLUSTERINGS), where each logit
starts, the pool and the tests.
"""

import math
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
from attrs import define, field, frozen

from coevolve import Outcome, RolloutGroup, Step, Task, Trajectory
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.environments.desk.demonstrations import weak_links
from coevolve.environments.desk.tools import LINKS, TOOLS
from coevolve.environments.desk.values import FORMS
from coevolve.synthesizers.catalog import catalog_of
from coevolve.synthesizers.links import SolvedTask, Survey

Array = np.ndarray[Any, Any]
PLACE = {link: number for number, link in enumerate(LINKS)}
ROLLOUTS, TRAIN = 8, 256
RATE, PULL = 0.55, 0.012
TYPICAL = 0.93
"""Length of a typical update before RATE, where it is normalised: that of the uniform sampler on a static pool."""
SHARED = {"producer": 0.10, "consumer": 0.08, "app": 0.015, "all": 0.01}
"""Strength of the update for links that have something in common with a trained one, beside 1 for the link itself."""
STRONG, WEAK = (3.2, 5.0), (-1.25, -0.35)
"""Ranges of the starting logits: right in .96 to .99, and in .22 to .41 of the cases."""


def _shares() -> Array:
    """(links, links): how strongly an update of one link moves another."""
    producers, consumers = np.array([a for a, _ in LINKS]), np.array([b for _, b in LINKS])
    apps = np.array([TOOLS[a].app for a, _ in LINKS])
    found = np.full((len(LINKS), len(LINKS)), SHARED["all"])
    for names, strength in ((apps, "app"), (consumers, "consumer"), (producers, "producer")):
        found = np.maximum(found, SHARED[strength] * (names[:, None] == names[None, :]))
    np.fill_diagonal(found, 1.0)
    return found


SHARES = _shares()


@frozen
class World:
    """A world drawn from a seed."""

    seed: int
    clustering: str
    desk: Desk
    weak: frozenset[int]
    start: Array
    """theta_0, (links,)."""

    @classmethod
    @lru_cache(maxsize=1)
    def draw(cls, seed: int, clustering: str = "producing app") -> "World":
        rng = random.Random(f"world {clustering} {seed}")
        weak = frozenset(PLACE[link] for link in weak_links(seed, clustering))
        start = np.array([rng.uniform(*(WEAK if place in weak else STRONG)) for place in range(len(LINKS))])
        return cls(seed, clustering, Desk(DeskOptions(seed=seed, train=TRAIN, test=800, dev=1)), weak, start)


@define
class Learner:
    """The policy, its rollouts and its update."""

    world: World
    seed: str
    """Of the rollouts' draws."""
    survey: Survey = field(factory=Survey)
    theta: Array = field(init=False)
    catalog: Any = field(init=False)
    rollouts: int = 0
    """Rollouts so far, attempts at candidates included."""
    attempts: int = 0
    """Attempts at candidates so far."""
    broken: set[str] = field(factory=set)
    """Ids of tasks that cannot be solved."""
    normalised: bool = True
    """Whether an update is divided by the root mean square of all so far, as Adam does. A plain sum grows with the mixed groups."""
    _squares: list[float] = field(factory=list)
    _known: dict[str, SolvedTask] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.theta = self.world.start.copy()
        self.catalog = catalog_of(self.world.desk.describe())

    def solved(self, task: Task) -> SolvedTask:
        known = self._known.get(task.id)
        if known is None or known.task != task:
            known = self._known[task.id] = self.survey.solved([task], self.world.desk, self.catalog)[0]
        return known

    def links(self, task: Task) -> list[int]:
        """The places of a task's links, in the order of their lookups."""
        return [place for use in self.solved(task).link_uses if (place := PLACE.get((use.link.producer, use.link.consumer))) is not None]

    def probability(self) -> Array:
        return 1 / (1 + np.exp(-self.theta))

    def group(self, task: Task, count: int, iteration: int, door: bool = False) -> RolloutGroup:
        """`count` rollouts of a task; at the `door` they are attempts at a candidate."""
        self.rollouts += count
        self.attempts += count * door
        probability = self.probability()
        return RolloutGroup(task, iteration, tuple(self._rollout(task, n, iteration, probability, door) for n in range(count)))

    def _rollout(self, task: Task, index: int, iteration: int, probability: Array, door: bool) -> Trajectory:
        rng = random.Random(f"{self.seed} {task.id} {iteration} {index} {door}")  # the same draws in every arm, wherever a task is the same
        one, steps, score = self.solved(task), list(self.solved(task).steps), 1.0
        for use in one.link_uses:
            place = PLACE.get((use.link.producer, use.link.consumer))
            if place is not None and rng.random() >= probability[place]:
                steps, score = [*steps[: use.source], *_mistake(steps[use.source], steps[use.target])], 0.0
                break
        if task.id in self.broken:
            score = 0.0
        trajectory = Trajectory(task.id, iteration, index, (), tuple(steps), Outcome.COMPLETED, score)
        return attrs.evolve(trajectory, patterns=self.world.desk.patterns(trajectory))

    def update(self, groups: Sequence[RolloutGroup]) -> None:
        """One step of GRPO on the links that rollouts decided on."""
        probability, moved = self.probability(), np.zeros(len(LINKS))
        for group in groups:
            scores = np.array(group.scores)
            if scores.min() == scores.max():
                continue
            advantages = (scores - scores.mean()) / (scores.std(ddof=1) + 1e-6)
            for trajectory, advantage in zip(group.trajectories, advantages, strict=True):
                made = {step.action.name: step.action.arguments.get("as") for step in trajectory.steps}
                for use in self.solved(group.task).link_uses:
                    place = PLACE.get((use.link.producer, use.link.consumer))
                    if place is not None and use.link.producer in made:
                        right = float(made[use.link.producer] == dict(use.link.modes).get("as"))
                        moved[place] += advantage * (right - probability[place]) / ROLLOUTS
        self._squares.append(float(moved @ moved))
        if self.normalised and (typical := math.sqrt(sum(self._squares) / len(self._squares))):
            moved *= TYPICAL / typical
        self.theta += RATE * (SHARES @ moved) - PULL * (self.theta - self.world.start)

    def success(self, sharp: float = 1.0) -> float:
        """Exact expected success on the held-out tests; `sharp` multiplies the logits (3: nearly greedy)."""
        logs = -np.log1p(np.exp(-sharp * self.theta))
        return float(np.mean([np.exp(sum(logs[place] for place in self.links(task))) for task in self.world.desk.tasks("test")]))


def _mistake(lookup: Step, taker: Step) -> list[Step]:
    """A lookup in a wrong form, and the call that refuses what it gave."""
    right = lookup.action.arguments.get("as")
    form = next(form for form in FORMS[TOOLS[lookup.action.name].gives or ""] if form != right)
    wrong = attrs.evolve(lookup, action=attrs.evolve(lookup.action, arguments={**lookup.action.arguments, "as": form}), result="?")
    return [wrong, attrs.evolve(taker, error="refused", result=None)]
