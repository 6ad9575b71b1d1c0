"""The pool of worlds: as many at once as memory allows. Parking, replay and recovery are invisible to episodes.

A world is a function of its task and of the blocks that ran in it (the engine freezes clock and random numbers). So a world that was
parked to make room, or lost because the server died, is restored by running its blocks in a fresh fork.
"""

import contextlib
import hashlib
import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from coevolve import InfrastructureFault, Task

from .connection import Connection, EngineError, WorldEnded, WorldLost
from .reference import resolved
from .server_process import ServerProcess

RECOVERIES = 2
"""Times that a lost world is restored within one operation."""
OPEN_SECONDS = 60.0
SCORE_SECONDS = 60.0
ROOM_SECONDS = 120.0
"""Seconds to wait for a free place in the pool."""
LATER = 2.0
"""Seconds between the engine's own interruption of a block and the kill of its process."""
MIB = 2**20
PRIVATE = 64 * MIB
"""Measured private memory of a world over a small database."""


@frozen
class WorldLimits:
    """Limits of every world: seconds of processor time and of wall clock for a block, MiB of memory, characters of output, blocks an
    episode; and the number of worlds at once (0: by memory)."""

    block_seconds: float
    wall_seconds: float
    memory: int
    output: int
    interactions: int
    worlds: int = 0


