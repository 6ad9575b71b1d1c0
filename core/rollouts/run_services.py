"""The services of one run for its synthesizer and validators (services.Services)."""

from collections.abc import Mapping
from typing import Any, cast

from attrs import field, frozen

from ..contracts import Synthesizer, Trainer
from ..errors import UserError
from ..optional import TEACHER, HasReader
from ..record.teacher_calls import LateJournal
from ..registry import Registry
from ..services import Attempts, Chat, Journal
from ..settings.config import Config
from .policy_attempts import JournalledAttempts, PolicyAttempts, SharedAttempts, make_policy
from .policy_chat import PolicyChat
from .runner import RolloutRunner


def reader_of(synthesizer: Synthesizer | None, options: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Name and options of the policy that stands for the run's teacher. `options` replace its own. UserError in a run without a teacher."""
    if not isinstance(synthesizer, HasReader):
        raise UserError(
            f"the policy {TEACHER!r} is the model behind the run's teacher, and this run has none: set synthesizer.name='teacher', or name "
            "another policy (such as 'openai') with its settings"
        )
    name, given = synthesizer.reader()
    return name, {**given, **options} if name else {}


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
    synthesizer: Synthesizer | None = None
    in_training: SharedAttempts = field(init=False)
    """Attempts by the policy in training, the same ones for every part that asks."""

    @in_training.default
    def _of_the_policy_in_training(self) -> SharedAttempts:
        return SharedAttempts(PolicyAttempts(self.runner, self.trainer, self.config))

    def attempts(self, policy: str, options: Mapping[str, Any]) -> Attempts:
        name, given = reader_of(self.synthesizer, options) if policy == TEACHER else (policy, options)
        if not name:
            return self.in_training
        attempts = PolicyAttempts.of(name, given, self.config, self.registry, self.runner, self.trainer)
        return JournalledAttempts(attempts, self.journal) if policy == TEACHER else attempts


@frozen
class CheckedServices:
    """Services of a plan: what components ask for is checked, and nothing can be used."""

    config: Config
    registry: Registry
    synthesizer: Synthesizer | None = None

    @property
    def journal(self) -> Journal:
        """One that is never opened; what it is told is dropped."""
        return LateJournal()

    @property
    def chat(self) -> Chat:
        return cast(Chat, None)

    def attempts(self, policy: str, options: Mapping[str, Any]) -> Attempts:
        name, given = reader_of(self.synthesizer, options) if policy == TEACHER else (policy, options)
        make_policy(name, given, self.registry)
        return cast(Attempts, None)
