"""The domain in the paper's words: tasks, trajectories, rollout groups, signals, the task pool D_t and the history.

Everything here is frozen: a change makes a new object, so what was stored is what happened. Objects may be shared between threads.
`messages` are chat messages, dictionaries with at least `role` and `content`. They and every `payload`, `arguments`, `result` and
`evidence` hold JSON values only.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from math import fsum
from typing import Any

from attrs import field, frozen

SUCCESS = 0.5
"""Scores of at least this value are successes (paper, section on signals)."""

Message = Mapping[str, Any]


@frozen
class Action:
    """One call of one tool. `turn` is the user turn that it belongs to, counted from 0; environments with one turn keep it 0."""

    name: str
    arguments: Mapping[str, Any] = field(factory=dict)
    turn: int = 0


@frozen
class Step:
    """An action and what came of it."""

    action: Action
    observation: str
    """The text that the policy saw."""
    result: Any = None
    """The JSON value behind the text."""
    error: str | None = None
    """Why the call failed; None when it succeeded."""
    inner: bool = False
    """Whether the code of an earlier step did it (a block of code that called APIs): it is not an action of its own."""


@frozen
class Origin:
    """Where a task came from: `kind` is "seed" or the synthesizer's name, the other fields are its lineage."""

    kind: str = "seed"
    iteration: int = 0
    signal: str | None = None
    """Id of the signal that led to it."""
    parents: tuple[str, ...] = ()
    """Ids of the tasks that it was made from."""
    detail: Mapping[str, Any] = field(factory=dict)


@frozen
class Task:
    """Intent, query and solution in one environment."""

    id: str
    """Unique within the environment."""
    environment: str
    """Name of the environment that it belongs to."""
    query: str
    """The request as the policy reads it."""
    intent: str = ""
    """What the user wants, in words; for people and for the synthesizer."""
    solution: tuple[Action, ...] = ()
    """The actions of a known solution; empty for none."""
    payload: Mapping[str, Any] = field(factory=dict)
    """What the environment needs to open the task: an initial state, a goal, turns."""
    origin: Origin = Origin()


@frozen
class TaskKeys:
    """Keys that find equal tasks. Equal `actions`, or an equal `end_state` (which includes the answer), make a duplicate.

    `family` names the kind of task that the held-out split keeps for itself; None where the environment has no such notion.
    """

    actions: str
    """Digest of the calls that solve it."""
    end_state: str
    """Digest of the world and the answer that its solution ends with."""
    family: str | None = None


@frozen
class Tool:
    """A tool as JSON schemas. `format` in a schema's property names the kind of value (an id, a date), where it is known."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of the arguments: {"type": "object", "properties": {...}, "required": [...]}."""
    returns: Mapping[str, Any] | None = None
    """JSON schema of the result, where the environment knows it."""
    group: str = ""
    """The app or class that the tool belongs to."""


@frozen
class Description:
    """The tools and notes of an environment, for prompts and teachers."""

    tools: tuple[Tool, ...]
    notes: str = ""


@frozen
class Observation:
    """What the environment answers to one completion."""

    messages: tuple[Message, ...] = ()
    """What the policy reads next, such as the result of its call; none where the episode is over."""
    steps: tuple[Step, ...] = ()
    """The actions that the text performed; none where it was not a call."""
    done: bool = False
    """Whether the episode is over; no `step` follows."""
    fault: str | None = None
    """What the policy did wrong (text that is not a call, too many steps); such an episode still gets the environment's score."""


