"""The paper's loop around the exact learner (exact_learner.py), with the loop's own parts: what an arm is made of, and one run of it.

Tasks, synthesizers, signals, samplers and validators are the package's.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import attrs
from attrs import define, field, frozen
from exact_learner import ROLLOUTS, Learner, World

from coevolve import (
    CandidateTask,
    Feedback,
    History,
    RolloutGroup,
    Sampler,
    Services,
    Signal,
    SignalDetector,
    Synthesizer,
    Task,
    TaskPool,
    Validator,
    Verdict,
)
from coevolve.core.optional import Repairs
from coevolve.core.refusals import REPAIRABLE
from coevolve.core.rollouts.refill import Refill
from coevolve.core.rollouts.resting_tasks import active_tasks
from coevolve.core.rollouts.rewards import is_mixed
from coevolve.core.settings.retirement import Retirement
from coevolve.plugins.samplers.uniform import Uniform, UniformOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.plugins.validators.frontier import Frontier, FrontierOptions
from coevolve.signals.boundary import Boundary, BoundaryOptions
from coevolve.signals.forgetting import Forgetting, ForgettingOptions
from coevolve.signals.rare import Rare, RareOptions

ITERATIONS, BATCH, EVERY, WANTED, INITIAL = 60, 16, 10, 16, 64
SIGNALS: Mapping[str, Callable[[], SignalDetector]] = {
    "forgetting": lambda: Forgetting(ForgettingOptions()),
    "boundary": lambda: Boundary(BoundaryOptions()),
    "rare": lambda: Rare(RareOptions()),
}


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
