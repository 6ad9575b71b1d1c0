"""Several processes of one run (torchrun, accelerate launch): the first one runs the loop, the others roll their share and train along.

    first process                                   every other process
    Loop.rollout ── DistributedRolloutRunner.roll ── RolloutRequest ───>  its share of the rows, with its own copy of the policy
                        all trajectories  <───────  gathered by the first, which alone stores and judges them
    LeaderLoop ── RankResult(groups) ──────────────────────>  FollowerLoop.rollout gives the same groups to its trainer
    (the trainers' updates meet in the gradient's mean)
    Loop.finish_iteration: signals, synthesis, validation, evaluation happen in the first process alone, but for the rollouts in them

So tasks, groups and pool are the same everywhere by construction, a teacher is asked once, and only the first process writes. Messages are
pickles between processes of one run, over a gloo group of their own. A process that ends closes its connections, which ends the others.
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
from ..text import error_line

UNREACHED = ("gloo", "Gloo", "NCCL", "Connection", "Broken pipe", "Timed out", "timeout")
"""Words of the plain RuntimeErrors that torch raises for an exchange with a process that is not there."""


@frozen
class RolloutRequest:
    """RolloutRequest your share of `count` rollouts of each task with the policy in training."""

    tasks: tuple[Task, ...]
    count: int
    sampling: Sampling
    iteration: int


@frozen
class RankResult:
    """The first process has what the others wait for."""

    result: Any


@frozen
class RankFailed:
    """A process could not roll its share."""

    text: str


class Ranks:
    """The processes of a run, as the launcher numbered them."""

    def __init__(self, timeout: float) -> None:
        """Meet the other processes. `timeout`: seconds that they wait for each other; past it the run stops."""
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
        """Whether the first process has told the others what they take part in."""
        self._group: Any = distributed.new_group(backend="gloo", timeout=wait)

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, rows: int) -> range:
        """The rows that this process rolls: a run of neighbours, so that rollouts of one task mostly share their prompt's prefill."""
        return range(rows * self.rank // self.size, rows * (self.rank + 1) // self.size)

    def broadcast(self, message: Any = None) -> Any:
        """The first process's message, in every process."""
        from torch import distributed

        box = [message]
        distributed.broadcast_object_list(box, src=0, group=self._group)
        return box[0]

    def gather(self, part: Any) -> list[Any]:
        """In the first process all parts, in the order of the processes; elsewhere nothing."""
        from torch import distributed

        parts: list[Any] | None = [None] * self.size if self.is_first else None
        distributed.gather_object(part, parts, dst=0, group=self._group)
        return parts or []

    @contextmanager
    def connected(self) -> Iterator[None]:
        """One line for what an exchange raises when another process ended or does not answer. Leaves the group at the end.

        After an error nothing is left in order: the others may be in an exchange of their own, and see the closed connection.
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
        """Give up the connections in order: a process that still has them may be aborted when it ends."""
        from torch import distributed

        distributed.destroy_process_group()


class DistributedRolloutRunner(RolloutRunner):
    """Rolls out with every process of the run when it is the policy in training that acts; in the first process only."""

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
    ) -> list[RolloutGroup]:
        if policy is not self.trainer.policy() or keep is not None:  # what is to be kept is kept by one process
            return super().run(policy, tasks, count, sampling, iteration, keep)
        self.ranks.broadcast(RolloutRequest(tuple(tasks), count, sampling, iteration))
        mine = _attempt(lambda: self.part(policy, tasks, count, sampling, iteration, self.ranks.share(len(tasks) * count)))
        made: list[Trajectory] = []
        for part in self.ranks.gather(mine):
            if isinstance(part, RankFailed):
                raise CoevolveError(part.text)
            made += part
        return self.grouped(tasks, count, iteration, made)


def _attempt(function: Callable[[], list[Trajectory]]) -> list[Trajectory] | RankFailed:
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - the first process raises it
        return RankFailed(error_line(error, bare=(CoevolveError,)))


@define
class LeaderLoop:
    """The loop as the first process's trainer sees it: what it gives goes to all processes."""

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
        self.ranks.gather(None)  # every process has written its files
        self.loop.commit(iteration, folder)
        self.ranks.broadcast(RankResult(None))


@define
class FollowerLoop:
    """The loop as the other processes' trainers see it."""

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
        """RolloutRequest what the first process asks for until it is done; its result."""
        while True:
            message = self.ranks.broadcast()
            if isinstance(message, RankResult):
                return message.result
            self.ranks.gather(_attempt(lambda asked=message: self._rolled(asked)))  # type: ignore[misc]

    def _rolled(self, asked: RolloutRequest) -> list[Trajectory]:
        rows = self.ranks.share(len(asked.tasks) * asked.count)
        return self.runner.part(self.trainer.policy(), asked.tasks, asked.count, asked.sampling, asked.iteration, rows)
