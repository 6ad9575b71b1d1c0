"""An exact learner on the desk: the loop's own parts around a policy without a network, for studies over many worlds.

benchmarks/exact_study.py compares arms on it.

The policy is one logit for each of the desk's links (a lookup whose value goes to a certain tool): the logit of asking for the right form.
A task is solved when all of its links are right, so held-out success is known exactly. The update is GRPO's:

    theta[link] += rate * sum over rollouts of A_k (right - p) + the same, weaker, for links with the same producer, consumer and app
    theta[link] -= pull * (theta[link] - theta_0[link])

Tasks, synthesizers, signals, samplers and validators are the package's. A world is drawn from a seed: which links are weak, what the weak
ones have in common (CLUSTERINGS), where each logit starts, the pool and the tests.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import attrs
import numpy as np
from attrs import define, field, frozen

from coevolve import (
    CandidateTask,
    Feedback,
    History,
    Outcome,
    RolloutGroup,
    Sampler,
    Services,
    Signal,
    SignalDetector,
    Step,
    Synthesizer,
    Task,
    TaskPool,
    Trajectory,
    Validator,
    Verdict,
)
from coevolve.core.optional import Repairs
from coevolve.core.refusals import REPAIRABLE
from coevolve.core.rollouts.refill import Refill
from coevolve.core.rollouts.resting_tasks import active_tasks
from coevolve.core.rollouts.rewards import is_mixed
from coevolve.core.settings.retirement import Retirement
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.environments.desk.demonstrations import weak_links
from coevolve.environments.desk.tools import LINKS, TOOLS
from coevolve.environments.desk.values import FORMS
from coevolve.plugins.samplers.uniform import Uniform, UniformOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.plugins.validators.frontier import Frontier, FrontierOptions
from coevolve.signals.boundary import Boundary, BoundaryOptions
from coevolve.signals.forgetting import Forgetting, ForgettingOptions
from coevolve.signals.rare import Rare, RareOptions
from coevolve.synthesizers.catalog import catalog_of
from coevolve.synthesizers.links import SolvedTask, Survey

Array = np.ndarray[Any, Any]
PLACE = {link: number for number, link in enumerate(LINKS)}
ITERATIONS, BATCH, ROLLOUTS, EVERY, WANTED, INITIAL, TRAIN = 60, 16, 8, 10, 16, 64, 256
RATE, PULL = 0.55, 0.012
TYPICAL = 0.93
"""Length of a typical update before RATE, where it is normalised: that of the uniform sampler on a static pool."""
SHARED = {"producer": 0.10, "consumer": 0.08, "app": 0.015, "all": 0.01}
"""Strength of the update for links that have something in common with a trained one, beside 1 for the link itself."""
SIGNALS: Mapping[str, Callable[[], SignalDetector]] = {
    "forgetting": lambda: Forgetting(ForgettingOptions()),
    "boundary": lambda: Boundary(BoundaryOptions()),
    "rare": lambda: Rare(RareOptions()),
}
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


@frozen
class Arm:
    """What a run is made of."""

    synthesizer: Callable[[Learner], Synthesizer | None] = lambda learner: None
    """Made for a learner, since the oracle looks into it."""
    signals: tuple[str, ...] = tuple(SIGNALS)
    sampler: Callable[[], Sampler] = lambda: Uniform(UniformOptions())
    frontier: FrontierOptions | None = None
    wanted: int = WANTED
    """Admitted tasks that end an evolution."""
    candidates: int = 8 * WANTED
    """Candidates of an evolution at most, repaired ones among them."""
    retirement: Retirement = field(factory=Retirement)
    refill: int = 0
    """Rounds of further tasks in an iteration at most, in place of groups without variance."""
    repairs: int = 0
    """How many times a refused candidate goes back to its synthesizer."""
    scramble: str = ""
    """A control: "tags" moves the signals of each tagged task to a task drawn at random, "scores" permutes the scores among the
    attempted tasks."""
    broken: float = 0.0
    """Share of candidates that cannot be solved, as a teacher that errs makes them."""
    execution: bool = True
    """Whether candidates are executed before they are admitted. Broken ones execute, as requests for something else do."""


@frozen
class Ended:
    """What a run came to."""

    greedy: float
    sampled: float
    rollouts: int
    attempts: int
    """Those among the rollouts that were made at candidates."""
    candidates: int
    admitted: int
    weak_covered: int
    """Weak links in the pool at the end."""
    broken: int
    """Admitted tasks that cannot be solved."""
    repairs: int
    """Candidates that were made of refused ones, beside `candidates`."""


@frozen
class Attempting:
    """services.Services for the validator "frontier": the learner attempts candidates."""

    learner: Learner

    def attempts(self, policy: str, options: Mapping[str, Any]) -> "Attempting":
        return self

    def __call__(self, tasks: Sequence[Task], count: int, temperature: float, first: int = 0) -> list[RolloutGroup]:
        return [self.learner.group(task, count, task.origin.iteration, door=True) for task in tasks]


@define
class Run:
    """The paper's loop, until a number of rollouts is made, attempts at candidates among them."""

    world: World
    arm: Arm
    normalised: bool = True
    budget: int = ITERATIONS * BATCH * ROLLOUTS
    learner: Learner = field(init=False)
    pool: TaskPool = field(init=False)
    history: History = field(factory=History)
    recent: list[RolloutGroup] = field(factory=list)
    validators: list[Validator] = field(init=False)
    candidates: int = 0
    repairs: int = 0

    def __attrs_post_init__(self) -> None:
        self.learner = Learner(self.world, f"rollouts {self.world.seed}", normalised=self.normalised)
        self.pool = TaskPool(tuple(self.draw("pool").sample(self.world.desk.tasks("train"), INITIAL)))
        self.validators = [Execution(ExecutionOptions())] if self.arm.execution else []
        if self.arm.frontier is not None:
            frontier = Frontier(self.arm.frontier)
            frontier.bind_services(cast(Services, Attempting(self.learner)))
            self.validators.append(frontier)

    def draw(self, *purpose: object) -> random.Random:
        """The generator for one purpose."""
        return random.Random(" ".join(map(str, ("run", *purpose, self.world.seed))))

    def __call__(self) -> Ended:
        first = {task.id for task in self.pool}
        synthesizer, sampler, iteration = self.arm.synthesizer(self.learner), self.arm.sampler(), 0
        detectors = [SIGNALS[name]() for name in self.arm.signals]
        evolutions = 0
        while self.learner.rollouts < self.budget:
            iteration += 1
            self.learner.update(self.rollout(sampler, iteration))
            made = self.learner.rollouts - self.learner.attempts
            # With refill an iteration has more rollouts; evolutions go by rollouts of training, so that every arm has as many.
            if synthesizer is None or made < (evolutions + 1) * EVERY * BATCH * ROLLOUTS or evolutions >= ITERATIONS // EVERY - 1:
                continue
            evolutions += 1
            signals = [signal for detector in detectors for signal in detector.detect(self.recent, self.history)]
            admitted = self.explore(synthesizer, iteration, signals)
            self.pool, self.recent = self.pool.with_tasks(admitted), []
        links = {place for task in self.pool for place in self.learner.links(task)}
        new = [task for task in self.pool if task.id not in first]
        made, tried = (self.learner.rollouts, self.learner.attempts), (self.candidates, len(new))
        broken = sum(task.id in self.learner.broken for task in new)
        success = self.learner.success(3.0), self.learner.success()
        return Ended(*success, *made, *tried, len(links & self.world.weak), broken, self.repairs)

    def rollout(self, sampler: Sampler, iteration: int) -> list[RolloutGroup]:
        """The groups that the update trains on; as core/loop.py rolls them out."""
        awake = active_tasks(self.pool, self.history, iteration, self.arm.retirement, BATCH)

        def roll_out(pool: TaskPool, count: int, number: int) -> list[RolloutGroup]:
            tasks = sampler.pick(pool, self.history, count, self.draw("sampler", iteration, number))
            return [self.learner.group(task, ROLLOUTS, iteration) for task in tasks]

        groups = Refill(BATCH, self.arm.refill).groups(awake, roll_out)
        self.history = self.history.with_groups(groups)
        self.recent += groups
        return sorted(groups, key=lambda group: not is_mixed(group))[:BATCH]

    def explore(self, synthesizer: Synthesizer, iteration: int, signals: Sequence[Signal]) -> list[Task]:
        """Candidates through the door, until enough are admitted."""
        wanted, rng = self.arm.wanted, self.draw("scramble", iteration)
        history, recent = self.history, self.recent
        if self.arm.scramble == "tags":
            tasks = sorted({group.task.id for group in recent})
            tagged = sorted({signal.task_id for signal in signals})
            moved = dict(zip(tagged, rng.sample(tasks, len(tagged)), strict=True))
            signals = [attrs.evolve(signal, task_id=moved[signal.task_id]) for signal in signals]
        elif self.arm.scramble == "scores":
            ids = list(history.attempts)
            others = rng.sample(ids, len(ids))
            history = attrs.evolve(history, attempts={one: history.attempts[other] for one, other in zip(ids, others, strict=True)})
        feedback = Feedback(iteration, tuple(signals), tuple(recent), history, self.pool, wanted)
        admitted: list[Task] = []
        made_before = self.candidates + self.repairs
        for candidate in synthesizer.synthesize(feedback, self.world.desk, self.draw("synthesizer", iteration)):
            self.candidates += 1
            if (task := self.judged(candidate, admitted, synthesizer)) is not None:
                admitted.append(task)
            if len(admitted) == wanted or self.candidates + self.repairs - made_before >= self.arm.candidates:
                break
        return admitted

    def judged(self, candidate: CandidateTask, admitted: Sequence[Task], synthesizer: Synthesizer) -> Task | None:
        """The task as it is admitted, after as many repairs as the arm allows; None where it is refused."""
        for number in range(self.arm.repairs + 1):
            if self.draw("broken", candidate.task.id).random() < self.arm.broken:
                self.learner.broken.add(candidate.task.id)
            verdict = self.verdict(candidate, admitted)
            if verdict.accepted:
                return candidate.task
            if number == self.arm.repairs or verdict.reason not in REPAIRABLE or not isinstance(synthesizer, Repairs):
                return None
            repaired = synthesizer.repair(candidate, verdict, self.world.desk, self.draw("repair", candidate.task.id))
            if repaired is None:
                return None
            self.repairs += 1
            candidate = repaired
        return None

    def verdict(self, candidate: CandidateTask, admitted: Sequence[Task]) -> Verdict:
        """What the validators find, up to the first that refuses."""
        pool, tests = self.pool.with_tasks(admitted), self.world.desk.tasks("test")
        found = Verdict(True, "accepted")
        for validator in self.validators:
            found = validator.validate(candidate, self.world.desk, pool, tests)
            if not found.accepted:
                return found
        return found
