"""What a component may offer beside its contract, or ask for.

All are optional. Core detects them by method name; a component that lacks one still works.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from .contracts import Environment, Policy, RunInfo
from .errors import InfrastructureFault
from .model import RolloutGroup, Sampling
from .services import Services


@runtime_checkable
class HasMetrics(Protocol):
    """An episode with figures beside its score (progress, an official score beside a strict one)."""

    def metrics(self) -> Mapping[str, float]:
        """Figures by name. Called once, after `score`; evaluations print their means over the rollouts."""


@runtime_checkable
class HasProvenance(Protocol):
    """An environment or a policy whose results depend on more than the settings (a benchmark's release, mode, scorer)."""

    def provenance(self) -> Mapping[str, Any]:
        """JSON values that are stored with every result; results with different ones are not comparable."""


@runtime_checkable
class HasAggregates(Protocol):
    """An environment with figures over several tasks at once (all variants of a scenario solved, say)."""

    def aggregates(self, groups: "Sequence[RolloutGroup]") -> Mapping[str, float]:
        """Figures by name over the rollouts of a whole evaluation, printed beside the means; empty where the tasks do not allow any."""


NOTE = "note: "
"""Begins a line of `Installable.doctor` about the data itself, which no set-up can mend."""


@runtime_checkable
class Installable(Protocol):
    """An environment whose data must be fetched first; `coevolve env setup NAME` and `coevolve env doctor NAME` call these."""

    @classmethod
    def setup(cls, **settings: str) -> str:
        """Fetch what is needed; harmless when it is there already. Returns one line that says what is there. UserError: unknown setting."""

    @classmethod
    def doctor(cls, thorough: bool = True) -> list[str]:
        """One line for each thing that is missing or broken; empty when all is well. A line that begins with NOTE is not a defect.

        Where it is not `thorough`, look only at what can be seen at once: `coevolve env list` and plans ask so. `coevolve env doctor`
        asks for the thorough examination, which may take minutes.
        """


@runtime_checkable
class StreamsCompletions(Protocol):
    """A policy that reports each completion as it ends: the environment steps while the other completions are still sampled."""

    def complete_streaming(
        self, conversations: Sequence[Any], sampling: Sampling, tell: Callable[[int, str], None]
    ) -> Sequence[str | InfrastructureFault | None]:
        """As `Policy.complete`, and with the same results; calls `tell(n, text)` at most once for conversation number n.

        Call `tell` from the thread of this call, when the text is in the conversation's `messages` and `tokens`.
        """


@runtime_checkable
class NeedsEnvironment(Protocol):
    """A policy that must know the environment (to play its solutions, say)."""

    def bind(self, environment: Environment) -> None:
        """Called once, before the first conversation. The environment's methods are thread-safe."""


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
class HasFixedOptions(Protocol):
    """An environment, policy or trainer with options that hold for a whole run: a resume refuses to change them."""

    fixed_options: ClassVar[tuple[str, ...]]
    """Names of those options: the tasks, or the trainer's checkpoints, depend on them."""


@runtime_checkable
class Checkable(Protocol):
    """A policy that can check its settings before it is used."""

    def check(self) -> None:
        """UserError for what is wrong, as far as that shows without loading a model or asking an endpoint."""


@runtime_checkable
class FitsPolicy(Protocol):
    """A trainer that can say whether its settings fit on any machine; a plan, which may be for another, asks it in `setup`'s place."""

    def fits(self, policy: Policy, run: "RunInfo", files: bool) -> None:
        """UserError for what can be told on any machine; `files`: the model's are on this one."""


@runtime_checkable
class HasUsage(Protocol):
    """A policy that costs something to ask."""

    def usage(self) -> Mapping[str, float]:
        """Counts since the policy was made: `calls`, `failed` calls among them, `prompt_tokens`, `completion_tokens`, `cost`, others."""


@runtime_checkable
class NeedsServices(Protocol):
    """A synthesizer or validator that asks a teacher, asks the policy in training, or lets a policy attempt tasks."""

    def bind_services(self, services: Services) -> None:
        """Called once, before the first use and before the run writes anything: raise UserError for what is missing."""


@runtime_checkable
class HasEstimate(Protocol):
    """A synthesizer whose work costs more than time on this machine; `coevolve run --dry-run` shows it."""

    def estimate(self, evolutions: int, wanted: int) -> str:
        """In one line, what `evolutions` that want `wanted` tasks each take at most: calls, tokens, cost."""
