"""Several ranks of one run (torchrun, accelerate launch): rank 0 runs the loop, the others roll out their share and train along.

    rank 0                                                          every other rank
    Loop.rollout -- DistributedRolloutRunner -- RolloutRequest -->  rolls out its share of the rows with its own copy of the policy
                             gathers all trajectories  <----------  sends its trajectories; rank 0 alone stores and judges them
    LeaderLoop.rollout -- RankResult(groups) -------------------->  FollowerLoop.rollout gives the same groups to its trainer
    (the trainers average their gradients)
    Loop.finish_iteration: signals, synthesis, validation and evaluation run on rank 0 alone, except for the rollouts in them

So tasks, groups and pool are the same everywhere by construction, a teacher is asked once, and only rank 0 writes. Messages are pickles
between processes of one run, over a gloo group of their own. A rank that ends closes its connections, which ends the others.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from attrs import define, frozen

from ..contracts import Episode, LoopState, Policy, Trainer
from ..errors import CoevolveError, UserError
from ..model import RolloutGroup, Sampling, Task, Trajectory
from ..rollouts.runner import RolloutRunner
from ..settings.config import Config
from ..text import error_line

UNREACHED = ("gloo", "Gloo", "NCCL", "Connection", "Broken pipe", "Timed out", "timeout")
"""Words in the plain RuntimeErrors that torch raises when a rank does not answer."""


@frozen
class RolloutRequest:
    """Rank 0 asks every rank for its share of `count` rollouts of each task with the policy in training."""

    tasks: tuple[Task, ...]
    count: int
    sampling: Sampling
    iteration: int
    first: int | None
    """As in `RolloutRunner.run`."""


@frozen
class RunStarted:
    """Rank 0 has built the run: what the other ranks need to take part in it."""

    config: Config
    folder: Path
    iteration: int
    checkpoint: Path | None


@frozen
class RunAborted:
    """Rank 0 ended with exit code `code` before the run began."""

    code: int


@frozen
class RankResult:
    """What a call of the loop returned on rank 0, for the other ranks to return too."""

    result: Any


@frozen
class RankFailed:
    """A rank could not roll out its share; `text` says why."""

    text: str


class Ranks:
    """The processes of a run, as the launcher numbered them, and the messages between them."""

    def __init__(self, timeout: float) -> None:
        """Connect to the other ranks. `timeout`: seconds that ranks wait for each other; past it the run stops."""
        import torch
        from torch import distributed

        self.rank, self.size, local = (int(os.environ.get(name, "0")) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
        cuda = torch.cuda.is_available()
        if cuda:
            if local >= torch.cuda.device_count():
                raise UserError(f"process {local} of this machine has no GPU of its own: start at most {torch.cuda.device_count()} here")
            torch.cuda.set_device(local)
        wait = timedelta(seconds=timeout)
        try:
            if not distributed.is_initialized():
                distributed.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=wait)
        except RuntimeError as error:
            where = ":".join(os.environ.get(name, "?") for name in ("MASTER_ADDR", "MASTER_PORT"))
            raise UserError(
                f"process {self.rank} of {self.size} did not meet the others at {where} within {timeout:g} s: one of them did not start "
                f"(see what it said), or process_timeout is too short"
            ) from error
        self.begun = False
        """Whether rank 0 has broadcast `RunStarted`."""
        self._group: Any = distributed.new_group(backend="gloo", timeout=wait)

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, rows: int) -> range:
        """The rows that this rank rolls out: neighbours, so that rollouts of one task mostly share their prompt's prefill."""
        return range(rows * self.rank // self.size, rows * (self.rank + 1) // self.size)

    def broadcast(self, message: Any = None) -> Any:
        """Send rank 0's message to every rank; returns it on each of them."""
        from torch import distributed

        box = [message]
        distributed.broadcast_object_list(box, src=0, group=self._group)
        return box[0]

    def gather(self, part: Any) -> list[Any]:
        """Collect each rank's part. Returns all parts in the order of ranks on rank 0, an empty list elsewhere."""
        from torch import distributed

        parts: list[Any] | None = [None] * self.size if self.is_first else None
        distributed.gather_object(part, parts, dst=0, group=self._group)
        return parts or []

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Raise one line when another rank ended or does not answer. Disconnects at the end.

        After an error it does not disconnect: the others may be waiting in an exchange of their own, and notice the closed connection.
        """
        try:
            yield
        except RuntimeError as error:
            if isinstance(error, CoevolveError) or not any(word in str(error) for word in UNREACHED):
                raise
            why = "did not answer in time" if "imed out" in str(error) or "imeout" in str(error) else "ended"
            raise CoevolveError(f"another of the run's {self.size} processes {why} (this is process {self.rank})") from error
        self.disconnect()

    def disconnect(self) -> None:
        """Close the connections: a process that still holds them may be aborted when it ends."""
        from torch import distributed

        distributed.destroy_process_group()


class DistributedRolloutRunner(RolloutRunner):
    """Rolls out with every rank when the policy in training acts, with rank 0 alone for any other policy. Used on rank 0."""

    ranks: Ranks
    trainer: Trainer

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
        if policy is not self.trainer.policy() or keep is not None:  # `keep` needs the episodes, which stay in their processes
            return super().run(policy, tasks, count, sampling, iteration, keep, first)
        self.ranks.broadcast(RolloutRequest(tuple(tasks), count, sampling, iteration, first))
        rows = self.ranks.share(len(tasks) * count)
        mine = _attempt(lambda: self.part(policy, tasks, count, sampling, iteration, rows, first=first))
        made: list[Trajectory] = []
        for part in self.ranks.gather(mine):
            if isinstance(part, RankFailed):
                raise CoevolveError(part.text)
            made += part
        return self.grouped(tasks, count, iteration, made)


def _attempt(function: Callable[[], list[Trajectory]]) -> list[Trajectory] | RankFailed:
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - rank 0 raises it
        return RankFailed(error_line(error, bare=(CoevolveError,)))


@define
class LeaderLoop:
    """The loop as rank 0's trainer sees it: broadcasts what each call returns."""

    loop: LoopState
    ranks: Ranks

    @property
    def iteration(self) -> int:
        return self.loop.iteration

    @property
    def steps(self) -> int:
        return self.loop.steps

    def rollout(self, policy: Policy, iteration: int) -> list[RolloutGroup]:
        groups = self.loop.rollout(policy, iteration)
        self.ranks.broadcast(RankResult(groups))
        return groups

    def finish_iteration(self, iteration: int, metrics: dict[str, float]) -> bool:
        due = self.loop.finish_iteration(iteration, metrics)
        self.ranks.broadcast(RankResult(due))
        return due

    def commit(self, iteration: int, folder: Path) -> None:
        self.ranks.gather(None)  # every rank has written its files
        self.loop.commit(iteration, folder)
        self.ranks.broadcast(RankResult(None))


@define
class FollowerLoop:
    """The loop as the other ranks' trainers see it: returns what rank 0 broadcasts."""

    ranks: Ranks
    trainer: Trainer
    runner: RolloutRunner
    iteration: int
    steps: int

    def rollout(self, policy: Policy, iteration: int) -> list[RolloutGroup]:
        groups: list[RolloutGroup] = self.serve()
        return groups

    def finish_iteration(self, iteration: int, metrics: dict[str, float]) -> bool:
        self.iteration = iteration
        return bool(self.serve())

    def commit(self, iteration: int, folder: Path) -> None:
        self.ranks.gather(None)
        self.serve()

    def serve(self) -> Any:
        """Roll out what rank 0 requests, until it broadcasts a result; returns that."""
        while True:
            message = self.ranks.broadcast()
            if isinstance(message, RankResult):
                return message.result
            self.ranks.gather(_attempt(lambda asked=message: self._rolled(asked)))  # type: ignore[misc]

    def _rolled(self, asked: RolloutRequest) -> list[Trajectory]:
        rows = self.ranks.share(len(asked.tasks) * asked.count)
        policy = self.trainer.policy()
        return self.runner.part(policy, asked.tasks, asked.count, asked.sampling, asked.iteration, rows, first=asked.first)
