"""Workers that are processes of this machine, kept for the whole run.

They are not a pool of the standard library or of loky: an episode lives in one process, so a call must go to that process, and the loss of
one process must not end the others, as it does in both. Each worker is a fresh interpreter in a session of its own: Ctrl-C reaches the run
alone, and stopping a worker by force also ends what its environment started. A worker ends itself when the process that started it is
gone, however that process ended.
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
"""What a worker's interpreter runs. It finds modules where this process finds them."""
STOP = b""


@frozen
class ProcessesOptions:
    """Options of the processes executor."""

    workers: int = field(default=2, validator=validators.ge(1))
    """Number of processes. More than the machine's cores do not help an environment that computes."""
    retries: int = field(default=3, validator=[validators.ge(0), validators.le(100)])
    """How often a call is repeated on another worker when its own is lost, and how often in a row the start of a worker is repeated."""
    start_timeout: float = field(default=60.0, validator=[validators.gt(0), validators.le(1e6)])
    """Seconds until a worker must have its environment ready."""


class WorkerProcess:
    """The connection to one worker process."""

    def __init__(self, source: EnvironmentSource) -> None:
        self._connection, theirs = Pipe()
        code = BEGIN.format(module=__name__)
        command = [sys.executable, "-c", code, str(theirs.fileno()), json.dumps(sys.path)]
        try:
            # Its input stays open as long as this process lives; nothing is written to it.
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[theirs.fileno()], start_new_session=True)
        except BaseException:
            self._connection.close()
            raise
        finally:
            theirs.close()
        self._stopping, self._asking = threading.Lock(), False
        with suppress(OSError):  # already gone: the first request raises
            self._connection.send(source)

    def ask(self, request: bytes, timeout: float) -> bytes:
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
        with self._stopping:
            if self._process.returncode is not None:
                return
            if grace:
                with suppress(OSError):
                    self._connection.send_bytes(STOP)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(grace)
            with suppress(ProcessLookupError):  # what its environment started is in its session and may be left even if it is gone
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if self._process.stdin:
                self._process.stdin.close()
            if not self._asking:  # else the thread that asks closes it
                self._connection.close()


class Processes:
    """A kept pool of worker processes on this machine."""

    name: ClassVar[str] = "processes"
    Options: ClassVar[type[Any]] = ProcessesOptions

    def __init__(self, options: ProcessesOptions) -> None:
        self.options = options

    def open(self) -> WorkerSettings:
        return WorkerSettings(self.options.workers, self.options.retries, self.options.start_timeout)

    def worker(self, source: EnvironmentSource) -> Worker:
        return WorkerProcess(source)

    def close(self) -> None:
        """Nothing but the workers was there."""


def serve(descriptor: int) -> None:
    """Run a worker: answer the requests of the connection with this file descriptor until it sends STOP or closes."""
    life = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # the environment, and what it starts, must not read or keep it
    os.close(nothing)
    threading.Thread(target=_end_with, args=(life,), daemon=True, name="coevolve-life").start()
    with Connection(descriptor) as connection, suppress(EOFError, OSError):
        answer = connection.recv().build()
        while (request := connection.recv_bytes()) != STOP:
            connection.send_bytes(answer(request))


def _end_with(life: int) -> None:
    """End this process and all that it started when the process that started it is gone."""
    os.read(life, 1)
    os.killpg(0, signal.SIGKILL)


@hookimpl
def coevolve_executors() -> list[type[Any]]:
    return [Processes]
