"""The stockroom with steps that compute for a set time, for benchmarks of executors."""

import time
from typing import Any, ClassVar

from attrs import frozen

from coevolve import Observation, Task, hookimpl
from coevolve.testing import Stockroom
from coevolve.testing.stockroom import StockroomEpisode


@frozen
class BusyOptions:
    train: int = 40
    test: int = 20
    milliseconds: float = 1.0
    """Of CPU time, for each step."""


class BusyEpisode(StockroomEpisode):
    milliseconds = 1.0

    def step(self, text: str) -> Observation:
        end = time.thread_time() + self.milliseconds / 1000
        while time.thread_time() < end:
            sum(range(200))
        return super().step(text)


class Busy(Stockroom):
    name: ClassVar[str] = "busy"
    Options: ClassVar[type[Any]] = BusyOptions

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.busy = options

    def open(self, task: Task) -> BusyEpisode:
        plain = super().open(task)
        episode = BusyEpisode(task, plain._goal)
        episode.milliseconds = self.busy.milliseconds
        return episode


@hookimpl
def coevolve_environments() -> list[type[Any]]:
    return [Busy]
