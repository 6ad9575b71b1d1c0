"""The services of one run for its synthesizer and validators (services.Services)."""

from collections.abc import Mapping
from typing import Any, cast

from attrs import frozen

from ..contracts import Trainer
from ..record.teacher_calls import LateJournal
from ..registry import Registry
from ..services import Attempts, Chat, Journal
from ..settings.config import Config
from .policy_attempts import PolicyAttempts, make_policy
from .policy_chat import PolicyChat
from .runner import RolloutRunner


@frozen
class RunServices:
    """Built with the other parts of a run; the journal opens when the run's store exists."""

    config: Config
    registry: Registry
    runner: RolloutRunner
    """Rolls out the attempts."""
    trainer: Trainer
    journal: LateJournal
    chat: PolicyChat

    def attempts(self, policy: str, options: Mapping[str, Any]) -> PolicyAttempts:
        return PolicyAttempts.of(policy, options, self.config, self.registry, self.runner, self.trainer)


@frozen
class CheckedServices:
    """Services of a plan: what components ask for is checked, and nothing can be used."""

    config: Config
    registry: Registry

    @property
    def journal(self) -> Journal:
        """One that is never opened; what it is told is dropped."""
        return LateJournal()

    @property
    def chat(self) -> Chat:
        return cast(Chat, None)

    def attempts(self, policy: str, options: Mapping[str, Any]) -> Attempts:
        make_policy(policy, options, self.registry)
        return cast(Attempts, None)