def room(root: Path, wanted: int) -> int:
    """How many worlds may be open at once: `wanted` if not 0, else as many as fit into half of the free memory (1 to 256).

    A world is counted as PRIVATE bytes and twice the size of the base databases.
    """
    if wanted:
        return wanted
    size = sum(file.stat().st_size for file in (root / "data" / "base_dbs").glob("*.db"))
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return max(1, min(256, free // 2 // (PRIVATE + 2 * size)))


def engine_id(task: Task) -> str:
    """The id under which the engine knows a task: its own, or for a synthesized one a digest of all that it is."""
    if "start" not in task.payload:
        return task.id
    text = json.dumps([task.id, task.query, task.payload], sort_keys=True, default=dict)
    return f"s{hashlib.sha256(text.encode()).hexdigest()[:12]}_1"


def located(task: Task) -> dict[str, Any]:
    """The fields of a request that name a task, with the content of a synthesized one."""
    fields: dict[str, Any] = {"task": engine_id(task)}
    if "start" in task.payload:
        payload = task.payload
        fields["synthesized"] = {
            "start": payload["start"],
            "query": task.query,
            "code": list(payload["code"]),
            "reference": payload["reference"],
        }
    return fields


class WorldPool:
    """All worlds over one data root; thread-safe. `root` holds the user's data with the ground truth, of which no world gets anything."""

    def __init__(self, server: ServerProcess, root: Path, limits: WorldLimits) -> None:
        self.server, self.root, self.limits = server, root, limits
        self.room = room(root, limits.worlds)
        self._live: OrderedDict[int, WorldHandle] = OrderedDict()
        self._freed = threading.Condition()

    def open(self, task: Task) -> "WorldHandle":
        """A new world of the task, forked now.

        Raises ValueError for a task that is not in the data, InfrastructureFault when there is no room or no server.
        """
        world = WorldHandle(self, located(task))
        world.start()
        return world

    def trace(self, task: Task, code: Sequence[str], seconds: float | None = None) -> dict[str, Any]:
        """Run blocks in a fresh world, within `seconds` if given, and return the report of `engine/synthesize.py`: trace.

        Raises WorldEnded when the code ends its world, InfrastructureFault when the world is lost RECOVERIES + 1 times.
        """
        limit = seconds or OPEN_SECONDS + self.limits.wall_seconds * len(code)
        blocks = [resolved(self.root, block) for block in code]
        for _ in range(RECOVERIES + 1):
            with self._passing():
                connection = self.server.connect()
                try:
                    found: dict[str, Any] = connection.ask("trace", limit, **located(task), code=blocks, memory=self.limits.memory)
                    return found
                except WorldLost as error:
                    lost = error
                finally:
                    connection.close()
        raise InfrastructureFault(f"a world was lost {RECOVERIES + 1} times: {lost}")

    @contextlib.contextmanager
    def _passing(self) -> Iterator[None]:
        guest = WorldHandle(self, {})
        self.enter(guest)
        try:
            yield
        finally:
            self.leave(guest)

    def enter(self, world: "WorldHandle") -> None:
        """Take a place in the pool for `world`; when none is free, park the world that has been idle the longest.

        Raises InfrastructureFault when no world becomes idle within ROOM_SECONDS.
        """
        deadline = time.monotonic() + ROOM_SECONDS
        with self._freed:
            while len(self._live) >= self.room:
                if (idle := self._idle()) is not None:
                    idle.park()
                    del self._live[id(idle)]
                elif time.monotonic() >= deadline:
                    raise InfrastructureFault(f"no room for one more world within {ROOM_SECONDS:g} s ({self.room} are at work)")
                else:
                    self._freed.wait(0.25)
            self._live[id(world)] = world

    def _idle(self) -> "WorldHandle | None":
        return next((world for world in self._live.values() if world.connection is not None and world.lock.acquire(blocking=False)), None)

    def leave(self, world: "WorldHandle") -> None:
        """Free the place of `world`."""
        with self._freed:
            self._live.pop(id(world), None)
            self._freed.notify()

    def used(self, world: "WorldHandle") -> None:
        """Note that the world has just been used; it may be parked now."""
        with self._freed:
            if id(world) in self._live:
                self._live.move_to_end(id(world))
            self._freed.notify()

    def close(self) -> None:
        """End all worlds and the server."""
        with self._freed:
            live = list(self._live.values())
        for world in live:
            world.close()
        self.server.stop()


class WorldHandle:
    """One task's world: the blocks that ran in it, and a connection to its process while it has one. Thread-safe.

    Operations raise InfrastructureFault when the world is lost RECOVERIES + 1 times, and EngineError when the engine raises.
    """

    def __init__(self, worlds: WorldPool, task: Mapping[str, Any]) -> None:
        self.worlds, self.task = worlds, task
        self.blocks: tuple[str, ...] = ()
        self.about: dict[str, Any] = {}
        self.connection: Connection | None = None
        self.lock = threading.Lock()
        """Held during every operation; a world whose lock is free is idle and may be parked."""

    def start(self) -> None:
        """Open the world now, which fills `about`."""
        self._do(lambda _: None)

    def execute(self, code: str) -> dict[str, Any]:
        """Run a block and return {"output", "error", "calls", "completed"}. Raises WorldEnded when the block ends the world."""
        found: dict[str, Any] = self._do(lambda connection: self._run(connection, code), blamed=True)
        self.blocks += (code,)
        return found

    def _run(self, connection: Connection, code: str) -> Any:
        limits = self.worlds.limits
        return connection.ask("execute", limits.wall_seconds + LATER, code=code, cpu=limits.block_seconds)

    def diff(self) -> Any:
        """The canonical difference between the world's beginning and now."""
        return self._do(lambda connection: connection.ask("diff", SCORE_SECONDS))

    def score(self) -> dict[str, Any]:
        """The engine's evaluation: {"success", "num_tests", "passes", "failures", ...}."""
        found: dict[str, Any] = self._do(lambda connection: connection.ask("score", SCORE_SECONDS))
        return found

    def export(self, folder: Path) -> None:
        """Write the engine's own files of this world into `folder`."""
        self._do(lambda connection: connection.ask("export", SCORE_SECONDS, to=str(folder)))

    def rewind(self, blocks: tuple[str, ...]) -> None:
        """Become the world in which exactly `blocks` ran, by replay with the next operation."""
        with self.lock:
            if blocks != self.blocks:
                self.blocks = blocks
                self._hang_up()

    def refresh(self) -> None:
        """End the world's process; the next operation restores the world by replay."""
        with self.lock:
            self._hang_up()

    def close(self) -> None:
        """End the world's process."""
        self.refresh()

    def park(self) -> None:
        """End the world's process to make room. The caller holds `lock`, which is released here, and frees the place."""
        try:
            if self.connection is not None:
                self.connection.close()
                self.connection = None
        finally:
            self.lock.release()

    def _do(self, operation: Callable[[Connection], Any], blamed: bool = False) -> Any:
        """Carry out one operation, and restore the world when it is lost. `blamed`: the operation runs new code, and a world that is killed
        at it every time while the server lives was ended by that code."""
        try:
            with self.lock:
                return self._carry_out(operation, blamed)
        finally:
            self.worlds.used(self)

    def _carry_out(self, operation: Callable[[Connection], Any], blamed: bool) -> Any:
        lost: WorldLost | None = None
        for _ in range(RECOVERIES + 1):
            try:
                return operation(self._connected())
            except WorldLost as error:
                self._hang_up()
                lost = error
            except WorldEnded:
                self._hang_up()
                raise
        assert lost is not None
        if blamed and lost.served:
            raise WorldEnded("killed", f"{lost}, {RECOVERIES + 1} times at the same block")
        raise InfrastructureFault(f"a world was lost {RECOVERIES + 1} times: {lost}")

    def _connected(self) -> Connection:
        """The connection to the world, which is first opened and replayed if need be."""
        if self.connection is None:
            self.worlds.enter(self)
            try:
                connection = self.worlds.server.connect()
            except BaseException:
                self.worlds.leave(self)
                raise
            self.connection = connection
            self._open(connection)
        return self.connection

    def _open(self, connection: Connection) -> None:
        limits = self.worlds.limits
        fields = {"block_seconds": max(1, int(limits.wall_seconds)), "memory": limits.memory, "output": limits.output}
        try:
            self.about = connection.ask("open", OPEN_SECONDS, **self.task, **fields, interactions=limits.interactions + 1)
            for code in self.blocks:
                self._run(connection, code)
        except EngineError as error:
            self._hang_up()
            raise InfrastructureFault(f"the engine cannot open {self.task['task']}: {error}") from error
        except ValueError:
            self._hang_up()
            raise
        except WorldEnded as error:
            self._hang_up()
            raise InfrastructureFault(f"a world cannot be restored by replay: {error}") from error

    def _hang_up(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None
            self.worlds.leave(self)
