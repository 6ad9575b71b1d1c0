"""Start a run, resume one, take part in one: build the components, lock the folder, let the trainer drive the loop."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..loop import Loop
from ..record.checkpoints import newest_whole
from ..record.permissions import share
from ..record.run_check import run_file
from ..record.store import Store
from ..record.summary import summarize
from ..record.timing import Clock
from ..registry import Registry
from ..rollouts.evaluation import provenance
from ..rollouts.runner import RolloutLimits, RolloutRunner
from ..settings.config import Config, resolve
from ..settings.sources import SettingSource, setting_sources
from ..workers.remote_environment import placed_environment
from .build import begin, build, make_trainer, open_journal, restore
from .exit_codes import code_of
from .folder import check_new, disk_errors, hold, open_store, write_config, write_summary, write_versions
from .held_out import check_first_tasks
from .launcher import check_launch, launched
from .ranks import FollowerLoop, LeaderLoop, RankResult, Ranks, RunAborted, RunStarted
from .resume_rules import check_changes


def start(config: Config, registry: Registry, folder: Path) -> dict[str, Any]:
    """Start a run in `folder` (new or empty) and carry it to its end; returns the summary that the final table shows."""
    clock = Clock()
    with _ranks(config) as ranks:
        check_new(folder)
        with placed_environment(config, registry) as environment:
            # What is missing or wrong shows before anything is written.
            make_loop = build(config, registry, folder, clock, environment, ranks)
            overlap = check_first_tasks(config, registry, environment, make_loop.keywords["held_out"])
            with disk_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
                with hold(folder):
                    write_config(config, folder)
                    write_versions(registry, folder)
                    return drive(make_loop(store=Store(folder / "run.sqlite", create=True), overlap=overlap), folder, ranks=ranks)


def resume(registry: Registry, folder: Path, sets: Sequence[str] = ()) -> dict[str, Any]:
    """Resume the run in `folder` from its last checkpoint; iterations after that are repeated exactly. Returns the summary."""
    return resume_from(registry, folder, setting_sources(None, run_file(folder), sets))


def resume_from(registry: Registry, folder: Path, sources: Sequence[SettingSource]) -> dict[str, Any]:
    """Resume with settings that are read already: the run's own config.toml first, then what changes it."""
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
    """The run's settings as they were; None where they no longer load (a plugin is gone, say) and the new ones may be the remedy."""
    try:
        return resolve(registry, sources)
    except UserError:
        return None


def follow(config: Config, registry: Registry) -> int:
    """Take part in a run as a rank other than 0: rollouts and updates until rank 0 is done.

    Returns 0, or rank 0's exit code when that ended before the run began (it has printed why).
    """
    ranks = Ranks(config.process_timeout)
    with ranks.connected():
        begun: RunStarted | RunAborted = ranks.broadcast()
        if isinstance(begun, RunAborted):
            return begun.code
        config = begun.config
        with placed_environment(config, registry) as environment:
            trainer = make_trainer(config, registry, begun.folder, environment)
            with closing(RolloutRunner(environment, RolloutLimits.of(config, environment), Clock())) as runner:
                loop = FollowerLoop(ranks, trainer, runner, begun.iteration, config.steps)
                if loop.serve():
                    trainer.train(loop, begun.checkpoint)
                ranks.gather(None)  # rank 0 gathers sharded weights to save them
    return 0


@contextmanager
def _ranks(config: Config) -> Iterator[Ranks | None]:
    """The run's ranks where a launcher started several processes, else None. An error before the run began ends the other ranks quietly."""
    check_launch()
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
    """Let the trainer drive the loop from `checkpoint` (None: from the beginning), then write policy and summary; returns the summary.

    `note` is a diagnosis for the observers, about the checkpoint that was chosen.
    """
    loop.on_first_rollout = partial(write_config, loop.config, folder)
    clock, store, config, notify = loop.clock, loop.store, loop.config, loop.registry.notify
    with clock.part("start"):
        store.roll_back(checkpoint[0] if checkpoint else -1)
        if checkpoint:
            restore(loop, checkpoint[0])
        open_journal(loop)
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
        trains = bool(checkpoint) or loop.iteration < config.steps  # a finished run must still load its weights, to save the policy
        if ranks:
            ranks.broadcast(RankResult(trains))
        if trains:
            with clock.part("update"):  # the loop counts its own parts apart; the rest of the trainer's time is the update
                loop.trainer.train(LeaderLoop(loop, ranks) if ranks else loop, resumed)
        loop.begin_rollouts()
        with clock.part("store"):
            loop.trainer.save_policy(folder / "policy")
            share(folder / "policy")
        if ranks:
            ranks.gather(None)
        summary = summarize(
            store, config, provenance(loop.runner.environment) | provenance(loop.trainer.policy()), clock.read(), clock.wall
        )
        write_summary(summary, folder)
        notify("coevolve_run_finished", folder=folder, summary=summary)
        return summary
    finally:
        notify("coevolve_run_left", folder=folder)
        loop.runner.close()
        loop.evaluator.close()
        loop.guard.close()
        store.close()
