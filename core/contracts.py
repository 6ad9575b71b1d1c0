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


class LightEpisode(Protocol):
    """What every episode must have; see Episode."""

    def step(self, text: str) -> Observation:
        """As `Episode.step`."""

    def score(self) -> float:
        """As `Episode.score`."""


class Episode(LightEpisode, AbstractContextManager["Episode"], Protocol):
    """One attempt at one task in a world of its own.

    An episode is a function of its task and the texts: the same texts lead to the same observations, state and score. One thread at a time
    uses it, not always the same one. An exception of any method, or a call that takes longer than the setting `step_timeout` (seconds), is
    an infrastructure fault of the rollout: it never becomes a score.

    | member | default of an episode that lacks it |
    |---|---|
    | step, score | required |
    | messages | one user message with the task's query |
    | tools | None |
    | snapshot, restore | the texts so far, replayed in a fresh episode (needed as a pair) |
    | state | a digest of the observations so far |
    | close, context manager | nothing is released; `close` and `__exit__` stand in for each other |
    """

    messages: Sequence[Message]
    """The conversation's start: system and first user message."""
    tools: Sequence[dict[str, Any]] | None
    """Tool schemas for the chat template; None when the messages describe the tools already."""

    def step(self, text: str) -> Observation:
        """Execute what the policy wrote. `text` is data: parse it, never evaluate it. Nonsense is an observation, not an exception."""

    def score(self) -> float:
        """The task's score in [0, 1] for what was done so far. It may be asked at any time and changes nothing."""

    def snapshot(self) -> Any:
        """An opaque copy of the whole episode, independent of what happens later. It never leaves the process."""

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot of this episode, which stays usable."""

    def state(self) -> str:
        """A digest of the world's state: equal exactly when the states are."""

    def close(self) -> None:
        """Release what the episode holds. Called once when it is over, also after a fault."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""


@runtime_checkable
class LightEnvironment(Component, Protocol):
    """What every environment must have; see Environment."""

    def tasks(self, split: str) -> Sequence[Task]:
        """As `Environment.tasks`."""

    def open(self, task: Task) -> LightEpisode:
        """As `Environment.open`."""


@runtime_checkable
class Environment(LightEnvironment, Protocol):
    """Where tasks are carried out. Its methods are pure, and safe to call from several threads at once.

    An exception out of `splits` or `tasks` stops the run before it writes anything (a UserError with its own text); out of any other
    method it is an infrastructure fault. `splits` and `tasks` have the setting `tasks_timeout` (seconds), all others `step_timeout`.

    | method | default of an environment that lacks it |
    |---|---|
    | tasks, open | required |
    | splits | the splits that the configuration names, else "train" and "test" |
    | describe | no tools, notes "" |
    | patterns | the names of the called tools |
    | script | one completion for each action: `{"name": "...", "arguments": {...}}`, the JSON of a function call |
    | keys | `actions`: digest of the query and the solution; `end_state`: digest of the solution (of the query without one) |
    | compose | none: a configuration with a synthesizer refuses the environment |

    `coevolve.core.environment_defaults` fills the defaults in where an environment is made. Policies that get function calls from an
    endpoint write them with `script`; an environment without one therefore parses that JSON in `Episode.step`.
    """

    def splits(self) -> tuple[str, ...]:
        """Names that `tasks` takes. Training and synthesis start from the split that the setting `train_split` names."""

    def tasks(self, split: str) -> Sequence[Task]:
        """The split's tasks, the same ones in the same order each time. Ids are unique within the environment."""

    def open(self, task: Task) -> Episode:
        """A fresh episode. Seed tasks and synthesized ones go through the same code."""

    def describe(self) -> Description:
        """The tools and notes for prompts and teachers."""

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        """Names of the action patterns in a trajectory, for the rare signal. Called for every rollout that has a score."""

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        """Completions that carry out `actions`, as a perfect policy would write them; the first of `script([a])` performs `a`."""

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        """A task that begins where `start` begins and is solved by the steps' actions, in the environment's own format.

        Without a `query` the environment words the request itself; None when it cannot. Where tasks have several user turns, the paragraphs
        of a `query` are the turns' requests.
        """

    def keys(self, task: Task) -> TaskKeys:
        """Keys that find duplicates and held-out tasks. It may execute the solution."""


