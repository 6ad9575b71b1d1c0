"""Rollouts: a policy acts in many episodes at once, in lockstep; every error is attributed to the environment or to the policy.

A policy may pass on each completion as it ends (`StreamsCompletions`): the environment executes it while the other completions are still
being written. No episode begins its next turn before all have finished this one, so what is sampled does not depend on timing.

Exceptions and timeouts of the environment are infrastructure faults (no score). A text that leads nowhere is a policy fault (the
environment's score counts). An exception of the policy's engine ends the rollouts: without an engine nothing can go on.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import attrs
from attrs import define, field, frozen

from ..contracts import Conversation, Environment, Episode, Policy
from ..errors import InfrastructureFault
from ..isolation.checked_environment import checked
from ..isolation.deadlines import CallBatch, DeadlinePool
from ..model import SUCCESS, Observation, Outcome, RolloutGroup, Sampling, Step, Task, Trajectory
from ..optional import CountsCutAnswers, HasMetrics, HasProgress, StreamsCompletions
from ..randomness import derive
from ..record.timing import Clock
from ..settings.config import Config
from ..text import error_line
from ..workers.remote_environment import lost_workers, worker_limits
from .progress import References, executed, settled, share

logger = logging.getLogger(__name__)


@frozen
class RolloutLimits:
    """Bounds of rollouts, as the configuration sets them."""

    max_completions: int = 200
    """Completions of one episode."""
    timeout: float = 30.0
    """Seconds for one call of the environment."""
    workers: int = 1
    """Threads that call the environment."""
    max_concurrent: int = 0
    """Rollouts at once; 0: all."""

    @classmethod
    def of(cls, config: Config, environment: Environment) -> "RolloutLimits":
        """The configured limits. An executor's workers keep their own, shorter deadlines, and want more threads to be busy."""
        limits = cls(config.max_completions, config.step_timeout, config.workers, config.max_concurrent_rollouts)
        found = worker_limits(environment)
        return limits if found is None else attrs.evolve(limits, timeout=found[0], workers=max(limits.workers, found[1]))


def _batches(numbers: range, size: int) -> Iterator[list[int]]:
    """The numbers in order, `size` at a time."""
    left = iter(numbers)
    while batch := list(islice(left, size)):
        yield batch


@define
class _Rollout:
    task: Task
    index: int
    row: int
    draw: int
    episode: Episode | None = None
    conversation: Conversation | None = None
    steps: list[Step] = field(factory=list)
    score: float | None = None
    metrics: dict[str, float] = field(factory=dict)
    progress: float | None = None
    completions: int = 0
    fault: str | None = None
    broken: bool = False
    done: bool = False

    def step(self, text: str) -> Observation:
        assert self.episode is not None
        return self.episode.step(text)

    def break_(self, where: str, error: Exception) -> None:
        self.fault, self.broken, self.done = f"{where}: {error_line(error)}", True, True

    def end(self, fault: str | None = None) -> None:
        self.fault, self.done = fault, True


