"""Begin a run, go on with one: build the parts that the configuration names, hold the run's folder, drive the loop.

A run is a folder: config.toml (resolved), versions.json, run.sqlite, checkpoints/, policy/ (the trained one). One process at a time.
"""

import errno
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from attrs import frozen
from filelock import FileLock, Timeout

from ..contracts import Environment
from ..errors import CoevolveError, UserError
from ..isolation.deadlines import TimeLimit
from ..isolation.guard import Guard, check_split, tasks_of
from ..loop import Loop
from ..model import TaskPool
from ..optional import NeedsChat, NeedsEnvironment, NeedsJournal, NeedsPolicy
from ..randomness import generator
from ..record.checkpoints import newest_whole
from ..record.store import WALL, Store
from ..record.summary import summarize
from ..record.teacher_calls import StoreJournal, replayed
from ..record.timing import Clock
from ..registry import Registry
from ..rollouts.evaluation import provenance
from ..rollouts.policy_attempts import PolicyAttempts
from ..rollouts.policy_chat import PolicyChat
from ..rollouts.runner import RolloutLimits, RolloutRunner
from ..settings.config import Chosen, Config, load_config
from ..workers.remote_environment import placed_environment, worker_limits
from .exit_codes import code_of, launched
from .ranks import DistributedRolloutRunner, FollowerLoop, LeaderLoop, RankResult, Ranks
from .resume_rules import Entered, check_changes, write_config

VERSIONED = ("coevolve", "torch", "transformers", "trl", "peft", "accelerate", "datasets", "numpy", "safetensors", "attrs", "pluggy")

FULL = (os.strerror(errno.ENOSPC), "disk is full", "unexpected pos")
"""How libraries that write weights report a full disk in errors of their own; the last is how torch's archive writer does."""


@frozen
class RunSettings:
    """contracts.RunInfo: what a trainer needs to know of the run."""

    seed: int
    steps: int
    batch: int
    rollouts: int
    temperature: float
    folder: Path


@frozen
class RunStarted:
    """What a run's other processes must know of it."""

    config: Config
    folder: Path
    iteration: int
    checkpoint: Path | None


@frozen
class RunAborted:
    """The first process ended with `code` before the run began."""

    code: int


def start(config: Config, registry: Registry, folder: Path) -> dict[str, Any]:
    """Begin a run in `folder` (new or empty) and carry it to its end; returns the summary that the final table shows."""
    clock = Clock()
    with _ranks(config) as ranks:
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder} is a file: choose another --out")
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"{folder} is not empty: choose another --out, or go on with it: coevolve resume {folder}")
        with placed_environment(config, registry) as environment:
            make_loop = build(config, registry, folder, clock, environment, ranks)  # what is missing shows before anything is written
            with disk_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
                with hold(folder):
                    write_config(config, folder)
                    (folder / "versions.json").write_text(json.dumps(versions(registry), indent=1))
                    return drive(make_loop(store=Store(folder / "run.sqlite", create=True)), folder, ranks=ranks)


def resume(registry: Registry, folder: Path, sets: Sequence[str] = ()) -> dict[str, Any]:
    """Go on with the run in `folder` from its last checkpoint; what came after that is done again, the same."""
    config_file = folder / "config.toml"
    if not config_file.is_file():
        raise UserError(f"{folder} is no run folder: it has no config.toml")
    config = load_config(registry, recipe=None, file=config_file, sets=sets)
    before = _loaded(registry, config_file)
    with _ranks(config) as ranks, disk_errors(folder), hold(folder), closing(_store_of(folder)) as store:
        checkpoint, note = newest_whole(store, folder)
        if checkpoint:
            if before:
                check_changes(before, config, registry, folder)
            if config.steps < checkpoint[0]:
                raise UserError(f"steps is {config.steps}, but {folder} has done {checkpoint[0]} iterations: set steps to that or more")
        with placed_environment(config, registry) as environment:
            make_loop = build(config, registry, folder, Clock(), environment, ranks)
            return drive(make_loop(store=store), folder, checkpoint, note, ranks)


