"""A run's trained policy in the run's environment, for commands that plugins add (hook `coevolve_commands`)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ..contracts import Environment, Episode, Policy
from ..environment_defaults import complete
from ..errors import UserError
from ..model import RolloutGroup, Sampling, Task
from ..randomness import derive
from ..text import command_line

if TYPE_CHECKING:
    from ..registry import Registry
    from ..rollouts.runner import RolloutRunner
    from ..settings.config import Config

ROWS = 32
"""Episodes that are rolled out at once; each lot is kept before the next one begins."""


@attrs.frozen
class TrainedRun:
    """What `trained_run` opens: valid until its `with` block ends."""

    folder: Path
    environment: Environment
    policy: Policy
    _config: "Config"
    _runner: "RolloutRunner"

    def attempt(self, tasks: Sequence[Task], keep: Callable[[Task, Episode], None]) -> list[RolloutGroup]:
        """Let the trained policy attempt each task once, greedily, with the run's own limits; one group of one rollout for each task.

        `keep(task, episode)` is called for every scored episode before it is closed, from several threads. Episodes that failed are
        skipped; one whose `keep` raises is an infrastructure fault.
        """
        groups: list[RolloutGroup] = []
        for n in range(0, len(tasks), ROWS):
            sampling = Sampling(0.0, self._config.max_new_tokens, derive(self._config.seed, "leaderboard", n))
            groups += self._runner.run(self.policy, tasks[n : n + ROWS], 1, sampling, 0, keep)
        return groups


@contextmanager
def trained_run(folder: Path, environment: str, sets: Sequence[str] = ()) -> Iterator[TrainedRun]:
    """Open a finished run on the environment of that name, with its own settings but for `sets` ("KEY=VALUE").

    Prints a line on stderr for each broken plugin. UserError for a folder that is not a run, for a run on another environment and for one
    that has no trained policy yet.
    """
    from ..optional import NeedsEnvironment
    from ..record.run_check import run_file
    from ..record.timing import Clock
    from ..rollouts.runner import RolloutLimits, RolloutRunner
    from ..settings.sources import setting_sources
    from .prepare import prepare

    config, registry = prepare(setting_sources(None, run_file(folder), sets))
    if config.environment.name != environment:
        raise UserError(f"the run in {folder} is on {config.environment.name!r}, not {environment!r}; name a run on {environment!r}")
    policy = _policy(config, registry, folder)
    world = complete(registry.make("environment", config.environment))
    if isinstance(policy, NeedsEnvironment):
        policy.bind(world)
    limits = RolloutLimits.of(config, world)
    with closing(RolloutRunner(world, limits, Clock())) as runner:
        yield TrainedRun(folder, world, policy, config, runner)


def _policy(config: "Config", registry: "Registry", folder: Path) -> Policy:
    """The policy as the run left it; one without a model is as configured."""
    chosen: Any = config.policy
    if chosen.model is not None:
        if not (folder / "policy").is_dir():
            raise UserError(f"{folder} has no trained policy yet; finish it first: {command_line('coevolve', 'resume', folder)}")
        chosen = attrs.evolve(chosen, options=attrs.evolve(chosen.options, model=str(folder / "policy")))
    made: Policy = registry.make("policy", chosen)
    return made
