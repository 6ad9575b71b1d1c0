"""The loop of CoEvolve (paper, section 3): train, read weakness signals, explore around them, validate, train on the new distribution.

`iterate` is the loop; `Loop` has the methods that it calls. A trainer without a driver of its own uses `iterate` as it stands.
Trainer "grpo" lets TRL drive, and plugins/trainers/grpo/session.py makes TRL call the same methods:

1. TRL's data set has a ticket "iteration:slot" for each task of each iteration; TRL asks `Session.rollout` for their rollouts.
2. `Session.rollout` calls `Loop.rollout` and returns the sampled tokens as TRL's rows.
3. TRL makes the update.
4. At the end of that optimiser step `Session.finish_iteration` calls `Loop.finish_iteration`.
5. When that returns True, TRL saves its files, and `Session.saved` calls `Loop.commit`.

The paper's arms are settings: no synthesizer is the static pool, a synthesizer that ignores signals is random exploration, a shorter list
of detectors is an ablation, an empty list of validators is "without validation".
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import attrs
from attrs import define, field

from .contracts import LoopState, Policy, Sampler, SignalDetector, Synthesizer, Trainer
from .door import Door
from .errors import InfrastructureFault, UserError
from .isolation.guard import Guard
from .model import CandidateTask, Feedback, History, RolloutGroup, Sampling, Signal, Task, TaskPool, Verdict
from .optional import Repairs
from .randomness import derive, generator
from .record.checkpoints import seal
from .record.store import WALL, Store
from .record.summary import overlap_text
from .record.teacher_calls import LateJournal
from .record.timing import Clock, timed
from .refusals import REPAIRABLE
from .registry import Registry
from .rollouts.evaluation import evaluate
from .rollouts.progress import mean_progress
from .rollouts.refill import missing, trained, untouched
from .rollouts.resting_tasks import active_tasks
from .rollouts.run_health import CircuitBreaker, StallNotice
from .rollouts.runner import RolloutRunner
from .settings.config import Config

Update = Callable[[Sequence[RolloutGroup]], dict[str, float]]
"""Trains the policy on an iteration's groups; returns figures of the update by name."""


def iterate(loop: LoopState, policy: Policy, update: Update, save: Callable[[int], Path]) -> None:
    """Do the run's remaining iterations. `save` writes the trainer's files of an iteration below the run's folder and returns where."""
    for iteration in range(loop.iteration + 1, loop.steps + 1):
        groups = loop.rollout(policy, iteration)  # K rollouts of each task of a batch from the pool D_t
        metrics = update(groups)
        checkpoint_due = loop.finish_iteration(iteration, metrics)  # evolve the pool to D_{t+1}, evaluate the policy
        if checkpoint_due:
            loop.commit(iteration, save(iteration))


