"""What a component may offer beside its contract, or ask for; the loop looks for each by its methods, and who has none loses nothing."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from .contracts import Environment, Policy, RunInfo
from .errors import InfrastructureFault
from .model import Message, RolloutGroup, Sampling, Task, TeacherCall


@runtime_checkable
class HasMetrics(Protocol):
    """An episode that tells more than its score (progress, an official score beside a strict one)."""

    def metrics(self) -> Mapping[str, float]:
        """Figures by name, asked once after the score; evaluations show their means."""


@runtime_checkable
class HasProvenance(Protocol):
    """An environment whose results say little without what they were got with (a benchmark's release, mode, scorer)."""

    def provenance(self) -> Mapping[str, Any]:
        """JSON values that stand beside every result; results that differ in them are not comparable."""


@runtime_checkable
class HasAggregates(Protocol):
    """An environment with figures over several tasks at once (all variants of a scenario solved, say)."""

    def aggregates(self, groups: "Sequence[RolloutGroup]") -> Mapping[str, float]:
        """Figures by name over the rollouts of a whole evaluation, shown beside the means; none where the tasks do not allow them."""


NOTE = "note: "
"""Begins a doctor's line that says something of the data itself, which no set-up can mend."""


@runtime_checkable
class Installable(Protocol):
    """An environment whose data must be fetched first; `coevolve env setup NAME` and `coevolve env doctor NAME` call these."""

    @classmethod
    def setup(cls, **settings: str) -> str:
        """Fetch what is needed (again is harmless); return one line that says what is there now. Unknown settings: UserError."""

    @classmethod
    def doctor(cls) -> list[str]:
        """Lines that name what is missing or broken; empty when all is well. A line that begins with NOTE is no defect of the set-up."""


@runtime_checkable
class Examinable(Protocol):
    """An installable environment whose thorough examination takes long; `coevolve env doctor NAME` calls it in `doctor`'s place."""

    @classmethod
    def examine(cls) -> list[str]:
        """As `Installable.doctor`, which then only looks at what can be seen at once; may take minutes."""


@runtime_checkable
class StreamsCompletions(Protocol):
    """A policy that tells each completion as it ends: the environment carries it out while the others are still being written."""

    def complete_streaming(
        self, conversations: Sequence[Any], sampling: Sampling, tell: Callable[[int, str], None]
    ) -> Sequence[str | InfrastructureFault | None]:
        """As `Policy.complete`, and with the same results; calls `tell(n, text)` at most once for conversation number n.

        From the thread of the call, when n's text is in its `messages` and `tokens` already: it may be observed as soon as this returns.
        """


@runtime_checkable
class NeedsEnvironment(Protocol):
    """A policy that must know the environment (to play its solutions, say)."""

    def bind(self, environment: Environment) -> None:
        """Called once, before the first conversation."""


@runtime_checkable
class HasWeights(Protocol):
    """A policy that can be trained: its model can be loaded here, and its engine gives the token ids and log-probabilities it sampled.

    A policy whose conversations give no token ids must not offer this: text that is tokenised again is not what was sampled.
    """

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer, with pad and end token."""

    @property
    def placement(self) -> tuple[str, Any]:
        """Device and dtype that the model computes in."""

    def check(self) -> None:
        """UserError for what can be told without loading the weights."""

    def load(self, dtype: Any = None) -> Any:
        """A model of its own for the trainer, with weights in `dtype` (None: that of `placement`)."""

    def over(self, model: Any) -> Policy:
        """The policy that samples from `model`, a live one, as it is at each completion."""

    def release(self) -> None:
        """The rollouts of an iteration are over: give back memory that the update can use."""


@runtime_checkable
class TakesWeights(Protocol):
    """A policy with weights whose engine holds a copy of them, which does not follow the live model by itself."""

    def take_weights(self) -> None:
        """The live model has changed; called before the first rollout of a training and after each update."""


@runtime_checkable
class HasFixed(Protocol):
    """An environment, policy or trainer whose class names options that hold for a whole run: a resume refuses to change them."""

    fixed: ClassVar[tuple[str, ...]]
    """What the tasks, or the trainer's checkpoints, hang on."""


@runtime_checkable
class Checkable(Protocol):
    """A policy that can say what is wrong with its settings before it is used."""

    def check(self) -> None:
        """UserError for what can be told without loading a model or asking an endpoint."""


@runtime_checkable
class FitsPolicy(Protocol):
    """A trainer that can say whether its settings fit on any machine; a plan, which may be for another, asks it in `setup`'s place."""

    def fits(self, policy: Policy, run: "RunInfo", files: bool) -> None:
        """UserError for what can be told on any machine; `files`: the model's are on this one."""


@runtime_checkable
class HasUsage(Protocol):
    """A policy that costs something to ask."""

    def usage(self) -> Mapping[str, float]:
        """Since it was made: `calls`, `failed` ones among them, `prompt_tokens`, `completion_tokens`, `cost`, and what else it counts."""


class Attempts(Protocol):
    """Rolls a task out with a policy, in fresh episodes."""

    def __call__(self, task: Task, count: int, temperature: float) -> RolloutGroup:
        """`count` attempts at `task`; the draw is a function of the run's seed and the task's id. Infrastructure faults have no score."""


@runtime_checkable
class NeedsPolicy(Protocol):
    """A validator that lets a policy try tasks."""

    @property
    def wanted_policy(self) -> tuple[str, Mapping[str, Any]]:
        """Name and options of the policy that is to try; the name "" stands for the one in training, as trained so far."""

    def bind_attempts(self, attempts: Attempts) -> None:
        """Called once, before the first validation."""


class Journal(Protocol):
    """Where a part that asks a teacher writes every call down, and finds the calls of a run that is replayed or resumed.

    Safe to call from several threads.
    """

    def recall(self, key: str, request: Mapping[str, Any]) -> tuple[TeacherCall, ...]:
        """The kept attempts at a request, in order; empty when it must be asked anew. What is recalled is not to be recorded again.

        A resumed run recalls requests that were answered; a replayed one recalls faults too, and raises UserError for a request that the
        replayed run did not make: then the two have parted.
        """

    def record(self, call: TeacherCall) -> None:
        """Keep an attempt, at once and for good: going back to a checkpoint does not unmake calls that were paid for."""

    def calls(self) -> tuple[TeacherCall, ...]:
        """All attempts of this run so far, without their requests: what was spent."""

    def tell(self, text: str) -> None:
        """A line for the user, such as that a budget is used up; the same line is shown once a run."""


@runtime_checkable
class NeedsJournal(Protocol):
    """A synthesizer or validator that asks a teacher over the network."""

    def bind_journal(self, journal: Journal) -> None:
        """Called once, before the first use."""


class Chat(Protocol):
    """Lets the policy in training answer, as trained so far: for a policy that is its own teacher. Safe to call from several threads."""

    def __call__(self, key: str, messages: Sequence[Message], temperature: float, max_new_tokens: int) -> str | None:
        """The completion's text; None when the conversation leaves no room for one. The draw is a function of the run's seed and `key`."""


@runtime_checkable
class NeedsChat(Protocol):
    """A synthesizer or validator that lets the policy in training answer questions."""

    def bind_chat(self, chat: Chat) -> None:
        """Called once, before the first use."""


@runtime_checkable
class HasEstimate(Protocol):
    """A synthesizer whose work costs more than time on this machine; `coevolve run --dry-run` shows it."""

    def estimate(self, evolutions: int, wanted: int) -> str:
        """In one line, what `evolutions` that want `wanted` tasks each take at most: calls, tokens, cost."""