@frozen
class Tokens:
    """A conversation as it was sampled, never tokenised again.

    `completion_ids`, `mask` and `logprobs` have equal length. `mask` is 1 for the policy's tokens, 0 for the environment's;
    `logprobs` holds the sampled log-probability of the policy's tokens and 0.0 elsewhere.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...]


class Outcome(StrEnum):
    """How a rollout ended. Only an infrastructure fault has no score."""

    COMPLETED = "completed"
    POLICY_FAULT = "policy_fault"
    INFRASTRUCTURE_FAULT = "infrastructure_fault"


@frozen
class Trajectory:
    """One rollout of one task. `score` is in [0, 1], None exactly for an infrastructure fault; `fault` says what went wrong."""

    task_id: str
    iteration: int
    index: int
    messages: tuple[Message, ...]
    steps: tuple[Step, ...]
    outcome: Outcome
    score: float | None
    fault: str | None = None
    patterns: tuple[str, ...] = ()
    tokens: Tokens | None = None
    metrics: Mapping[str, float] = field(factory=dict)
    """The environment's figures beside the score, by name."""
    cut: int = 0
    """Answers that ended at the limit of tokens instead of by themselves; 0 also where the policy cannot tell."""
    progress: float | None = None
    """How much of the task was done, in [0, 1], where that is known; the score says whether it was done."""

    @property
    def success(self) -> bool:
        return self.score is not None and self.score >= SUCCESS


@frozen
class RolloutGroup:
    """The K trajectories of one task in one iteration."""

    task: Task
    iteration: int
    trajectories: tuple[Trajectory, ...]

    @property
    def scores(self) -> tuple[float, ...]:
        """Scores of the rollouts that have one."""
        return tuple(t.score for t in self.trajectories if t.score is not None)

    @property
    def mean(self) -> float | None:
        """The task's "score now": the mean over its rollouts, None when all of them were infrastructure faults."""
        return sum(self.scores) / len(self.scores) if self.scores else None

    @property
    def progress(self) -> float | None:
        """The mean progress over the scored rollouts that know theirs; None where none does."""
        return known_progress(self.trajectories)


def known_progress(trajectories: Iterable[Trajectory]) -> float | None:
    """The mean progress of those trajectories that have a score and know it; None where none does."""
    known = [t.progress for t in trajectories if t.score is not None and t.progress is not None]
    return fsum(known) / len(known) if known else None


@frozen
class Signal:
    """A weakness read off the rollouts. `strength` is in [0, 1]; `evidence` says what was seen."""

    kind: str
    task_id: str
    iteration: int
    strength: float
    evidence: Mapping[str, Any] = field(factory=dict)

    @property
    def id(self) -> str:
        return f"{self.kind}:{self.iteration}:{self.task_id}"


@frozen
class ExplorationContext:
    """The instructions for the exploration around a signal: where the agent fails, why, and what to try."""

    signal: Signal | None
    weakness: str
    targets: tuple[str, ...] = ()
    """What to try, in the explorer's own terms (tools, links between tools, instructions)."""


@frozen
class CandidateTask:
    """A task that was found and not yet validated, with the exploration steps that it was abstracted from."""

    task: Task
    context: ExplorationContext | None = None
    exploration: tuple[Step, ...] = ()
    calls: tuple[str, ...] = ()
    """Keys of the teacher calls (`TeacherCall.key`) behind it, in order."""
    refused: "Verdict | None" = None
    """The synthesizer's own refusal, such as for a teacher's reply that cannot be read. The candidate is stored and counted
    like other refused ones; no validator runs."""


@frozen
class Verdict:
    """A validator's decision. `reason` is "accepted" or a reason code (refusals.Reason); `detail` names the particulars."""

    accepted: bool
    reason: str
    detail: str = ""
    task: Task | None = None
    """The task as it is to be stored, when an accepting validator made it better (a shorter solution); it keeps its id."""
    attempts: RolloutGroup | None = None
    """Rollouts of the policy in training on the candidate that the verdict rests on. They are stored, and counted as attempts at the door;
    those of an admitted task are its first entry in the history."""


class Unsent(StrEnum):
    """Why a request to a teacher was never sent."""

    NO_KEY = "no_key"
    """The endpoint needs a key, and there is none or it is not usable."""
    BUDGET = "budget"
    """The budget has no room for the call."""
    DOWN = "down"
    """The endpoint failed too often in a row."""


