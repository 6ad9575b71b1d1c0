"""Attempts at a candidate task by a policy, for validators that ask for one (optional.NeedsPolicy)."""

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
    """optional.Attempts over a runner. Without a `policy` the one in training tries, as trained so far."""

    runner: RolloutRunner
    trainer: Trainer
    config: Config
    policy: Policy | None = None

    @classmethod
    def of(cls, wanted: tuple[str, Mapping[str, Any]], config: Config, registry: Registry, runner: RolloutRunner, trainer: Trainer) -> Self:
        """Make the policy that is wanted; UserError for one that there is not, or for options that do not fit it."""
        policy = cls.check(wanted, registry)
        if policy is None:
            return cls(runner, trainer, config)
        if isinstance(policy, NeedsEnvironment):
            policy.bind(runner.environment)
        return cls(runner, trainer, config, policy)

    @staticmethod
    def check(wanted: tuple[str, Mapping[str, Any]], registry: Registry) -> Any:
        """The policy that is wanted, not yet used; None stands for the one in training."""
        name, options = wanted
        if not name:
            return None
        component = registry.component("policy", name)
        try:
            return component(structure(dict(options), component.Options, f"the settings of policy {name!r} for attempts"))
        except SettingError as misfit:
            raise UserError(misfit.text) from misfit

    def __call__(self, task: Task, count: int, temperature: float) -> RolloutGroup:
        sampling = Sampling(temperature, self.config.max_new_tokens, derive(self.config.seed, "attempts", task.id))
        return self.runner.run(self.policy or self.trainer.policy(), [task], count, sampling, task.origin.iteration)[0]
