"""The fork server: imports and warms the engine once, then forks one process for each episode; no port is opened.

    server.py RUN SOURCE [--no-kernel]     RUN: a private folder that exists; SOURCE: a folder with the engine's `data`

It serves the Unix socket RUN/socket with the protocol of docs/appworld.md (format: wire.py), and ends when its standard input is closed,
when the process that started it is gone, or at SIGTERM. Deadlines are enforced here, outside the worlds, with SIGKILL.
"""

import fcntl
import gc
import os
import selectors
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

from . import code_restrictions, confine, family, wire
from .client_session import ClientSession
from .roots import Roots, sweep
from .world import open_world

TICK = 0.25
"""Seconds between looks at deadlines, at the parent, and at stray processes."""
PROCESSES = 4
"""Descendants that a world may have when no kernel filter refuses them; more count as a fork bomb."""


def warm(roots: Roots) -> str:
    """Import everything, open and close one world; returns the engine's version.

    Raises RuntimeError when a thread is left, which a fork would lose.
    """
    import appworld
    from appworld.apps import model_lib
    from appworld.environment import AppWorld

    code_restrictions.tighten()
    tasks = sorted(path.name for path in (roots.source / "tasks").iterdir() if (path / "specs.json").is_file())
    roots.task(tasks[0])
    os.environ["COEVOLVE_EXPERIMENT"] = "warm"
    with open_world(tasks[0]) as world:
        world.execute("print(apis.supervisor.show_active_task())")
    AppWorld.close_all()
    model_lib.CachedDBHandler.reset()
    # A database connection must not be shared with forks.
    model_lib.get_cached_db_engine.cache_clear()
    model_lib.get_direct_cached_sqlite3_connection.cache_clear()
    roots.forget("warm")
    family.scrub()
    gc.collect()
    if threading.active_count() > 1:
        raise RuntimeError(f"threads are left after warming up: {threading.enumerate()}")
    return str(appworld.__version__)


class Server:
    """Accepts clients, gives each a session, and enforces deadlines, all in one loop."""

    def __init__(self, roots: Roots, kernel: bool, version: str) -> None:
        self.roots, self.kernel, self.version = roots, kernel, version
        self.selector = selectors.DefaultSelector()
        self.sessions: dict[int, ClientSession] = {}
        self.stopping = False
        self.parent = os.getppid()
        self.made = 0
        self.looked = 0.0

    def run(self) -> None:
        """Serve until `stopping` is set, standard input is closed or the parent is gone; then end all sessions."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self.roots.run / "socket"))
        listener.listen(512)
        listener.setblocking(False)
        self.selector.register(listener, selectors.EVENT_READ, "listener")
        self.selector.register(0, selectors.EVENT_READ, "parent")
        while not self.stopping and os.getppid() == self.parent:
            soon = min((session.due for session in self.sessions.values()), default=float("inf"))
            for key, events in self.selector.select(max(0.0, min(TICK, soon - time.monotonic()))):
                if key.data == "listener":
                    self._accept(listener)
                elif key.data == "parent":
                    self.stopping = not os.read(0, 4096)
                elif key.data.number in self.sessions:
                    key.data.ready(key.fileobj, events)
            self._look()
        for session in list(self.sessions.values()):
            session.end()
        for pid in family.descendants([os.getpid()])[os.getpid()]:
            family.kill_tree(pid)

    def _accept(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
        except OSError:
            return  # the client is gone already, or no descriptor is left: it notices and tries again
        self.made += 1
        session = ClientSession(self.selector, self.roots, self.kernel, self.sessions.pop, self.made, client)
        self.sessions[session.number] = session
        session.send({"protocol": wire.PROTOCOL, "engine": self.version, "pid": os.getpid()})

    def _look(self) -> None:
        """Check deadlines; every TICK seconds also dead worlds, their CPU time and stray processes."""
        now = time.monotonic()
        thorough = now - self.looked >= TICK
        for session in list(self.sessions.values()):
            session.look(now, thorough)
        if thorough:
            self.looked = now
            if not self.kernel:
                self._strays()

    def _strays(self) -> None:
        known = {session.pid: session for session in self.sessions.values() if session.pid}
        helpers = {pid for session in self.sessions.values() for pid in session.helpers}
        below = family.descendants([os.getpid(), *known, *helpers])
        for pid, session in known.items():
            if len(below[pid]) > PROCESSES:
                session.kill("processes", "it started too many processes")
        inside = {*known, *helpers}.union(*(below[pid] for pid in (*known, *helpers)))
        for pid in below[os.getpid()] - inside:
            family.kill_tree(pid)
        self.reap()

    def reap(self) -> None:
        """Collect the exit status of adopted orphans; sessions collect those of their own worlds and helpers."""
        own = {pid for session in self.sessions.values() for pid in (session.pid, *session.helpers)}
        for pid in family.descendants([os.getpid()])[os.getpid()]:
            if pid not in own:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    continue


def main() -> NoReturn:
    """Run the server with the arguments of the command line, and remove RUN at its end."""
    run, source = Path(sys.argv[1]), Path(sys.argv[2])
    lock = (run / "lock").open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    sweep(run.parent)
    os.chdir(run)
    confine.adopt_orphans()
    roots = Roots(run, source)
    roots.make()
    os.chdir(roots.empty)
    os.environ["APPWORLD_ROOT"] = str(roots.open)
    server = Server(roots, "--no-kernel" not in sys.argv, warm(roots))
    signal.signal(signal.SIGTERM, lambda *_: setattr(server, "stopping", True))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the client decides
    try:
        server.run()
    finally:
        import shutil

        shutil.rmtree(run, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
