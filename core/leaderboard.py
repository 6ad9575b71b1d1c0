"""`coevolve leaderboard`: the trained policy attempts what a benchmark's leaderboard asks for, and the environment writes it down."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from .contracts import Episode, Policy
from .errors import UserError
from .model import RolloutGroup, Sampling, Task
from .optional import HasLeaderboard, NeedsEnvironment
from .randomness import derive
from .record.timing import Clock
from .registry import Registry
from .rollouts.runner import RolloutLimits, RolloutRunner
from .settings.config import Chosen, Config

ROWS = 32
"""Episodes that are rolled out at once; each lot is kept before the next one begins."""


def submit(config: Config, registry: Registry, run: Path, out: Path, name: str | None) -> Sequence[str]:
    """Write the submission of the run in the folder `run` into `out`; returns the environment's lines for the user.

    UserError for an environment without a leaderboard, and for a run without a trained policy.
    """
    component: Any = registry.component("environment", config.environment.name)
    if not issubclass(component, HasLeaderboard):
        raise UserError(f"environment {config.environment.name!r} has no leaderboard to write for; coevolve eval tells the run's success")
    policy: Any = _trained(config, registry, run)
    environment: Any = component(config.environment.options)
    if isinstance(policy, NeedsEnvironment):
        policy.bind(environment)
    runner = RolloutRunner(environment, RolloutLimits(config.max_completions, config.step_timeout, config.workers, config.wave), Clock())
    try:
        return tuple(environment.leaderboard(out, name or _name(run), _Rolls(runner, policy, config)))
    finally:
        runner.close()


def _trained(config: Config, registry: Registry, run: Path) -> Policy:
    """The policy as the run left it; one that has no weights is as configured."""
    chosen = config.policy
    if hasattr(chosen.options, "model"):
        if not (run / "policy").is_dir():
            raise UserError(f"{run} has no trained policy yet; finish it first: coevolve resume {run}")
        chosen = Chosen(chosen.name, attrs.evolve(chosen.options, model=str(run / "policy")))
    made: Policy = registry.make("policy", chosen)
    return made


def _name(run: Path) -> str:
    """The run's folder as a name in small letters and digits.

    >>> _name(Path("runs/AppWorld Try.2"))
    'appworld-try-2'
    """
    return re.sub(r"[^a-z0-9]+", "-", run.resolve().name.lower()).strip("-") or "run"


@attrs.frozen
class _Rolls:
    """optional.Rolls."""

    runner: RolloutRunner
    policy: Policy
    config: Config

    def __call__(self, tasks: Sequence[Task], keep: Callable[[Task, Episode], None]) -> list[RolloutGroup]:
        groups: list[RolloutGroup] = []
        for n in range(0, len(tasks), ROWS):
            sampling = Sampling(0.0, self.config.max_new_tokens, derive(self.config.seed, "leaderboard", n))
            groups += self.runner.run(self.policy, tasks[n : n + ROWS], 1, sampling, 0, keep)
        return groups
