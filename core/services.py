"""What core hands out to components that ask for it (`optional.NeedsServices`): a journal, the policy as a teacher, attempts at tasks."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .model import Message, RolloutGroup, Task, TeacherCall


class Journal(Protocol):
    """Stores every call of a teacher, and returns the stored calls of a run that is resumed or replayed. All methods are thread-safe."""

    def recall(self, key: str, request: Mapping[str, Any]) -> tuple[TeacherCall, ...]:
        """The stored attempts at a request, in order; empty when the teacher must be asked. Do not record recalled calls again.

        A resumed run recalls requests that were answered. A replayed run recalls faults too. Raises UserError for a request that the
        replayed run did not make, because the two runs then differ.
        """

    def record(self, call: TeacherCall) -> None:
        """Store an attempt at once. It stays stored when the run goes back to a checkpoint, because it was paid for."""

    def calls(self) -> tuple[TeacherCall, ...]:
        """All attempts of this run so far, without their requests: what was spent."""

    def notify(self, text: str) -> None:
        """Show the user a line, such as that a budget is used up. Each line is shown once a run."""


class Chat(Protocol):
    """Lets the policy in training answer questions, for a policy that is its own teacher. Thread-safe: questions are answered in turn."""

    def __call__(self, key: str, messages: Sequence[Message], temperature: float, max_new_tokens: int) -> str | None:
        """The completion's text, sampled from the policy as trained so far; None when the context has no room for one.

        The draw depends on the run's seed and `key` only. Raises InfrastructureFault when the engine fails.
        """


class Attempts(Protocol):
    """Rolls tasks out with one policy, in fresh episodes. One thread at a time."""

    def __call__(self, tasks: Sequence[Task], count: int, temperature: float, first: int = 0) -> list[RolloutGroup]:
        """`count` attempts at each task, all in one batch: attempts number `first` and following, which are their indices.

        What an attempt draws depends on the run's seed, the task's id and the attempt's index, not on the other tasks: who has made
        attempts 0 to 2 asks for `first=3` to go on. Infrastructure faults have no score. Attempts of the policy in training are kept while
        a wave of candidates is judged, so that two validators that ask for the same ones share them.
        """


class Services(Protocol):
    """What a run offers its synthesizer and its validators. Bind it in `bind_services`; use what it holds from the first work on."""

    @property
    def journal(self) -> Journal:
        """Where calls of a teacher are stored. Usable once the run has begun, not yet in `bind_services`."""

    @property
    def chat(self) -> Chat:
        """Asks the policy in training."""

    def attempts(self, policy: str, options: Mapping[str, Any]) -> Attempts:
        """Attempts by the policy of that name with these options; the name "" is the policy in training, as trained so far.

        The name "teacher" is the model behind the run's synthesizer (`optional.HasReader`). Its attempts are kept in the journal, so that a
        resumed or replayed run recalls them.

        Call it in `bind_services`: UserError for an unknown policy or for options that do not fit then comes before the run writes
        anything.
        """
