"""The default executor: the environment lives in this process, and threads of it make the calls (setting `workers`)."""

from typing import Any, ClassVar

from attrs import frozen

from coevolve import EnvironmentSource, Staffing, Worker, hookimpl


@frozen
class ThreadsOptions:
    """None: the setting `workers` says how many threads there are."""


class Threads:
    """Nothing is between the loop and the environment."""

    name: ClassVar[str] = "threads"
    Options: ClassVar[type[Any]] = ThreadsOptions

    def __init__(self, options: ThreadsOptions) -> None:
        """There is nothing to set."""

    def open(self) -> Staffing:
        return Staffing(workers=0)

    def worker(self, source: EnvironmentSource) -> Worker:
        raise NotImplementedError("it has no workers")

    def close(self) -> None:
        """There is nothing to end."""


@hookimpl
def coevolve_executors() -> list[type[Any]]:
    return [Threads]
