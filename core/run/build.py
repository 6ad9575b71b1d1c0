"""Make the components that a configuration names, and set the loop to where a run starts or resumes."""

from functools import partial
from pathlib import Path
from typing import Any

from attrs import frozen

from ..contracts import Environment
from ..errors import UserError
from ..isolation.deadlines import TimeLimit
from ..isolation.guard import Guard, check_split, tasks_of
from ..loop import Loop
from ..model import TaskPool
from ..optional import NeedsChat, NeedsEnvironment, NeedsJournal, NeedsPolicy
from ..randomness import generator
from ..record.store import WALL
from ..record.teacher_calls import StoreJournal, replayed
from ..record.timing import Clock
from ..registry import Registry
from ..rollouts.policy_attempts import PolicyAttempts
from ..rollouts.policy_chat import PolicyChat
from ..rollouts.runner import RolloutLimits, RolloutRunner
from ..settings.config import Config
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


def build(
    config: Config, registry: Registry, folder: Path, clock: Clock, environment: Environment, ranks: Ranks | None = None
) -> "partial[Loop]":
    """Make every component that the configuration names; the result needs only the store to become the loop.

    UserError for anything missing or unreadable: this runs before the first rollout and before anything is written.
    """

    replayed(config)
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
    validators = [registry.make("validator", chosen) for chosen in config.validators]
    for validator in validators:
        if isinstance(validator, NeedsPolicy):
            validator.bind_attempts(PolicyAttempts.of(validator.wanted_policy, config, registry, evaluator, trainer))
    return partial(
        Loop,
        config=config,
        registry=registry,
        clock=clock,
        runner=runner(clock),
        evaluator=evaluator,
        guard=Guard(environment, limits.timeout, limits.workers, _patience(config)),
        trainer=trainer,
        sampler=registry.make("sampler", config.sampler),
        detectors=[registry.make("signal", chosen) for chosen in config.signals],
        synthesizer=registry.make("synthesizer", config.synthesizer) if config.synthesizer else None,
        validators=validators,
        held_out=tasks_of(environment, config.evaluation.split, config.tasks_timeout),
        pool=TaskPool(()),
    )


def make_trainer(config: Config, registry: Registry, folder: Path, environment: Environment) -> Any:
    """The configured trainer, set up to train the configured policy."""
    policy, trainer = (registry.make(kind, chosen) for kind, chosen in (("policy", config.policy), ("trainer", config.trainer)))
    for split in (config.train_split, config.evaluation.split):
        check_split(environment, split, config.tasks_timeout)
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


def bind(loop: Loop) -> None:
    """Hand out core's services (journal of teacher calls, chat with the policy) to the components that ask for them."""
    config = loop.config

    def tell(text: str) -> None:
        loop.registry.notify("coevolve_diagnosed", iteration=loop.iteration, text=text)

    journal = StoreJournal(loop.store, tell, replayed(config))
    chat = PolicyChat(loop.trainer, config.environment.name, config.seed)
    for part in (loop.synthesizer, *loop.validators):
        if isinstance(part, NeedsJournal):
            part.bind_journal(journal)
        if isinstance(part, NeedsChat):
            part.bind_chat(chat)


def begin(loop: Loop) -> None:
    """Fill D_0 with a seeded choice of the environment's train tasks, and evaluate the untrained policy."""
    config = loop.config
    tasks = list(tasks_of(loop.runner.environment, config.train_split, config.tasks_timeout))
    if not tasks:
        raise UserError(f"environment {config.environment.name!r} has no tasks in split {config.train_split!r}")
    if 0 < config.initial_tasks < len(tasks):
        tasks = generator(config.seed, "initial tasks").sample(tasks, config.initial_tasks)
    loop.pool = TaskPool(tuple(tasks))
    loop.store.add_pool(0, loop.pool, tasks)
    loop.evaluate(0)


def restore(loop: Loop, iteration: int) -> None:
    """Set the loop to where it stood after `iteration`: everything but the trainer's own files is in the store."""
    loop.iteration = iteration
    loop.pool = loop.store.pool()
    loop.history = loop.store.history()
    loop.recent = list(loop.store.groups(after=loop.store.last_evolution()))
    seconds = loop.store.seconds(iteration)
    loop.clock.carry(seconds, seconds.pop(WALL, 0.0))
