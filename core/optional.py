"""What a component may offer beside its contract, or ask for.

All are optional. Core detects them by method name; a component that lacks one still works.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from attrs import frozen

from .contracts import Environment, Policy
from .errors import InfrastructureFault
from .model import Action, CandidateTask, Message, RolloutGroup, Sampling, Task, TaskPool, Trajectory, Verdict
from .services import Services


@runtime_checkable
class HasMetrics(Protocol):
    """An episode with figures beside its score (the share of tests that pass, an official score beside a strict one)."""

    def metrics(self) -> Mapping[str, float]:
        """Figures by name. Called once, after `score`; evaluations print their means over the rollouts."""


@runtime_checkable
class HasProgress(Protocol):
    """An episode that knows how much of its task was done; without it the calls are compared with those of the task's solution."""

    def progress(self) -> float:
        """The share that was done, in [0, 1], as the world stands now. Called once, after `score`.

        Progress that nothing but a success can reach tells failed rollouts apart best. The rollout's progress is 1 where it succeeded,
        whatever this returns, and at most 0.99 where it failed. Where this raises, returns anything else or passes the deadline
        `step_timeout`, a failed rollout has no progress and keeps its score; a warning is logged.
        """


@runtime_checkable
class HasVisibleState(Protocol):
    """An episode that can show its world, so that a reader of a task sees what its solution changes (`coevolve judge`)."""

    def visible_state(self) -> Any:
        """The world as JSON values: what a user would look at, without what is random or internal. It changes nothing.

        The reader is shown how it differs between the start and the end, so a large world may return what was changed alone.
        """


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


@runtime_checkable
class HasAnswerBudget(Protocol):
    """A class of environments that knows how long an answer has to be: settings without `max_new_tokens` take this number."""

    @classmethod
    def answer_budget(cls, options: Any) -> int:
        """Tokens that one answer may need in an environment with these options."""


@frozen
class Goal:
    """What a user could want in one world: the request, and calls that fulfil it there."""

    kind: str
    """What is wanted, by the environment's own names of goals, joined by " + " where the user wants several things in turn."""
    query: str
    """The request, one paragraph for each user turn, with an empty line between two of them."""
    actions: tuple[Action, ...]
    """Calls that fulfil the request, each with the number of its turn. Their arguments are literals that hold in this world."""


@runtime_checkable
class HasGoals(Protocol):
    """An environment that knows what its users want, so that a synthesizer without an LLM can make tasks worth solving."""

    def goals(self, start: Task, seed: int, count: int, after: Sequence[Action] = ()) -> Sequence[Goal]:
        """Up to `count` different goals in the world in which `start` begins, once the calls `after` were made there.

        A pure function of its arguments. Empty where the environment knows none for this world. The turns of the actions count from 0.
        """


@runtime_checkable
class HasVariants(Protocol):
    """An environment whose benchmark has tasks of several kinds, of which one can be made from the other."""

    def variants(self, task: Task, seed: int) -> Sequence[Task]:
        """Other kinds of `task` (with a function that comes late, with a value that the user leaves out first, with more data).

        `Origin.detail["variant"]` names the kind; ids and the rest of the origins are the synthesizer's to give. A pure function.
        """


@runtime_checkable
class FindsCopies(Protocol):
    """An environment that knows more of held-out tasks without a known solution than their requests."""

    def copied(self, task: Task, held_out: Sequence[Task]) -> str | None:
        """The id of a task of `held_out` that `task` is in other words, or with other values; None where there is none.

        None of `held_out` has a known solution; those that have one are compared by their keys.
        """


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
class CountsCutAnswers(Protocol):
    """A conversation that knows which of its answers did not end by themselves. Evaluations report their number."""

    cut: int
    """Answers so far that ended at the limit of tokens."""


@runtime_checkable
class StreamsCompletions(Protocol):
    """A policy that reports each completion as it ends: the environment steps while the other completions are still sampled."""

    def complete_streaming(
        self, conversations: Sequence[Any], sampling: Sampling, on_completion: Callable[[int, str], None]
    ) -> Sequence[str | InfrastructureFault | None]:
        """As `Policy.complete`, and with the same results; calls `on_completion(n, text)` at most once for conversation number n.

        Call `on_completion` from the thread of this call, when the text is in the conversation's `messages` and `tokens`.
        """


