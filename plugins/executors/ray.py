"""Executor "ray": workers are Ray actors, on this machine or on all machines of a cluster (extra "ray").

Ray's own restarts are disabled, because a restarted actor has lost its episodes. Core replaces a lost actor and opens its episodes again.
Every wait for Ray has a deadline, because Ray waits without end in a cluster that has no free cores.
"""

import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from attrs import field, frozen, validators

from coevolve import EnvironmentSource, UserError, Worker, WorkerLost, WorkerSettings, hookimpl


@frozen
class RayOptions:
    """Options of the ray executor."""

    address: str = ""
    """Address of a running cluster ("auto": the cluster of this machine); "" starts a cluster on this machine that ends with the run."""
    workers: int = field(default=2, validator=validators.ge(1))
    """Number of actors; each holds one environment."""
    cpus: float = field(default=1.0, validator=validators.gt(0))
    """Number of cores that one actor reserves."""
    retries: int = field(default=3, validator=[validators.ge(0), validators.le(100)])
    """Retries of a call on another actor when its actor is lost, and retries in a row of an actor's start."""
    start_timeout: float = field(default=60.0, validator=[validators.gt(0), validators.le(1e6)])
    """Time limit in seconds for an actor to start and make its environment. A cluster without free cores exceeds it."""


class EnvironmentActor:
    """The class of the actors; each holds one worker's environment."""

    def __init__(self, source: bytes, path: list[str]) -> None:
        sys.path.extend(place for place in path if place not in sys.path)
        # The program that made this actor pickled it. Ray itself unpickles too, so whoever can join the cluster can run code in it anyway.
        self._answer: Callable[[bytes], bytes] = pickle.loads(source).build()

    def answer(self, request: bytes) -> bytes:
        """The answer to one request of RayWorker."""
        return self._answer(request)


class RayWorker:
    """The connection to one actor."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    def ask(self, request: bytes, timeout: float) -> bytes:
        """Send a request and return the answer. Raises TimeoutError after `timeout` seconds, WorkerLost where the actor is gone."""
        errors = self._ray.exceptions
        try:
            found: bytes = self._ray.get(self._actor.answer.remote(request), timeout=timeout)
        except errors.GetTimeoutError:
            raise TimeoutError from None
        except (errors.RayError, ConnectionError) as error:
            raise WorkerLost(f"actor {self._actor._ray_actor_id.hex()[:8]} is gone ({type(error).__name__})") from error
        return found

    def stop(self, grace: float) -> None:
        """Kill the actor at once; `grace` has no effect, because Ray cannot wait for an actor's exit handlers."""
        with suppress(Exception):  # the cluster may be gone, and the actor with it
            self._ray.kill(self._actor, no_restart=True)


class Ray:
    """Starts actors in a Ray cluster. All its machines need this package, the environment's package and its data."""

    name: ClassVar[str] = "ray"
    Options: ClassVar[type[Any]] = RayOptions

    def __init__(self, options: RayOptions) -> None:
        self.options = options
        self._ray: Any = None
        self._began = False

    def open(self) -> WorkerSettings:
        """Join or start the cluster; return the number of actors and the limits of their calls. Raises UserError without one."""
        options = self.options
        with _own_handlers():
            try:
                import ray
            except ImportError as error:
                raise UserError("executor.name=ray needs Ray: pip install 'coevolve[ray]'") from error
            self._ray = ray
            if not ray.is_initialized():
                self._connect(options)
        self._actor = ray.remote(num_cpus=options.cpus, max_restarts=0, max_task_retries=0)(EnvironmentActor)
        return WorkerSettings(options.workers, options.retries, options.start_timeout)

    def _connect(self, options: RayOptions) -> None:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
        if not options.address:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            cores = max(1, round(options.workers * options.cpus + 0.499))
            quiet |= {"address": "local", "num_cpus": cores, "include_dashboard": False}
        else:
            _check_reachable(options.address)
            quiet |= {"address": options.address}
        self._began = True
        try:
            self._ray.init(**quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            words = " ".join(str(error).split())[:200]
            if options.address:
                raise _no_cluster(options.address, words) from error
            raise UserError(f"Ray does not start ({words}): read its logs, or set executor.name=processes") from error

    def worker(self, source: EnvironmentSource) -> Worker:
        """Start an actor that makes its environment from `source`."""
        return RayWorker(self._ray, self._actor.remote(pickle.dumps(source), sys.path))

    def close(self) -> None:
        """Leave the cluster, and end it if this executor started it. A cluster that the program had joined before stays joined."""
        if self._began:
            with _own_handlers():
                self._ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise UserError where nothing listens at HOST:PORT: Ray would end the whole process without an exception."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError as error:
            raise _no_cluster(address, str(error)) from error


def _no_cluster(address: str, words: str) -> UserError:
    return UserError(
        f"no Ray cluster at executor.address={address!r} ({words}): start one with `ray start --head`, or name another address"
    )


@contextmanager
def _own_handlers() -> Iterator[None]:
    """Restore the handler of SIGTERM afterwards: Ray replaces it when it is imported."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


@hookimpl
def coevolve_executors() -> list[type[Any]]:
    return [Ray]
