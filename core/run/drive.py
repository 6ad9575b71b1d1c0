"""Begin a run, go on with one: build the parts that the configuration names, hold the run's folder, drive the loop.

A run is a folder: config.toml (resolved), versions.json, run.sqlite, checkpoints/, policy/ (the trained one). One process at a time.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from ..errors import UserError
from ..loop import Loop
from ..record.checkpoints import newest_whole
from ..record.run_folder import run_file
from ..record.store import Store
from ..record.summary import summarize
from ..record.timing import Clock
from ..registry import Registry
from ..rollouts.evaluation import provenance
from ..rollouts.runner import RolloutRunner
from ..settings.config import Config, resolve
from ..settings.sources import SettingSource, setting_sources
from ..workers.remote_environment import placed_environment
from .build import begin, bind, build, make_trainer, restore, rollout_limits
from .exit_codes import code_of, launched
from .folder import disk_errors, hold, open_store, versions
from .ranks import FollowerLoop, LeaderLoop, RankResult, Ranks
from .resume_rules import Entered, check_changes, write_config


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
    return resume_from(registry, folder, setting_sources(None, run_file(folder), sets))


def resume_from(registry: Registry, folder: Path, sources: Sequence[SettingSource]) -> dict[str, Any]:
    """As `resume`, with settings that are read already: those of the run's own config.toml first, then what changes them."""
    config = resolve(registry, sources)
    before = _loaded(registry, sources[:1])
    with _ranks(config) as ranks, disk_errors(folder), hold(folder), closing(open_store(folder)) as store:
        checkpoint, note = newest_whole(store, folder)
        if checkpoint:
            if before:
                check_changes(before, config, registry, folder)
            if config.steps < checkpoint[0]:
                raise UserError(f"steps is {config.steps}, but {folder} has done {checkpoint[0]} iterations: set steps to that or more")
        with placed_environment(config, registry) as environment:
            make_loop = build(config, registry, folder, Clock(), environment, ranks)
            return drive(make_loop(store=store), folder, checkpoint, note, ranks)


def _loaded(registry: Registry, sources: Sequence[SettingSource]) -> Config | None:
    """The run's settings as they were; None where they cannot be had any longer, for which the new ones may be the remedy."""
    try:
        return resolve(registry, sources)
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
            trainer = make_trainer(config, registry, begun.folder, environment)
            with closing(RolloutRunner(environment, rollout_limits(config, environment), Clock())) as runner:
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