@runtime_checkable
class NeedsEnvironment(Protocol):
    """A policy that must know the environment (to play its solutions, say)."""

    def bind(self, environment: Environment) -> None:
        """Called once, before the first conversation. The environment's methods are thread-safe."""


@frozen
class ModelSettings:
    """Which model a policy with weights samples from."""

    model: str
    """Its name, as the option `model` holds it: a folder, a name on the hub."""
    max_context: int = 0
    """Tokens of a whole conversation; 0 is the model's own limit."""
    dtype: str = "auto"
    """"float32", "bfloat16", or "auto" for what suits the device."""
    device: str = "auto"
    """A torch device, or "auto" for the first GPU, else the CPU."""
    cache_gb: float = 0.0
    """GB that an engine with its own copy of the weights keeps for keys and values; 0: it samples from the live model, without a copy."""


@runtime_checkable
class HasWeights(Protocol):
    """A policy that can be trained: its model can be loaded here, and its engine gives the token ids and log-probabilities it sampled.

    A policy whose conversations give no token ids must not offer this: text that is tokenised again is not what was sampled.
    """

    quantize: str
    """How `model` loads its weights, as in `load`. A trainer sets it before the first use, so that what is sampled is what it trains."""

    @property
    def model_settings(self) -> ModelSettings:
        """Which model it is, as the settings name it. Opens no file."""

    @property
    def model(self) -> Any:
        """The policy's own model, which it samples from outside of training; loaded at first use."""

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer, with pad and end token."""

    @property
    def placement(self) -> tuple[str, Any]:
        """Device and dtype that the model computes in."""

    def check(self) -> None:
        """UserError for what is wrong with files, chat template or device, as far as that shows without loading the weights."""

    def config_file(self) -> Path | None:
        """The model's config.json, found without asking the network; None: the model is on the hub and not on this machine.

        UserError for a name that cannot be a model's.
        """

    def skeleton(self) -> Any:
        """The model's modules without weights, on torch's meta device."""

    def load(self, dtype: Any = None, quantize: str = "", device: str = "") -> Any:
        """Another copy of the model, for the trainer.

        `dtype`: a torch dtype of the weights, None for that of `placement`. `quantize`: "4bit" freezes them in four bits and computes in
        `dtype`, "" keeps them whole. `device`: where they lie, "" for that of `placement`.
        """

    def over(self, model: Any) -> Policy:
        """The policy that samples from `model`, a live one, as it is at each completion."""

    def take_weights(self) -> None:
        """The live model has changed: an engine with a copy of the weights copies them before it samples again.

        Called before the first rollout of a training and after each update. Does nothing where the engine samples from the live model.
        """

    def release(self) -> None:
        """The rollouts of an iteration are over: give back memory that the update can use."""


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
class ChecksMessages(Protocol):
    """A policy that can tell, before the first rollout, whether it would read all that an environment says."""

    def check_messages(
        self, openings: Sequence[tuple[Sequence[Message], Sequence[Mapping[str, Any]] | None]], replies: Sequence[Sequence[Message]]
    ) -> None:
        """UserError where a part would be refused or left out.

        `openings` are the first messages of episodes with their tools, `replies` the messages of observations, one of each kind.
        """


@runtime_checkable
class HasUsage(Protocol):
    """A policy that costs something to ask."""

    def usage(self) -> Mapping[str, float]:
        """Counts since the policy was made: `calls`, `failed` calls among them, `prompt_tokens`, `completion_tokens`, `cost`, others."""


@runtime_checkable
class HasReward(Protocol):
    """A trainer that maximises something else than the score, such as a mixture of score and progress.

    A group of rollouts teaches something where their rewards differ: `refill` and the notice of a run that learns nothing go by that.
    """

    def reward(self, trajectory: Trajectory) -> float | None:
        """What the update maximises; None without a score. A function of the trajectory and the trainer's options."""


@runtime_checkable
class NeedsServices(Protocol):
    """A synthesizer or validator that asks a teacher, asks the policy in training, or lets a policy attempt tasks."""

    def bind_services(self, services: Services) -> None:
        """Called once, before the first use and before the run writes anything: raise UserError for what is missing."""