class RolloutRunner:
    """Rolls out tasks of one environment; keeps its threads between calls. Not safe to call from several threads."""

    def __init__(self, environment: Environment, limits: RolloutLimits, clock: Clock) -> None:
        self.environment, self.limits, self.clock = checked(environment), limits, clock
        self._pool = DeadlinePool(limits.workers, limits.timeout)
        self._references = References()

    def run(
        self,
        policy: Policy,
        tasks: Sequence[Task],
        count: int,
        sampling: Sampling,
        iteration: int,
        keep: Callable[[Task, Episode], None] | None = None,
        first: int | None = None,
    ) -> list[RolloutGroup]:
        """`count` rollouts of each task; groups in the tasks' order. Raises what the policy's engine raises.

        `keep` is given each episode that has a score, before it is closed; where it raises, the rollout is an infrastructure fault.
        With a number as `first`, each task's rollouts have indices from there on, and what one samples depends on the seed, its task's id
        and its index, not on the other tasks; without one it depends on the seed and its place in the batch.
        """
        numbers = range(len(tasks) * count)
        return self.grouped(tasks, count, iteration, self.part(policy, tasks, count, sampling, iteration, numbers, keep, first))

    def part(
        self,
        policy: Policy,
        tasks: Sequence[Task],
        count: int,
        sampling: Sampling,
        iteration: int,
        numbers: range,
        keep: Callable[[Task, Episode], None] | None = None,
        first: int | None = None,
    ) -> list[Trajectory]:
        """Only the rollouts in `numbers`, in order. On every rank, number n is rollout `n % count` of `tasks[n // count]`."""

        def rollout(n: int) -> _Rollout:
            task, index = tasks[n // count], n % count + (first or 0)
            return _Rollout(task, index, n, n if first is None else derive(sampling.seed, task.id, index))

        made: list[Trajectory] = []
        for batch in _batches(numbers, self.limits.max_concurrent or max(1, len(numbers))):
            rows = [rollout(n) for n in batch]
            try:
                self._open(policy, rows)
                while live := [row for row in rows if not row.done]:
                    self._advance(policy, live, sampling)
                self._score(rows)
                self._rate_progress([row for row in rows if not row.broken])
                if keep is not None:
                    self._call("keep", [row for row in rows if not row.broken], lambda row: keep(row.task, row.episode))
            finally:
                self._close([row.episode for row in rows if row.episode is not None])
            made += self._trajectories(rows, iteration)
        return made

    @staticmethod
    def grouped(tasks: Sequence[Task], count: int, iteration: int, made: Sequence[Trajectory]) -> list[RolloutGroup]:
        """All rollouts, in order, as groups."""
        return [RolloutGroup(task, iteration, tuple(made[s * count : (s + 1) * count])) for s, task in enumerate(tasks)]

    def _call(self, where: str, rows: Sequence[_Rollout], function: Callable[[Any], Any]) -> list[Any]:
        """Call the environment for each row. A row whose call fails becomes an infrastructure fault; its result is None."""
        calls = self._pool.begin()
        calls.add([lambda row=row: function(row) for row in rows])  # type: ignore[misc]
        return self._results(where, rows, calls)

    def _results(self, where: str, rows: Sequence[_Rollout], calls: CallBatch) -> list[Any]:
        with self.clock.part("environment"):
            results = calls.results()
        for n, (row, result) in enumerate(zip(rows, results, strict=True)):
            if isinstance(result, Exception):
                if not row.broken:
                    row.break_(where, result)
                results[n] = None
        return results

    def _open(self, policy: Policy, rows: Sequence[_Rollout]) -> None:
        for row, episode in zip(rows, self._call("open", rows, lambda row: self.environment.open(row.task)), strict=True):
            if episode is not None:
                row.episode = episode
        with self.clock.part("generation"):
            for row in rows:
                if row.episode is not None:
                    row.conversation = policy.begin(row.task, row.episode.messages, row.episode.tools, row.draw)

    def _advance(self, policy: Policy, live: Sequence[_Rollout], sampling: Sampling) -> None:
        steps = self._pool.begin()
        stepping: list[_Rollout] = []

        def step(rows: Sequence[_Rollout], texts: Sequence[str]) -> None:
            stepping.extend(rows)
            steps.add([partial(row.step, text) for row, text in zip(rows, texts, strict=True)])

        talks = [row.conversation for row in live if row.conversation is not None]
        try:
            with self.clock.part("generation"):
                if isinstance(policy, StreamsCompletions):
                    texts = policy.complete_streaming(talks, sampling, lambda n, text: step([live[n]], [text]))
                else:
                    texts = policy.complete(talks, sampling)
            told = {row.row for row in stepping}
            wrote: list[tuple[_Rollout, str]] = []
            for row, text in zip(live, texts, strict=True):
                if text is None:
                    row.end("no room left in the context")
                elif isinstance(text, InfrastructureFault):
                    row.break_("policy", text)
                elif row.row not in told:
                    wrote.append((row, text))
            step([row for row, _ in wrote], [text for _, text in wrote])
        except BaseException:  # no step may be under way when the episodes are closed
            steps.drop()
            raise
        seen = self._results("step", stepping, steps)
        with self.clock.part("generation"):
            for row, observation in zip(stepping, seen, strict=True):
                if observation is not None:
                    self._take(row, observation)

    def _take(self, row: _Rollout, observation: Observation) -> None:
        row.completions += 1
        row.steps.extend(observation.steps)
        if observation.done:
            row.end(observation.fault)
        elif row.completions >= self.limits.max_completions:
            row.end(f"not done after {row.completions} completions")
        if observation.messages and row.conversation is not None:
            if row.done:  # shown to readers; the policy never sees it, so it is not among the tokens
                row.conversation.messages.extend(observation.messages)
            else:
                row.conversation.observe(observation.messages)

    def _score(self, rows: Sequence[_Rollout]) -> None:
        whole = [row for row in rows if not row.broken]
        for row, score in zip(whole, self._call("score", whole, lambda row: row.episode.score()), strict=True):
            row.score = score
        telling = [row for row in whole if not row.broken and isinstance(row.episode, HasMetrics)]
        for row, found in zip(telling, self._call("metrics", telling, lambda row: row.episode.metrics()), strict=True):
            row.metrics = found or {}

    def _rate_progress(self, rows: Sequence[_Rollout]) -> None:
        """Ask the episodes that know their progress; compare the failures of the others with the solutions of their tasks.

        Where that raises or comes too late, the progress is not known; the score stands.
        """
        for row in rows:
            row.progress = settled(row.score, None)
        knowing = [row for row in rows if isinstance(row.episode, HasProgress)]
        others = [row for row in rows if not isinstance(row.episode, HasProgress)]
        failed = [row for row in others if row.task.solution and row.score is not None and row.score < SUCCESS]
        with self.clock.part("environment"):
            told = self._pool.map([partial(lambda episode: episode.progress(), row.episode) for row in knowing])
            self._references.learn(
                [row.task for row in failed],
                lambda tasks: self._pool.map([partial(executed, self.environment, task) for task in tasks]),
            )
            ends = self._pool.map([row.episode.state for row in failed if row.episode is not None])
        for row, found in (*zip(knowing, told, strict=True), *zip(failed, ends, strict=True)):
            if isinstance(found, Exception):
                logger.warning("the progress of a rollout of task %s is not known: %s", row.task.id, error_line(found))
        for row, found in zip(knowing, told, strict=True):
            row.progress = settled(row.score, None if isinstance(found, Exception) else found)
        for row, end in zip(failed, ends, strict=True):
            reference = self._references.of(row.task)
            if reference is not None and not isinstance(end, Exception):
                row.progress = settled(row.score, share(reference, row.steps, end))

    def _trajectories(self, rows: Sequence[_Rollout], iteration: int) -> list[Trajectory]:
        bare = {row.row: self._trajectory(row, iteration) for row in rows}
        whole = [row for row in rows if not row.broken]
        patterns = self._call("patterns", whole, lambda row: self.environment.patterns(bare[row.row]))
        for row, names in zip(whole, patterns, strict=True):
            bare[row.row] = self._trajectory(row, iteration) if names is None else attrs.evolve(bare[row.row], patterns=names)
        return list(bare.values())

    @staticmethod
    def _trajectory(row: _Rollout, iteration: int) -> Trajectory:
        outcome = Outcome.INFRASTRUCTURE_FAULT if row.broken else Outcome.POLICY_FAULT if row.fault else Outcome.COMPLETED
        talk = row.conversation
        return Trajectory(
            task_id=row.task.id,
            iteration=iteration,
            index=row.index,
            messages=tuple(talk.messages) if talk else (),
            steps=tuple(row.steps),
            outcome=outcome,
            score=None if row.broken else row.score,
            fault=row.fault,
            tokens=talk.tokens if talk else None,
            metrics=row.metrics,
            cut=talk.cut if isinstance(talk, CountsCutAnswers) else 0,
            progress=None if row.broken else row.progress,
        )

    def _close(self, episodes: Sequence[Episode]) -> None:
        """Close episodes. A failing close changes no score; it may leak, so it is logged."""
        with self.clock.part("environment"):
            for result in self._pool.map([episode.close for episode in episodes]):
                if isinstance(result, Exception):
                    logger.warning("closing an episode failed: %s: %s", type(result).__name__, result)

    def lost_workers(self) -> list[str]:
        """Why workers of the executor were lost since this was asked last; empty where the environment runs in this process."""
        return lost_workers(self.environment)

    def close(self) -> None:
        """Let the worker threads end."""
        self._pool.close()