@frozen
class TeacherCall:
    """One attempt to have a teacher answer, as it is kept. Exactly one of `reply` and `fault` is None.

    `key` names the request within the run ("20/explore/3/2", say): the same key always stands for the same request, whatever the order
    in which requests that run at once are sent, so that a run can be replayed from its calls. Attempts at one request share the key.
    """

    key: str
    iteration: int
    purpose: str
    """What the request is for ("reflect", "explore", ...); calls, tokens and cost are counted by purpose."""
    model: str
    request: Mapping[str, Any]
    """Messages, schema and sampling, without anything secret."""
    reply: str | None = None
    """The raw text, whether it could be parsed or not."""
    fault: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """In the currency of the configured prices."""
    seconds: float = 0.0
    unsent: Unsent | None = None
    """Why nothing was sent, so that a replay sends nothing either; None when it was sent."""

    @property
    def sent(self) -> bool:
        return self.unsent is None

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@frozen
class Attempt:
    """A task's score at one time: the mean over its K rollouts in an iteration, or over its attempts at the door (`History.door`)."""

    iteration: int
    score: float
    rollouts: int = 0
    """K: how many rollouts have a score; 0 where nobody counted."""
    progress: float | None = None
    """Mean progress over those rollouts that know it; None where none does."""


@frozen
class History:
    """H: every task's attempts in order, and how many trajectories held each action pattern, over the whole training."""

    attempts: Mapping[str, tuple[Attempt, ...]] = field(factory=dict)
    patterns: Mapping[str, int] = field(factory=dict)
    door: Mapping[str, Attempt] = field(factory=dict)
    """The attempts at the door, of tasks that were candidates. They stand apart from `attempts`: they are fewer than K, and the door
    admitted the task because of them, so they would bias what is read off the history."""

    @property
    def observations(self) -> int:
        """N: all pattern observations so far."""
        return sum(self.patterns.values())

    def recent(self, task_id: str, before: int, window: int) -> tuple[Attempt, ...]:
        """H_recent: the task's last `window` attempts before iteration `before`."""
        return tuple(a for a in self.attempts.get(task_id, ()) if a.iteration < before)[-window:] if window > 0 else ()

    def with_groups(self, groups: Iterable[RolloutGroup]) -> "History":
        """The history after `groups`. Infrastructure faults do not enter it."""
        attempts, patterns = dict(self.attempts), dict(self.patterns)
        for group in groups:
            if group.mean is None:
                continue
            now = Attempt(group.iteration, group.mean, len(group.scores), group.progress)
            attempts[group.task.id] = (*attempts.get(group.task.id, ()), now)
            for trajectory in group.trajectories:
                if trajectory.score is not None:
                    for pattern in set(trajectory.patterns):
                        patterns[pattern] = patterns.get(pattern, 0) + 1
        return History(attempts, patterns, self.door)

    def with_door(self, groups: Iterable[RolloutGroup]) -> "History":
        """The history after candidates were admitted because of the attempts in `groups`, of which those without any score do not enter."""
        door = dict(self.door)
        for group in groups:
            if group.mean is not None:
                door[group.task.id] = Attempt(group.iteration, group.mean, len(group.scores), group.progress)
        return History(self.attempts, self.patterns, door)


@frozen
class TaskPool:
    """D_t: the tasks that training samples from; `version` counts its changes."""

    tasks: tuple[Task, ...]
    version: int = 0

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    def with_tasks(self, tasks: Sequence[Task]) -> "TaskPool":
        """D_{t+1}: this pool with `tasks` added; this very pool when there are none."""
        return TaskPool((*self.tasks, *tasks), self.version + 1) if tasks else self


@frozen
class Feedback:
    """A synthesizer's input at an evolution: the signals, the rollouts since the last evolution, the history and the pool."""

    iteration: int
    signals: tuple[Signal, ...]
    groups: tuple[RolloutGroup, ...]
    history: History
    pool: TaskPool
    wanted: int
    """Number of admitted tasks that ends this evolution."""


@frozen
class Sampling:
    """How to sample completions. Temperature 0 is greedy. `seed` makes the draw a function of (seed, row, token)."""

    temperature: float = 1.0
    max_new_tokens: int = 256
    seed: int = 0
