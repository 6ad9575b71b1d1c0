"""Executor "processes": worker processes on this machine, which live for the whole run.

The pools of the standard library and of loky do not fit: an episode lives in one process, so a call must go to that process, and the loss
of one process must not end the others. Each worker is a new interpreter in its own session, so Ctrl-C reaches only the run, and killing a
worker also kills the processes that its environment started. A worker exits when the process that started it exits or is killed.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any, ClassVar

from attrs import field, frozen, validators

from coevolve import EnvironmentSource, Worker, WorkerLost, WorkerSettings, hookimpl

BEGIN = "import json, sys; sys.path[:] = json.loads(sys.argv[2]); from {module} import serve; serve(int(sys.argv[1]))"
"""The code that a worker's interpreter runs. It uses this process's module search path."""
STOP = b""
"""The request that ends a worker."""


@frozen
class ProcessesOptions:
    """Options of the processes executor."""

    workers: int = field(default=2, validator=validators.ge(1))
    """Number of processes. More processes than cores do not help an environment that computes."""
    retries: int = field(default=3, validator=[validators.ge(0), validators.le(100)])
    """Retries of a call on another worker when its worker is lost, and retries in a row of a worker's start."""
    start_timeout: float = field(default=60.0, validator=[validators.gt(0), validators.le(1e6)])
    """Time limit in seconds for a worker to start and make its environment."""


class WorkerProcess:
    """The connection to one worker process: one `ask` at a time; `stop` may be called from another thread meanwhile."""

    def __init__(self, source: EnvironmentSource) -> None:
        self._connection, theirs = Pipe()
        code = BEGIN.format(module=__name__)
        command = [sys.executable, "-c", code, str(theirs.fileno()), json.dumps(sys.path)]
        try:
            # Nothing is written to its standard input, which closes when this process ends: that ends the worker.
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[theirs.fileno()], start_new_session=True)
        except BaseException:
            self._connection.close()
            raise
        finally:
            theirs.close()
        self._stopping, self._asking = threading.Lock(), False
        with suppress(OSError):  # the worker is already gone, so the first request raises
            self._connection.send(source)

    def ask(self, request: bytes, timeout: float) -> bytes:
        """Send a request and return the answer. Raises TimeoutError after `timeout` seconds, WorkerLost where the process is gone."""
        self._asking = True
        try:
            self._connection.send_bytes(request)
            if not self._connection.poll(timeout):
                raise TimeoutError
            return self._connection.recv_bytes()
        except TimeoutError:
            raise
        except (EOFError, OSError) as error:
            self.stop(0)
            raise WorkerLost(f"worker process {self._process.pid} ended with status {self._process.returncode}") from error
        finally:
            with self._stopping:
                self._asking = False
                if self._process.returncode is not None:
                    self._connection.close()

    def stop(self, grace: float) -> None:
        """End the worker: by request within `grace` seconds, else with SIGKILL to its whole session."""
        with self._stopping:
            if self._process.returncode is not None:
                return
            if grace:
                with suppress(OSError):
                    self._connection.send_bytes(STOP)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(grace)
            with suppress(ProcessLookupError):  # processes of its environment may outlive it
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if self._process.stdin:
                self._process.stdin.close()
            if not self._asking:  # otherwise the thread in `ask` closes it
                self._connection.close()


class Processes:
    """Starts worker processes on this machine."""

    name: ClassVar[str] = "processes"
    Options: ClassVar[type[Any]] = ProcessesOptions

    def __init__(self, options: ProcessesOptions) -> None:
        self.options = options

    def open(self) -> WorkerSettings:
        """The number of workers, and the limits of their calls."""
        return WorkerSettings(self.options.workers, self.options.retries, self.options.start_timeout)

    def worker(self, source: EnvironmentSource) -> Worker:
        """Start a worker process that makes its environment from `source`."""
        return WorkerProcess(source)

    def close(self) -> None:
        """Do nothing: there are no resources besides the workers."""


def serve(descriptor: int) -> None:
    """Run a worker: answer the requests of the connection with this file descriptor until it sends STOP or closes."""
    life = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # the environment and its child processes must not read or hold it
    os.close(nothing)
    threading.Thread(target=_end_with, args=(life,), daemon=True, name="coevolve-life").start()
    with Connection(descriptor) as connection, suppress(EOFError, OSError):
        answer = connection.recv().build()
        while (request := connection.recv_bytes()) != STOP:
            connection.send_bytes(answer(request))


def _end_with(life: int) -> None:
    """Wait until the process that started this one is gone, then kill this process and its children."""
    os.read(life, 1)
    os.killpg(0, signal.SIGKILL)


@hookimpl
def coevolve_executors() -> list[type[Any]]:
    return [Processes]
