"""Open a run's file for a reader, who writes nothing: the run may be another user's, on a read-only disk, or going on."""

import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote_from_bytes

from attrs import frozen


@frozen
class ReadConnection:
    """A connection that cannot write. `copy` holds the file where it had to be copied; keep it as long as the connection."""

    connection: sqlite3.Connection
    copy: "TemporaryDirectory[str] | None" = None


def open_for_reading(path: Path) -> ReadConnection:
    """Open the database without making or changing a file beside it; sqlite3.Error where it cannot be read.

    SQLite keeps new rows in a log (-wal) with an index (-shm) while a run goes on, and even a reader makes these files where they are
    missing. So a file without a log is read as one that does not change; one with a log that a killed run left behind is read in a copy.
    """
    log, index = (path.with_name(path.name + ending) for ending in ("-wal", "-shm"))
    if not log.exists() or (log.stat().st_size == 0 and not index.exists()):
        return ReadConnection(_connected(path, "immutable=1"))
    if index.exists():
        try:
            return ReadConnection(_connected(path, "mode=ro"))
        except sqlite3.OperationalError:  # the index needs a repair, which is a write
            pass
    copy = TemporaryDirectory(prefix="coevolve-run-")
    for file in (path, log):
        shutil.copyfile(file, Path(copy.name, file.name))
    return ReadConnection(_connected(Path(copy.name, path.name), "mode=rw"), copy)


def _connected(path: Path, how: str) -> sqlite3.Connection:
    name = quote_from_bytes(str(path.absolute()).encode("utf-8", "surrogateescape"))
    found = sqlite3.connect(f"file:{name}?{how}", uri=True, check_same_thread=False, isolation_level=None)
    try:
        found.execute("SELECT 1 FROM sqlite_master LIMIT 1")
    except sqlite3.Error:
        found.close()
        raise
    return found