def _loaded(registry: Registry, file: Path) -> Config | None:
    """The run's settings as they were; None where they cannot be had any longer, for which the new ones may be the remedy."""
    try:
        return load_config(registry, recipe=None, file=file)
    except UserError:
        return None


def follow(config: Config, registry: Registry) -> int:
    """Be one of a run's other processes: take part in its rollouts and updates until the first one is done. Its exit code where it ended
    before it began, and said why."""
    ranks = Ranks(config.process_timeout)
    with ranks.connected():
        begun: RunStarted | RunAborted = ranks.broadcast()
        if isinstance(begun, RunAborted):
            return begun.code
        config = begun.config
        with placed_environment(config, registry) as environment:
            trainer = _trainer(config, registry, begun.folder, environment)
            with closing(RolloutRunner(environment, _rollout_limits(config, environment), Clock())) as runner:
                loop = FollowerLoop(ranks, trainer, runner, begun.iteration, config.steps)
                if loop.serve():
                    trainer.train(loop, begun.checkpoint)
                ranks.gather(None)  # the first process has saved what it needs this one's help for
    return 0


@contextmanager
def _ranks(config: Config) -> Iterator[Ranks | None]:
    """The run's processes where a launcher started several. What stops the first one before it began ends the others quietly."""
    if not launched():
        yield None
        return
    ranks = Ranks(config.process_timeout)
    with ranks.connected():
        try:
            yield ranks
        except BaseException as error:
            if not ranks.begun:
                ranks.broadcast(RunAborted(code_of(error)))
                ranks.disconnect()
            raise


def _store_of(folder: Path) -> Store:
    """The store of a run that is taken up again. It is made anew where the run was stopped before it had one."""
    path, checkpoints = folder / "run.sqlite", folder / "checkpoints"
    lost = not path.exists() or path.stat().st_size == 0
    if lost and checkpoints.is_dir() and any(checkpoints.iterdir()):
        again = f"coevolve run --config {folder / 'config.toml'} --out OTHER"
        raise UserError(f"{folder} has checkpoints, but its {path.name} is lost: restore it from a copy, or begin again: {again}")
    return Store(path, create=True)


def drive(
    loop: Loop, folder: Path, checkpoint: tuple[int, str] | None = None, note: str | None = None, ranks: Ranks | None = None
) -> dict[str, Any]:
    """Let the trainer drive the loop from `checkpoint` (None: from the beginning), write the policy and the summary.

    `note` is a diagnosis that the observers are told first.
    """
    clock, store, config, notify = loop.clock, loop.store, loop.config, loop.registry.notify
    with clock.part("start"):
        store.roll_back(checkpoint[0] if checkpoint else -1)
        if checkpoint:
            restore(loop, checkpoint[0])
        bind(loop)
    resumed = folder / checkpoint[1] if checkpoint else None
    if ranks:
        ranks.begun = True
        ranks.broadcast(RunStarted(config, folder, loop.iteration, resumed))
    notify("coevolve_run_started", folder=folder, config=config.as_dict(), iteration=loop.iteration)
    try:
        if note:
            notify("coevolve_diagnosed", iteration=loop.iteration, text=note)
        if not checkpoint:
            begin(loop)
        trains = bool(checkpoint) or loop.iteration < config.steps  # after the last iteration there still are weights to take up
        if ranks:
            ranks.broadcast(RankResult(trains))
        entered = Entered(LeaderLoop(loop, ranks) if ranks else loop, lambda: write_config(config, folder))
        if trains:
            with clock.part("update"):  # the loop's own parts are counted apart; what is left of the trainer's time is this
                loop.trainer.train(entered, resumed)
        entered.enter()
        with clock.part("store"):
            loop.trainer.save_policy(folder / "policy")
        if ranks:
            ranks.gather(None)
        summary = summarize(store, config, provenance(loop.runner.environment), clock.read(), clock.wall)
        (folder / "summary.json").write_text(json.dumps(summary, indent=1))
        notify("coevolve_run_finished", folder=folder, summary=summary)
        return summary
    finally:
        notify("coevolve_run_left", folder=folder)
        loop.runner.close()
        loop.evaluator.close()
        loop.guard.close()
        store.close()