@define
class Loop:
    """One run: the components that a configuration chose, and its state (`iteration`, `pool`, `history`, `recent`)."""

    config: Config
    registry: Registry
    store: Store
    clock: Clock
    runner: RolloutRunner
    evaluator: RolloutRunner
    """Rolls out evaluations, whose time is counted apart."""
    guard: Guard
    trainer: Trainer
    sampler: Sampler
    detectors: Sequence[SignalDetector]
    synthesizer: Synthesizer | None
    door: Door
    held_out: Sequence[Task]
    journal: LateJournal
    pool: TaskPool
    iteration: int = 0
    history: History = field(factory=History)
    overlap: int = 0
    """How many of the first tasks are held-out tasks too; each evaluation says so."""
    recent: list[RolloutGroup] = field(factory=list)
    """Rollout groups since the last evolution."""
    on_first_rollout: Callable[[], None] = lambda: None
    """Called once, after the trainer has restored its checkpoint: before the first rollout, or after training where none was left."""
    breaker: CircuitBreaker = field(init=False)
    stall: StallNotice = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.breaker = CircuitBreaker(self.config.fault_limit)
        self.stall = StallNotice(self.config.stalled_after)

    @property
    def steps(self) -> int:
        """Iterations of the run in all."""
        return self.config.steps

    def rollout(self, policy: Policy, iteration: int) -> list[RolloutGroup]:
        """Sample a batch of tasks from D_t, leaving out those that rest, and roll each out K times; then refill it (rollouts/refill.py)."""
        self.begin_rollouts()
        config, history = self.config, self.history
        pool = active_tasks(self.pool, history, iteration, config.retirement, config.batch)
        groups: list[RolloutGroup] = []
        for wave in range(1 + config.refill):
            wanted = missing(groups, config.batch)
            left = untouched(pool, groups)
            if groups:
                wanted = min(wanted, len(left))
            if not wanted:
                break
            place = (iteration, wave) if wave else (iteration,)
            tasks = self.sampler.pick(left, history, wanted, generator(config.seed, "sampler", *place))
            sampling = Sampling(config.temperature, config.max_new_tokens, derive(config.seed, "rollout", *place))
            made = self.runner.run(policy, tasks, config.rollouts, sampling, iteration)
            with self.clock.part("store"):
                self.store.add_groups(made)
            groups += made
            self.breaker.check(groups)
        self.history = history.with_groups(groups)
        self.recent += groups
        return trained(groups, config.batch) if config.refill else groups

    def begin_rollouts(self) -> None:
        """Call `on_first_rollout`, once."""
        function, self.on_first_rollout = self.on_first_rollout, lambda: None
        function()

    def finish_iteration(self, iteration: int, metrics: dict[str, float]) -> bool:
        """The update of `iteration` is done: evolve and evaluate when it is time. Returns True when a checkpoint is due."""
        config, last = self.config, iteration >= self.config.steps
        self.iteration = iteration
        metrics = metrics | mean_progress([group for group in self.recent if group.iteration == iteration])
        self.report(iteration, metrics)
        if iteration % config.evolve_every == 0 and not last:
            metrics = metrics | self.evolve(iteration)
        if last or (config.evaluation.every and iteration % config.evaluation.every == 0):
            self.evaluate(iteration, final=last)
        metrics = metrics | self.lost_workers(iteration)
        with self.clock.part("store"):
            self.store.add_numbers(iteration, metrics, {**self.clock.read(), WALL: self.clock.wall})
        return last or iteration % config.checkpoint_every == 0

    def report(self, iteration: int, metrics: dict[str, float]) -> None:
        """Notify the observers of an iteration's groups and metrics."""
        groups = [group for group in self.recent if group.iteration == iteration]
        with self.clock.part("report"):
            self.registry.notify(
                "coevolve_iteration_finished", iteration=iteration, groups=groups, metrics=metrics, seconds=self.clock.read()
            )
        if text := self.stall.seen(groups):
            self.diagnose(iteration, text)

    def diagnose(self, iteration: int, text: str) -> None:
        """Notify the observers of something that the user should know."""
        self.registry.notify("coevolve_diagnosed", iteration=iteration, text=text)

    def lost_workers(self, iteration: int) -> dict[str, float]:
        """How many of the executor's workers were lost since the last iteration, as a metric; empty when none was."""
        reasons = self.runner.lost_workers()
        if not reasons:
            return {}
        self.diagnose(iteration, f"{len(reasons)} environment workers were lost and replaced; the last: {reasons[-1]}")
        return {"worker_faults": float(len(reasons))}

    def evolve(self, iteration: int) -> dict[str, float]:
        """Signals -> exploration -> validation -> D_{t+1}. Returns its counts, as metrics."""
        with self.clock.part("signals"):
            signals = tuple(signal for detector in self.detectors for signal in detector.detect(self.recent, self.history))
        self.store.add_signals(iteration, signals)
        self.registry.notify("coevolve_signals_detected", iteration=iteration, signals=signals)
        admitted = self.explore(iteration, signals, self.pool, self.config.tasks_per_evolution) if self.synthesizer else []
        self.pool = self.pool.with_tasks(admitted)
        if admitted:
            self.store.add_pool(iteration, self.pool, admitted)
        self.recent = []
        return {"admitted": float(len(admitted)), **self.store.door_counts(iteration)}

    def synthesize_first(self, seeds: Sequence[Task]) -> list[Task]:
        """D_0 as the paper has it: tasks that the synthesizer makes in the worlds of `seeds`, through the same door, without signals.

        The seeds themselves are not among them. UserError when not a single task is admitted.
        """
        wanted = self.config.initial_synthetic
        admitted = self.explore(0, (), TaskPool(tuple(seeds)), wanted)
        self.store.add_numbers(0, self.store.door_counts(0), {})
        if not admitted:
            raise UserError(
                "no synthetic task was admitted to begin with: see the refusals with `coevolve show RUN`, and change the synthesizer or "
                "the validators, or begin with the environment's own tasks (initial_synthetic = 0)"
            )
        if len(admitted) < wanted:
            self.diagnose(0, f"the run begins with {len(admitted)} synthetic tasks; initial_synthetic asks for {wanted}")
        return admitted

    def explore(self, iteration: int, signals: tuple[Signal, ...], pool: TaskPool, wanted: int) -> list[Task]:
        """Ask the synthesizer for candidates until `wanted` are admitted beside `pool`, or as many were tried as the budget allows.

        They are judged in waves, each of as many candidates as are still wanted; those refused for what can be repaired go back to the
        synthesizer, at most `repairs` times.
        """
        feedback = Feedback(iteration, signals, tuple(self.recent), self.history, pool, wanted)
        found = islice(self.candidates(feedback), wanted * self.config.candidates_per_task)
        admitted: list[Task] = []
        tried = 0
        while wave := list(islice(found, wanted - len(admitted))):
            tried += len(wave)
            for left in range(self.config.repairs, -1, -1):
                refused = self.settle(iteration, wave, pool, admitted)
                wave = [new for one in refused for new in self.repaired(iteration, *one)] if left else []
        if wanted and not tried:
            text = "the synthesizer found no candidate: the environment may lack what it needs, or its max_calls is too small"
            self.diagnose(iteration, text)
        return admitted

    def candidates(self, feedback: Feedback) -> Iterator[CandidateTask]:
        """The synthesizer's candidates. An exploration that breaks down in the environment or a service ends early; training goes on."""
        synthesizer = self.synthesizer
        assert synthesizer is not None
        rng = generator(self.config.seed, "synthesizer", feedback.iteration)
        try:
            found = self.guard.each(lambda: synthesizer.synthesize(feedback, self.guard.environment, rng))
            yield from timed(found, self.clock, "synthesis")
        except InfrastructureFault as fault:
            self.diagnose(feedback.iteration, f"the exploration ended early: {fault}")

    def settle(
        self, iteration: int, wave: Sequence[CandidateTask], pool: TaskPool, admitted: list[Task]
    ) -> list[tuple[CandidateTask, Verdict]]:
        """Judge a wave beside `pool` and `admitted`, store the verdicts, add the accepted tasks to `admitted`. Returns the refused ones."""
        with self.clock.part("validation"):
            verdicts = self.door.judge(wave, pool.with_tasks(admitted))
        refused = []
        for candidate, verdict in zip(wave, verdicts, strict=True):
            self.store.add_verdict(iteration, candidate, verdict)
            if not verdict.accepted:
                refused.append((candidate, verdict))
                self.registry.notify("coevolve_task_rejected", iteration=iteration, candidate=candidate, verdict=verdict)
                continue
            candidate = attrs.evolve(candidate, task=verdict.task or candidate.task)
            admitted.append(candidate.task)
            if verdict.attempts:
                group = attrs.evolve(verdict.attempts, task=candidate.task, iteration=iteration)
                self.history = self.history.with_door(group)
            self.registry.notify("coevolve_task_admitted", iteration=iteration, candidate=candidate)
        return refused

    def repaired(self, iteration: int, candidate: CandidateTask, verdict: Verdict) -> list[CandidateTask]:
        """The candidate as its synthesizer repairs it; empty where that cannot be, or where the refusal cannot be repaired."""
        synthesizer = self.synthesizer
        if candidate.refused is not None or verdict.reason not in REPAIRABLE or not isinstance(synthesizer, Repairs):
            return []
        rng = generator(self.config.seed, "repair", candidate.task.id)
        try:
            with self.clock.part("synthesis"):
                new = self.guard.run(lambda: synthesizer.repair(candidate, verdict, self.guard.environment, rng))
        except InfrastructureFault as fault:
            self.diagnose(iteration, f"a refused candidate was not repaired: {fault}")
            return []
        if new is None:
            return []
        origin = attrs.evolve(new.task.origin, detail={**new.task.origin.detail, "repaired": candidate.task.id})
        return [attrs.evolve(new, task=attrs.evolve(new.task, origin=origin))]

    def evaluate(self, iteration: int, *, final: bool = False) -> None:
        """Success on the held-out split, for each mode that the configuration names."""
        config, settings = self.config, self.config.evaluation
        count = settings.final_tasks if final or iteration == 0 else settings.tasks
        results = {}
        for mode in settings.modes:
            with self.clock.part("evaluation"):
                report = evaluate(self.evaluator, self.trainer.policy(), self.held_out, mode, config, count=count)
            results[mode] = report.success
            self.store.add_evaluation(iteration, settings.split, mode, report.success, report.tasks, report.faults, report.progress)
            if text := report.cut_short():
                self.diagnose(iteration, text)
            if iteration in (0, config.steps) and (text := report.suspicious()):
                self.diagnose(iteration, text)
        if self.overlap:
            self.diagnose(iteration, overlap_text(self.overlap, settings.split))
        self.registry.notify("coevolve_evaluated", iteration=iteration, results=results)

    def commit(self, iteration: int, folder: Path) -> None:
        """The trainer's files in `folder` are complete: a resume goes on from here."""
        seal(folder)
        self.store.add_checkpoint(iteration, str(folder.relative_to(self.store.path.parent)))