@frozen
class WorkerSettings:
    """How many workers an executor runs, and how long core waits for them."""

    workers: int = field(default=1, validator=ge(1))
    retries: int = field(default=3, validator=ge(0))
    """How often a call is repeated on another worker when its own is lost, and how often in a row the start of a worker is repeated."""
    start_timeout: float = field(default=60.0, validator=gt(0))
    """Seconds until a worker must have its environment ready. In a cluster without room for the worker they pass in vain."""


class EnvironmentSource(Protocol):
    """A picklable recipe for the environment of a run: the worker builds the environment from it."""

    def build(self) -> Callable[[bytes], bytes]:
        """The function that answers a worker's requests, one at a time. It returns at once and never raises: errors are answers too."""


class Worker(Protocol):
    """The connection to one worker. One thread at a time asks it."""

    def ask(self, request: bytes, timeout: float) -> bytes:
        """Send a request and return the answer that the function of `EnvironmentSource.build` gives on the worker.

        Raises WorkerLost when the worker is gone, and TimeoutError without an answer within `timeout` seconds; core then stops and replaces
        the worker.
        """

    def stop(self, grace: float) -> None:
        """End the worker and all that it started: by itself within `grace` seconds, else by force. Harmless when it is gone.

        With a grace of 0 it may be called while another thread asks; that thread gets WorkerLost.
        """


@runtime_checkable
class Executor(Component, Protocol):
    """Runs the environment in workers outside of this process. Core replaces workers that are lost."""

    def open(self) -> WorkerSettings:
        """Called once, before the first worker. UserError for what the user can mend (an unknown cluster, a missing library)."""

    def worker(self, source: EnvironmentSource) -> Worker:
        """Start one more worker and return without waiting for it; it then waits for its first request. Called from any thread."""

    def close(self) -> None:
        """Release what `open` took. Called once, when all workers are stopped, also when `open` failed."""


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
    """An inference engine: conversations in, completions out. The same episode code drives every engine.

    An option named `model` of its Options is the path or the name of its model: evaluations print it, `coevolve eval --model` sets it, and
    the trained policy of a run is opened by it.
    """

    def begin(self, task: Task, messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None, row: int) -> Conversation:
        """Start a conversation; `row` tells rollouts of one batch apart and feeds the random draw."""

    def complete(self, conversations: Sequence[Conversation], sampling: Sampling) -> Sequence[str | InfrastructureFault | None]:
        """Sample the next completion of each conversation, in lockstep; append it to its `messages` and `tokens`; return the texts.

        None means that this conversation has no room left for a completion (a policy fault), an InfrastructureFault that the engine failed
        for this one alone (its rollout has no score). A failure of the whole engine raises.
        """


class LoopState(Protocol):
    """What a trainer sees of the loop. Each iteration: `rollout`, then `finish_iteration`, then `commit` if that returned True."""

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
        """Prepare to train `policy`; UserError for a policy that cannot be trained, or for numbers that do not fit together.

        Where `run.planned`, only check, and only what holds on any machine.
        """

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
        """`count` tasks, distinct while the pool has enough.

        Asked for the batch of an iteration, and with the setting `refill` again for each round of further tasks: then with the same
        history, a pool without the tasks that the iteration has tried, and random numbers of its own.
        """


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

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        """Judge a candidate that no validator before this one refused.

        `pool` holds the tasks that were admitted, and the candidates of the same wave that came before this one and that no validator has
        refused so far. A later validator may still refuse such a candidate; what was refused as a copy of it stays refused. A validator
        with `validate_all` (`optional.ValidatesTogether`) gets a pool without candidates of the wave.
        """


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
    planned: bool
    """True when `coevolve plan` asks: check what holds on any machine; the model's files may be elsewhere."""


KINDS: dict[str, type] = {
    "environment": LightEnvironment,
    "signal": SignalDetector,
    "synthesizer": Synthesizer,
    "validator": Validator,
    "trainer": Trainer,
    "sampler": Sampler,
    "policy": Policy,
    "executor": Executor,
}
"""Kinds of components by the singular of their hook's name."""
