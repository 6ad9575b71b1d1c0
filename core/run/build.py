"""Make the components that a configuration names, and set the loop to where a run starts or resumes."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import frozen

from ..contracts import Environment
from ..door import Door
from ..environment_defaults import check_compose
from ..errors import UserError
from ..isolation.deadlines import TimeLimit
from ..isolation.guard import Guard, check_splits, tasks_of
from ..loop import Loop
from ..model import Task, TaskPool
from ..optional import NeedsEnvironment, NeedsServices
from ..record.store import WALL
from ..record.summary import OVERLAP, overlap
from ..record.teacher_calls import LateJournal, StoreJournal, replayed
from ..record.timing import Clock
from ..registry import Registry
from ..rollouts.policy_chat import PolicyChat
from ..rollouts.rehearsal import rehearse
from ..rollouts.run_services import RunServices
from ..rollouts.runner import RolloutLimits, RolloutRunner
from ..settings.config import Config
from .held_out import first_tasks, unsolved_text
from .ranks import DistributedRolloutRunner, Ranks


@frozen
class RunSettings:
    """What a trainer needs to know of the run (contracts.RunInfo)."""

    seed: int
    steps: int
    batch: int
    rollouts: int
    temperature: float
    folder: Path
    planned: bool = False


def build(
    config: Config, registry: Registry, folder: Path, clock: Clock, environment: Environment, ranks: Ranks | None = None
) -> "partial[Loop]":
    """Make every component that the configuration names; the result needs only the store to become the loop.

    UserError for anything missing or unreadable: this runs before the first rollout and before anything is written.
    """

    replayed(config)
    check_synthesis(config, registry.component("environment", config.environment.name))
    with clock.part("start"):
        trainer = make_trainer(config, registry, folder, environment)
    limits = RolloutLimits.of(config, environment)

    def runner(clock: Clock) -> RolloutRunner:
        if ranks is None:
            return RolloutRunner(environment, limits, clock)
        shared = DistributedRolloutRunner(environment, limits, clock)
        shared.ranks, shared.trainer = ranks, trainer
        return shared

    evaluator = runner(Clock())
    guard = Guard(environment, limits.timeout, limits.workers, _patience(config))
    validators = [registry.make("validator", chosen) for chosen in config.validators]
    synthesizer = registry.make("synthesizer", config.synthesizer) if config.synthesizer else None
    journal = LateJournal()
    chat = PolicyChat(trainer, config.environment.name, config.seed)
    services = RunServices(config, registry, evaluator, trainer, journal, chat, synthesizer)
    for part in (synthesizer, *validators):
        if isinstance(part, NeedsServices):
            part.bind_services(services)
    held_out = tasks_of(environment, config.evaluation.split, config.tasks_timeout)
    with clock.part("start"):
        rehearse(trainer.policy(), environment, first_tasks(config, environment), config.step_timeout)
        rehearse(trainer.policy(), environment, held_out[:1], config.step_timeout)
    return partial(
        Loop,
        config=config,
        registry=registry,
        clock=clock,
        runner=runner(clock),
        evaluator=evaluator,
        guard=guard,
        trainer=trainer,
        sampler=registry.make("sampler", config.sampler),
        detectors=[registry.make("signal", chosen) for chosen in config.signals],
        synthesizer=synthesizer,
        door=Door(validators, held_out, guard, services.in_training),
        journal=journal,
        held_out=held_out,
        pool=TaskPool(()),
    )


def check_synthesis(config: Config, environment: type[Any]) -> None:
    """UserError where tasks are to be made and the configuration or the environment's class lacks what that needs."""
    if config.synthesizer:
        check_compose(environment)
    elif config.initial_synthetic:
        raise UserError(
            f"initial_synthetic is {config.initial_synthetic}, but the run has no synthesizer: set synthesizer.name or "
            "initial_synthetic=0. A pool that no evolution changes needs tasks_per_evolution=0"
        )


def make_trainer(config: Config, registry: Registry, folder: Path, environment: Environment) -> Any:
    """The configured trainer, set up to train the configured policy."""
    policy, trainer = (registry.make(kind, chosen) for kind, chosen in (("policy", config.policy), ("trainer", config.trainer)))
    check_splits(environment, (config.train_split, config.evaluation.split), config.tasks_timeout)
    if isinstance(policy, NeedsEnvironment):
        policy.bind(environment)
    trainer.setup(policy, RunSettings(config.seed, config.steps, config.batch, config.rollouts, config.temperature, folder))
    return trainer


def _patience(config: Config) -> TimeLimit | None:
    """Time limit for one candidate of the synthesizer; None without a synthesizer."""
    if config.synthesizer is None:
        return None
    seconds, name = config.synthesis_timeout, config.synthesizer.name
    text = f"synthesizer {name!r} found no candidate within {seconds:g} s; if it needs longer, set synthesis_timeout to more"
    return TimeLimit(seconds, text)


def open_journal(loop: Loop) -> None:
    """Let the parts that ask a teacher use the store of the run."""

    def notify(text: str) -> None:
        loop.registry.notify("coevolve_diagnosed", iteration=loop.iteration, text=text)

    loop.journal.open(StoreJournal(loop.store, notify, replayed(loop.config)))


def begin(loop: Loop) -> None:
    """Fill D_0, and evaluate the untrained policy.

    D_0 is a seeded choice of the environment's train tasks, or what the synthesizer makes in their worlds (`initial_synthetic`).
    """
    tasks: Sequence[Task] = first_tasks(loop.config, loop.runner.environment)
    if loop.config.initial_synthetic:
        tasks = loop.synthesize_first(tasks)
    loop.pool = TaskPool(tuple(tasks))
    loop.store.add_pool(0, loop.pool, tasks)
    if loop.overlap:
        loop.store.add_numbers(0, {OVERLAP: float(loop.overlap)}, {})
    if loop.synthesizer and (text := unsolved_text(loop.held_out, loop.config.evaluation.split)):
        loop.diagnose(0, text)
    loop.evaluate(0)


def restore(loop: Loop, iteration: int) -> None:
    """Set the loop to where it stood after `iteration`: everything but the trainer's own files is in the store."""
    loop.iteration = iteration
    loop.pool = loop.store.pool()
    loop.history = loop.store.history()
    loop.overlap = overlap(loop.store)
    loop.recent = list(loop.store.groups(after=loop.store.last_evolution()))
    seconds = loop.store.seconds(iteration)
    loop.clock.carry(seconds, seconds.pop(WALL, 0.0))
