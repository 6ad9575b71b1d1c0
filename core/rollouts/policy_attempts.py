"""Attempts at a candidate task by a policy, for components that ask for them (services.Services.attempts)."""

from collections.abc import Mapping
from typing import Any, Self

from attrs import frozen

from ..contracts import Policy, Trainer
from ..errors import UserError
from ..model import RolloutGroup, Sampling, Task
from ..optional import NeedsEnvironment
from ..randomness import derive
from ..registry import Registry
from ..settings.config import Config
from ..settings.toml_to_attrs import SettingError, structure
from .runner import RolloutRunner


@frozen
class PolicyAttempts:
    """services.Attempts over a runner; without a `policy` the one in training attempts, as trained so far."""

    runner: RolloutRunner
    trainer: Trainer
    config: Config
    policy: Policy | None = None

    @classmethod
    def of(cls, name: str, options: Mapping[str, Any], config: Config, registry: Registry, runner: RolloutRunner, trainer: Trainer) -> Self:
        """Attempts by the policy of that name, made with `options`; UserError for an unknown name or options that do not fit."""
        policy = make_policy(name, options, registry)
        if isinstance(policy, NeedsEnvironment):
            policy.bind(runner.environment)
        return cls(runner, trainer, config, policy)

    def __call__(self, task: Task, count: int, temperature: float) -> RolloutGroup:
        sampling = Sampling(temperature, self.config.max_new_tokens, derive(self.config.seed, "attempts", task.id))
        return self.runner.run(self.policy or self.trainer.policy(), [task], count, sampling, task.origin.iteration)[0]


def make_policy(name: str, options: Mapping[str, Any], registry: Registry) -> Any:
    """The policy of that name, not yet used; None for "", the policy in training. UserError as in `PolicyAttempts.of`."""
    if not name:
        return None
    component = registry.component("policy", name)
    try:
        return component(structure(dict(options), component.Options, f"the settings of policy {name!r} for attempts"))
    except SettingError as misfit:
        raise UserError(misfit.text) from misfit
