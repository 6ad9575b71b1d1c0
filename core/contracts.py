"""What each kind of component must offer. A component is a class with a `name` and an attrs class `Options`; it is made as `cls(options)`.

Options come from the component's own table of the run's configuration; unknown keys are refused before anything starts.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Protocol, runtime_checkable

from attrs import field, frozen
from attrs.validators import ge, gt

from .errors import InfrastructureFault
from .model import (
    Action,
    CandidateTask,
    Description,
    Feedback,
    History,
    Message,
    Observation,
    RolloutGroup,
    Sampling,
    Signal,
    Step,
    Task,
    TaskKeys,
    TaskPool,
    Tokens,
    Trajectory,
    Verdict,
)


class Component(Protocol):
    """Common to all kinds."""

    name: ClassVar[str]
    Options: ClassVar[type[Any]]


class Episode(AbstractContextManager["Episode"], Protocol):
    """One attempt at one task in a world of its own. Any exception out of it is an infrastructure fault, never a score."""

    messages: Sequence[Message]
    """The conversation's start: system and first user message."""
    tools: Sequence[dict[str, Any]] | None
    """Tool schemas for the chat template; None when the prompt already tells the tools."""

    def step(self, text: str) -> Observation:
        """Execute what the policy wrote. `text` is data: parse it, never evaluate it. Nonsense is an observation, not an exception."""

    def score(self) -> float:
        """The task's score in [0, 1] for what was done so far."""

    def snapshot(self) -> Any:
        """An opaque copy of the whole episode, independent of what happens later."""

    def restore(self, snapshot: Any) -> None:
        """Go back to `snapshot`, which stays usable."""

    def state(self) -> str:
        """A digest of the world's state: equal exactly when the states are."""

    def close(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


@runtime_checkable
class Environment(Component, Protocol):
    """Where tasks are carried out. Pure apart from its episodes; safe to call from several threads."""

    def splits(self) -> tuple[str, ...]:
        """Names that `tasks` takes; "train" is where training and synthesis may start."""

    def tasks(self, split: str) -> Sequence[Task]: ...

    def open(self, task: Task) -> Episode:
        """A fresh episode; seed tasks and synthesized ones go through the same code."""

    def describe(self) -> Description: ...

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        """Names of the action patterns in a trajectory, for the rare signal."""

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        """Completions that carry out `actions`, as a perfect policy would write them; the first of `script([a])` performs `a`."""

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        """A task that begins where `start` begins and is solved by the steps' actions, in the environment's own format.

        Without a `query` the environment words the request itself; None when it cannot. Where tasks have several user turns, the paragraphs
        of a `query` are the turns' requests.
        """

    def keys(self, task: Task) -> TaskKeys:
        """Keys for finding duplicates and held-out tasks; may execute the solution."""


@frozen
class WorkerSettings:
    """How many workers there are to be, and how long to bear with them."""

    workers: int = field(default=1, validator=ge(1))
    retries: int = field(default=3, validator=ge(0))
    """How often a call is repeated on another worker when the one that carried it out is lost, and how often in a row a worker's start."""
    start_timeout: float = field(default=60.0, validator=gt(0))
    """Seconds in which a worker must have its environment ready; a cluster without room for it counts as one that has not."""


class EnvironmentSource(Protocol):
    """Can be pickled, and makes the environment of a run where it is unpickled."""

    def build(self) -> Callable[[bytes], bytes]:
        """The function that answers a worker's requests, one at a time. It returns at once and never raises: errors are answers too."""


class Worker(Protocol):
    """The near end of one worker. One thread at a time asks it."""

    def ask(self, request: bytes, timeout: float) -> bytes:
        """What the function of `EnvironmentSource.build` answers over there.

        WorkerLost when the worker is gone, TimeoutError when there is no answer within `timeout` seconds; it is then stopped and replaced.
        """

    def stop(self, grace: float) -> None:
        """End the worker and all that it started: let it finish within `grace` seconds, else by force. Harmless when it is gone.

        With no grace it may be called while another thread asks, which then gets WorkerLost.
        """


@runtime_checkable
class Executor(Component, Protocol):
    """Has the environment's work done by workers outside of this process. The loop replaces workers that are lost."""

    def open(self) -> WorkerSettings:
        """Make ready, once, before the first worker. UserError for what the user can mend (no such cluster, a library that is missing)."""

    def worker(self, source: EnvironmentSource) -> Worker:
        """Begin to start one more worker and return without waiting for it; it then waits for its first request. From any thread."""

    def close(self) -> None:
        """All workers are stopped: let go of what `open` took. Called once, also when `open` failed."""


class Conversation(Protocol):
    """One episode's text as a policy holds it."""

    messages: list[Message]

    @property
    def tokens(self) -> Tokens | None:
        """What was sampled so far; None for engines that give no token ids."""

    def observe(self, messages: Sequence[Message]) -> None:
        """Append the environment's messages, as a suffix: sampled ids stay untouched."""


@runtime_checkable
class Policy(Component, Protocol):
    """An inference engine: conversations in, completions out. The same episode code drives every engine."""

    def begin(self, task: Task, messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None, row: int) -> Conversation:
        """Start a conversation; `row` tells rollouts of one batch apart and feeds the random draw."""

    def complete(self, conversations: Sequence[Conversation], sampling: Sampling) -> Sequence[str | InfrastructureFault | None]:
        """Sample the next completion of each conversation, in lockstep; append it to its `messages` and `tokens`; return the texts.

        None means that this conversation has no room left for a completion (a policy fault), an InfrastructureFault that the engine failed
        for this one alone (its rollout has no score). A failure of the whole engine raises.
        """


class LoopState(Protocol):
    """What a trainer sees of the loop; it calls these three in this order, once an iteration."""

    @property
    def iteration(self) -> int:
        """Iterations already done (after a resume: those of the checkpoint)."""

    @property
    def steps(self) -> int:
        """Iterations to do in all."""

    def rollout(self, policy: Policy, iteration: int) -> list[RolloutGroup]:
        """Sample this iteration's tasks from the live pool, roll each out K times, store the groups, return them in the tasks' order."""

    def finish_iteration(self, iteration: int, metrics: dict[str, float]) -> bool:
        """Call once the update is done: evolves and evaluates when it is time. True: save a checkpoint now, then call `commit`."""

    def commit(self, iteration: int, folder: Path) -> None:
        """The trainer's files are complete in `folder`: make this checkpoint the one that a resume goes on from."""


@runtime_checkable
class Trainer(Component, Protocol):
    """Updates the policy from rollout groups."""

    def setup(self, policy: Policy, run: "RunInfo") -> None:
        """Load what is needed for training `policy`; raise UserError for a model that cannot be trained."""

    def train(self, loop: LoopState, resume_from: Path | None) -> None:
        """Do `loop.steps - loop.iteration` iterations, from the state in `resume_from`, a folder that `commit` was called with.

        With none left to do it only takes up that state, so that `policy` and `save_policy` give the policy as trained.
        """

    def policy(self) -> Policy:
        """The policy as trained so far, for evaluation; valid inside `loop.finish_iteration` and after `train`."""

    def save_policy(self, folder: Path) -> None:
        """Write the trained policy so that `policy.model = folder` loads it."""


@runtime_checkable
class Sampler(Component, Protocol):
    """The curriculum: picks tasks. A pure function of its arguments, so that a resume picks the same ones."""

    def pick(self, pool: TaskPool, history: History, count: int, rng: random.Random) -> list[Task]:
        """`count` tasks, distinct while the pool has enough."""


@runtime_checkable
class SignalDetector(Component, Protocol):
    """Reads weakness signals off rollouts. Pure: it can be replayed over a stored run without a model."""

    def detect(self, groups: Sequence[RolloutGroup], history: History) -> list[Signal]:
        """`groups` are the rollouts since the last evolution in order; `history` already holds them."""


@runtime_checkable
class Synthesizer(Component, Protocol):
    """Explores the environment and abstracts what it finds into tasks."""

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        """Yield candidates until nothing more is found; the loop stops asking when it has admitted enough."""


@runtime_checkable
class Validator(Component, Protocol):
    """The pool's door: a task earns its place by execution."""

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict: ...


class RunInfo(Protocol):
    """The settings of a run that a trainer needs."""

    seed: int
    steps: int
    batch: int
    """Tasks an iteration."""
    rollouts: int
    """K: rollouts a task."""
    temperature: float
    """Of the rollouts' sampling."""
    folder: Path


KINDS: dict[str, type] = {
    "environment": Environment,
    "signal": SignalDetector,
    "synthesizer": Synthesizer,
    "validator": Validator,
    "trainer": Trainer,
    "sampler": Sampler,
    "policy": Policy,
    "executor": Executor,
}
"""Kinds of components by the singular of their hook's name."""
