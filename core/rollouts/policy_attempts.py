"""Attempts at a candidate task by a policy, for components that ask for them (services.Services.attempts)."""

import time
from collections.abc import Mapping
from typing import Any, Self

from attrs import frozen

from ..contracts import Policy, Trainer
from ..errors import InfrastructureFault, UserError
from ..model import RolloutGroup, Sampling, Task, TeacherCall
from ..optional import HasUsage, NeedsEnvironment
from ..randomness import derive
from ..record.store import from_json, to_json
from ..registry import Registry
from ..services import Journal
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

    def usage(self) -> Mapping[str, float]:
        """What the policy's attempts have cost so far; empty for a policy that does not say."""
        return self.policy.usage() if isinstance(self.policy, HasUsage) else {}

    @property
    def model(self) -> str:
        """The name of the policy's model, for the record."""
        return str(getattr(getattr(self.policy, "options", None), "model", ""))


@frozen
class JournalledAttempts:
    """services.Attempts that are stored as calls of the teacher: paid for once, and recalled by a resumed or replayed run.

    One row of the journal stands for all attempts at a task; its reply is the rollout group as JSON.
    """

    attempts: PolicyAttempts
    journal: Journal

    def __call__(self, task: Task, count: int, temperature: float) -> RolloutGroup:
        key, iteration = attempt_key(task), task.origin.iteration
        request = {
            "model": self.attempts.model,
            "messages": [{"role": "user", "content": task.query}],
            "count": count,
            "temperature": temperature,
        }
        if known := self.journal.recall(key, request):
            if known[-1].reply is None:
                raise InfrastructureFault(known[-1].fault or "the attempts failed")
            return from_json(known[-1].reply, RolloutGroup)
        before, begun = dict(self.attempts.usage()), time.monotonic()
        group: RolloutGroup | None = None
        fault: str | None = None
        try:
            group = self.attempts(task, count, temperature)
        except InfrastructureFault as error:
            fault = str(error)
            raise
        finally:
            spent = {name: value - before.get(name, 0) for name, value in self.attempts.usage().items()}
            if group is not None or fault is not None:
                reply = None if group is None else to_json(group)
                tokens = int(spent.get("prompt_tokens", 0)), int(spent.get("completion_tokens", 0))
                seconds = time.monotonic() - begun
                about = (key, iteration, "attempt", self.attempts.model, request)
                self.journal.record(TeacherCall(*about, reply, fault, *tokens, spent.get("cost", 0.0), seconds))
        return group


def attempt_key(task: Task) -> str:
    """The key under which the journal keeps the teacher's attempts at a task."""
    return f"{task.origin.iteration}/attempt/{task.id}"


def make_policy(name: str, options: Mapping[str, Any], registry: Registry) -> Any:
    """The policy of that name, not yet used; None for "", the policy in training. UserError as in `PolicyAttempts.of`."""
    if not name:
        return None
    component = registry.component("policy", name)
    try:
        return component(structure(dict(options), component.Options, f"the settings of policy {name!r} for attempts"))
    except SettingError as misfit:
        raise UserError(misfit.text) from misfit