def build(
    config: Config, registry: Registry, folder: Path, clock: Clock, environment: Environment, ranks: Ranks | None = None
) -> "partial[Loop]":
    """Make every part that the configuration names; what comes back needs only the store to be the loop.

    Anything that is missing or unreadable shows here, before the first rollout.
    """

    def make(kind: str, chosen: Chosen) -> Any:
        return registry.component(kind, chosen.name)(chosen.options)

    replayed(config)
    with clock.part("start"):
        trainer = _trainer(config, registry, folder, environment)
    limits = _rollout_limits(config, environment)

    def runner(clock: Clock) -> RolloutRunner:
        if ranks is None:
            return RolloutRunner(environment, limits, clock)
        shared = DistributedRolloutRunner(environment, limits, clock)
        shared.ranks, shared.trainer = ranks, trainer
        return shared

    evaluator = runner(Clock())
    validators = [make("validator", chosen) for chosen in config.validators]
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
        sampler=make("sampler", config.sampler),
        detectors=[make("signal", chosen) for chosen in config.signals],
        synthesizer=make("synthesizer", config.synthesizer) if config.synthesizer else None,
        validators=validators,
        held_out=tasks_of(environment, config.evaluation.split, config.tasks_timeout),
        pool=TaskPool(()),
    )


def _trainer(config: Config, registry: Registry, folder: Path, environment: Environment) -> Any:
    """The trainer, set up to train the policy."""
    policy, trainer = (
        registry.component(kind, chosen.name)(chosen.options) for kind, chosen in (("policy", config.policy), ("trainer", config.trainer))
    )
    for split in (config.train_split, config.evaluation.split):
        check_split(environment, split, config.tasks_timeout)
    if isinstance(policy, NeedsEnvironment):
        policy.bind(environment)
    trainer.setup(policy, RunSettings(config.seed, config.steps, config.batch, config.rollouts, config.temperature, folder))
    return trainer


def _rollout_limits(config: Config, environment: Environment) -> RolloutLimits:
    return worker_limits(environment, RolloutLimits(config.max_completions, config.step_timeout, config.workers, config.wave))


def _patience(config: Config) -> TimeLimit | None:
    """How long the synthesizer may be at one candidate."""
    if config.synthesizer is None:
        return None
    seconds, name = config.synthesis_timeout, config.synthesizer.name
    text = f"synthesizer {name!r} came to no candidate within {seconds:g} s; if it needs longer, set synthesis_timeout to more"
    return TimeLimit(seconds, text)


def bind(loop: Loop) -> None:
    """Give the parts that ask a teacher, or the policy as one, what they need for it."""
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
    """D_0: a seeded choice of the environment's train tasks; and how the untrained policy does on the held-out ones."""
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
    """Where the run stood after `iteration`: everything but the trainer's own files is in the store."""
    loop.iteration = iteration
    loop.pool = loop.store.pool()
    loop.history = loop.store.history()
    loop.recent = list(loop.store.groups(after=loop.store.last_evolution()))
    seconds = loop.store.seconds(iteration)
    loop.clock.carry(seconds, seconds.pop(WALL, 0.0))


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Hold the run's folder, so that two processes cannot write one run."""
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise UserError(f"{folder} is in use by another coevolve process; wait for it, or choose another --out") from None
    try:
        yield
    finally:
        lock.release()


def versions(registry: Registry) -> dict[str, Any]:
    """What made this run: Python, the libraries and every plugin with its distribution."""
    found: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in VERSIONED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    found["plugins"] = [f"{record.name} ({record.distribution} {record.version})" for record in registry.records if not record.error]
    return found


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """One line for what the disk refuses; every other error keeps its traceback."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        number = error.errno if isinstance(error, OSError) else None
        if number in (errno.ENOSPC, errno.EDQUOT) or any(words in str(error) for words in FULL):
            raise CoevolveError(f"the disk of {folder} is full: free space") from error
        if number in (errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOTDIR, errno.ENOENT) and str(folder) in str(
            getattr(error, "filename", "")
        ):
            raise UserError(f"cannot write the run in {folder}: {os.strerror(number)}; choose another --out") from error
        raise
