"""An exact learner on the desk: the loop's own parts around a policy without a network, for studies over many worlds.

    OMP_NUM_THREADS=1 python benchmarks/exact_learner.py --seeds 1 2 3 [--clustering "producing app"]      # about a second a run

The policy is one logit for each of the desk's links (a lookup whose value goes to a certain tool): the logit of asking for the right form.
A task is solved when all of its links are right, so held-out success is known exactly. The update is GRPO's:

    theta[link] += rate * sum over rollouts of A_k (right - p) + the same, weaker, for links with the same producer, consumer and app
    theta[link] -= pull * (theta[link] - theta_0[link])

Tasks, synthesizers, signals, samplers and validators are the package's. A world is drawn from a seed: which links are weak, what the weak
ones have in common (CLUSTERINGS), where each logit starts, the pool and the tests.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from attrs import define, field, frozen

from coevolve import Feedback, History, Outcome, RolloutGroup, Signal, Step, Synthesizer, Task, TaskPool, Trajectory
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.environments.desk.demonstrations import CLUSTERINGS, weak_links
from coevolve.environments.desk.tools import LINKS, TOOLS
from coevolve.environments.desk.values import FORMS
from coevolve.plugins.samplers.uniform import Uniform, UniformOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.signals.boundary import Boundary, BoundaryOptions
from coevolve.signals.forgetting import Forgetting, ForgettingOptions
from coevolve.signals.rare import Rare, RareOptions
from coevolve.synthesizers.catalog import catalog_of
from coevolve.synthesizers.links import SolvedTask, Survey
from coevolve.synthesizers.programmatic import Programmatic, ProgrammaticOptions
from coevolve.synthesizers.random import RandomExploration, RandomOptions

Array = np.ndarray[Any, Any]
PLACE = {link: number for number, link in enumerate(LINKS)}
ITERATIONS, BATCH, ROLLOUTS, EVERY, WANTED, INITIAL = 60, 16, 8, 10, 16, 64
RATE, PULL = 0.55, 0.012
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
    def draw(cls, seed: int, clustering: str = "producing app") -> "World":
        rng = random.Random(f"world {clustering} {seed}")
        weak = frozenset(PLACE[link] for link in weak_links(seed, clustering))
        start = np.array([rng.uniform(*(WEAK if place in weak else STRONG)) for place in range(len(LINKS))])
        return cls(seed, clustering, Desk(DeskOptions(seed=seed, train=INITIAL, test=800, dev=1)), weak, start)


@define
class Learner:
    """The policy, its rollouts and its update."""

    world: World
    rng: random.Random
    survey: Survey = field(factory=Survey)
    theta: Array = field(init=False)
    catalog: Any = field(init=False)
    rollouts: int = 0
    """Rollouts so far, attempts at candidates included."""
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

    def group(self, task: Task, count: int, iteration: int) -> RolloutGroup:
        """`count` rollouts of a task."""
        self.rollouts += count
        probability = self.probability()
        return RolloutGroup(task, iteration, tuple(self._rollout(task, n, iteration, probability) for n in range(count)))

    def _rollout(self, task: Task, index: int, iteration: int, probability: Array) -> Trajectory:
        one, steps, score = self.solved(task), list(self.solved(task).steps), 1.0
        for use in one.link_uses:
            place = PLACE.get((use.link.producer, use.link.consumer))
            if place is not None and self.rng.random() >= probability[place]:
                steps, score = [*steps[: use.source], *_mistake(steps[use.source], steps[use.target])], 0.0
                break
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


@frozen
class Ended:
    """What a run came to."""

    greedy: float
    sampled: float
    rollouts: int
    candidates: int
    admitted: int
    weak_covered: int
    """Weak links in the pool at the end."""
    weak_share: float
    """Share of weak ones among the links of admitted tasks."""


def run(
    world: World,
    synthesizer: Synthesizer | None,
    detectors: Sequence[Any],
    sampler: Any,
    seed: int = 0,
    budget: int = ITERATIONS * BATCH * ROLLOUTS,
    validator: Any = None,
) -> Ended:
    """The paper's loop until `budget` rollouts are made."""
    learner = Learner(world, random.Random(f"rollouts {world.seed} {seed}"))
    pool, history, recent = TaskPool(tuple(world.desk.tasks("train"))), History(), list[RolloutGroup]()
    first = {task.id for task in pool}
    candidates, iteration = 0, 0
    while learner.rollouts < budget:
        iteration += 1
        tasks = sampler.pick(pool, history, BATCH, random.Random(f"sampler {world.seed} {seed} {iteration}"))
        groups = [learner.group(task, ROLLOUTS, iteration) for task in tasks]
        history = history.with_groups(groups)
        recent += groups
        learner.update(groups)
        if synthesizer is None or iteration % EVERY or learner.rollouts >= budget or iteration > ITERATIONS - EVERY:
            continue
        signals: list[Signal] = [signal for detector in detectors for signal in detector.detect(recent, history)]
        feedback = Feedback(iteration, tuple(signals), tuple(recent), history, pool, WANTED)
        rng = random.Random(f"synthesizer {world.seed} {seed} {iteration}")
        admitted: list[Task] = []
        for candidate in synthesizer.synthesize(feedback, world.desk, rng):
            candidates += 1
            verdict = validator.validate(candidate, world.desk, pool.with_tasks(admitted), world.desk.tasks("test")) if validator else None
            if verdict is None or verdict.accepted:
                admitted.append(candidate.task)
            if len(admitted) == WANTED or candidates > 400 * iteration:
                break
        pool, recent = pool.with_tasks(admitted), []
    links = [place for task in pool if task.id not in first for place in learner.links(task)]
    covered = {place for task in pool for place in learner.links(task)} & world.weak
    share = sum(place in world.weak for place in links) / len(links) if links else 0.0
    return Ended(learner.success(3.0), learner.success(), learner.rollouts, candidates, len(pool.tasks) - len(first), len(covered), share)


def main() -> None:
    """Print held-out success after the same number of rollouts, for each world and arm."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--clustering", choices=CLUSTERINGS, default=CLUSTERINGS[0])
    given = parser.parse_args()
    arms: dict[str, Callable[[], Any]] = {
        "static": lambda: None,
        "random": lambda: RandomExploration(RandomOptions()),
        "cover": lambda: Programmatic(ProgrammaticOptions(use_signals=False)),
        "programmatic": lambda: Programmatic(ProgrammaticOptions()),
    }
    for seed in given.seeds:
        world = World.draw(seed, given.clustering)
        print(f"world {seed}: {len(world.weak)} weak links, {Learner(world, random.Random(0)).success(3.0):.3f} nearly greedy at the start")
        for name, make in arms.items():
            detectors = (Forgetting(ForgettingOptions()), Boundary(BoundaryOptions()), Rare(RareOptions()))
            ended = run(world, make(), detectors, Uniform(UniformOptions()), validator=Execution(ExecutionOptions()))
            print(f"  {name:12} {ended.greedy:.3f} nearly greedy, {ended.sampled:.3f} sampled, weak links covered {ended.weak_covered}")


if __name__ == "__main__":
    main()
