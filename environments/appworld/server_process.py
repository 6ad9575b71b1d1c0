"""The fork server's process: started on first use, watched, started again when it dies, ended with this program."""

import atexit
import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import IO

from coevolve import InfrastructureFault, UserError

from . import home
from .connection import Connection, WorldLost

START_SECONDS = 300.0
RESTARTS = 5
"""Times that a server that died is started again; one more death is an infrastructure fault."""
_running: "weakref.WeakSet[ServerProcess]" = weakref.WeakSet()


def private_folder() -> Path:
    """The folder for servers' sockets and files, made if missing, which only this user can enter.

    Raises UserError when there is one of that name that others own or can enter.
    """
    folder = Path(tempfile.gettempdir()) / f"coevolve-appworld-{os.getuid()}"
    if "memory" in str(folder) or len(str(folder)) > 70:  # the engine misreads the word; a socket's path has about 100 bytes
        folder = Path("/tmp") / folder.name
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UserError(f"{folder} is not a private folder of yours; remove it, or set TMPDIR to a folder of your own")
    return folder


class ServerProcess:
    """The server's process: `command` with a new private folder RUN and the data root `source`, listening on RUN/socket. Thread-safe."""

    def __init__(self, command: list[str], source: Path, arguments: tuple[str, ...] = ()) -> None:
        self._command, self._source, self._arguments = command, source, arguments
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._run: Path | None = None
        self._log: IO[bytes] | None = None
        self._last_output = ""
        self._ready = False
        self._deaths = 0
        self._owner = os.getpid()
        _running.add(self)

    def connect(self) -> Connection:
        """A new connection, once the server is ready; it is started, or started again, if need be.

        Raises InfrastructureFault after START_SECONDS, and when the server has died more than RESTARTS times.
        """
        with self._lock:
            deadline = time.monotonic() + START_SECONDS
            while time.monotonic() < deadline:
                process, run = self._running_server()
                try:
                    connection = Connection(run / "socket")
                except WorldLost:
                    if process.poll() is None and self._ready:  # it runs and does not answer: it hangs
                        self._end(process)
                    else:
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            process.wait(0.1)
                    continue
                self._ready = True
                return connection
        raise InfrastructureFault(f"AppWorld's server was not ready within {START_SECONDS:g} s{self._last_words()}")

    def _running_server(self) -> tuple[subprocess.Popen[bytes], Path]:
        if self._owner != os.getpid():
            raise InfrastructureFault("AppWorld's server belongs to another process; make a new environment after a fork")
        if self._process is not None and self._process.poll() is not None:
            self._clear()
            self._deaths += 1
            if self._deaths > RESTARTS:
                raise InfrastructureFault(f"AppWorld's server died {self._deaths} times{self._last_words()}")
        if self._process is None:
            self._launch()
        assert self._process is not None and self._run is not None
        return self._process, self._run

    def _launch(self) -> None:
        self._run, self._ready = Path(tempfile.mkdtemp(prefix="w-", dir=private_folder())), False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        inside = self._run / "home"
        variables = {"PATH": "/usr/bin:/bin", "HOME": str(inside), "LANG": "C.UTF-8", "IPYTHONDIR": str(inside / "ipython")}
        self._process = subprocess.Popen(
            [*self._command, str(self._run), str(self._source), *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            env=variables | {"APPWORLD_CACHE": str(inside), "TMPDIR": str(inside)},
            start_new_session=True,
        )

    def _last_words(self) -> str:
        if self._log is not None:
            end = self._log.seek(0, os.SEEK_END)
            self._log.seek(max(0, end - 2_000))
            self._last_output = self._log.read().decode("utf-8", "replace")
        line = next((line for line in reversed(self._last_output.splitlines()) if line.strip()), "it wrote nothing")
        return f" ({line.strip()})"

    def stop(self) -> None:
        """End the server and all its worlds; a later `connect` starts a new one."""
        with self._lock:
            if self._process is not None and self._owner == os.getpid():
                self._end(self._process)
                self._clear()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Close its standard input, which asks it to end, and kill it when it does not; its worlds die with it."""
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        if not self._ready:
            process.kill()  # it would only look at its input once it is warm
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)

    def _clear(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        if self._log is not None:
            self._last_words()
            self._log.close()
            self._log = None
        if self._run is not None:
            shutil.rmtree(self._run, ignore_errors=True)
        self._process = self._run = None

    @property
    def pid(self) -> int | None:
        """The server's process id; None when it is not running."""
        return self._process.pid if self._process is not None else None


def engine_server(source: Path, kernel: bool = True) -> ServerProcess:
    """A server with the installed engine over the data root `source`; `kernel`: confine worlds with Landlock and seccomp."""
    return ServerProcess(home.engine_command("server"), source, () if kernel else ("--no-kernel",))


@atexit.register
def _stop_all() -> None:
    for worker in list(_running):
        worker.stop()