TEACHER = "teacher"
"""The name under which `Services.attempts` knows the model behind the run's synthesizer."""


@runtime_checkable
class HasReader(Protocol):
    """A synthesizer whose teacher may attempt tasks, in a fresh conversation, as a reader who sees only the request."""

    def reader(self) -> tuple[str, Mapping[str, Any]]:
        """Name and options of the policy that attempts tasks as the teacher would; the name "" is the policy in training."""


@runtime_checkable
class ValidatesTogether(Protocol):
    """A validator that judges several candidates at once: attempts of a policy at all of them are one batch of rollouts."""

    def validate_all(
        self, candidates: Sequence[CandidateTask], environment: Environment, pool: TaskPool, held_out: Sequence[Task]
    ) -> Sequence[Verdict]:
        """One verdict for each candidate, in their order: those that `validate` gives. `pool` holds none of the candidates.

        Where an InfrastructureFault ends it, `validate` is asked for one candidate after the other, so that the fault refuses only the
        candidate that it concerns. Attempts of the policy in training that were made before the fault are kept, stored and counted.
        Anything but a verdict for each candidate stops the run (UserError).
        """


@runtime_checkable
class Repairs(Protocol):
    """A synthesizer that repairs refused candidates. The loop gives each one back to it at most `repairs` times (a setting)."""

    def repair(self, candidate: CandidateTask, verdict: Verdict, environment: Environment, rng: random.Random) -> CandidateTask | None:
        """A candidate in place of the refused one, under an id that no other one has; None where there is none.

        `verdict` has one of the reasons in `refusals.REPAIRABLE`. Request and solution may both change: for a reason in
        `refusals.WORDING` another request for the same solution may do, the others lie in the solution. Return None for reasons that the
        synthesizer cannot repair. `verdict.attempts` has the policy's attempts where the refusal rests on them. The result is judged like
        any candidate; the loop, and nobody else, writes the id of the refused one into its `Origin.detail["repaired"]`.
        """


@frozen
class PlannedRun:
    """A run that is planned and not started, for `HasEstimate`."""

    steps: int
    """Iterations in all."""
    batch: int
    """Tasks of an iteration."""
    rollouts: int
    """K: rollouts of a task."""
    max_concurrent_rollouts: int
    """Rollouts of a process at once; 0: all."""
    evolutions: int
    """Evolutions in the whole run."""
    wanted: int
    """Tasks that an evolution may admit at most."""
    candidates: int
    """Candidates of the synthesizer validated in all evolutions at most, without repaired ones."""
    policy: Any
    """The policy, made and not used; `Trainer.setup` has accepted it."""
    processes: int = 1
    """Number of GPUs, each with a process of its own, that the user asks about beside one."""
    initial: int = 0
    """Tasks that the synthesizer makes before the first iteration; `candidates` counts those tried for them too."""
    here: bool = False
    """Whether the run is to be on this machine; otherwise the model's files may be elsewhere."""
    repairs: int = 0
    """How often a refused candidate may go back to the synthesizer; 0 for a synthesizer that repairs none."""

    @property
    def syntheses(self) -> int:
        """How often the synthesizer is asked: in each evolution, and for the initial tasks where it makes them."""
        return self.evolutions + bool(self.initial)

    @property
    def judged(self) -> int:
        """Candidates validated at most, with those that the synthesizer repaired."""
        return self.candidates * (1 + self.repairs)


@frozen
class PlannedAttempts:
    """The attempts at one candidate that a validator asks for at most, for `HasAttempts`."""

    policy: str
    """Who attempts, as in `Services.attempts`; "" is the policy in training."""
    count: int
    temperature: float


@runtime_checkable
class HasAttempts(Protocol):
    """A validator that lets a policy attempt candidates; `coevolve plan` counts the episodes."""

    def attempts_at_most(self) -> PlannedAttempts:
        """The attempts at one candidate. Validators that ask for the same attempts of the policy in training share them."""


@runtime_checkable
class HasEstimate(Protocol):
    """A component that can estimate what a run will take: time, memory, calls, cost. Trainers, synthesizers and validators are asked."""

    def estimate(self, plan: PlannedRun) -> Sequence[str]:
        """Lines for the user, which `coevolve plan` and `coevolve run --dry-run` print. Must load no model and ask no endpoint."""
