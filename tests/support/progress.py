"""Watching a run of another process."""

import sqlite3
import time
from pathlib import Path

import pytest


def reached(folder: Path, iteration: int) -> None:
    """Wait until the run has stored rollouts of `iteration`."""
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        try:
            with sqlite3.connect(f"file:{folder / 'run.sqlite'}?mode=ro", uri=True) as db:
                if (db.execute("SELECT max(iteration) FROM groups").fetchone()[0] or 0) >= iteration:
                    return
        except sqlite3.OperationalError:
            pass  # the file or its tables are not there yet
        finally:
            if "db" in locals():
                db.close()
        time.sleep(0.05)
    pytest.fail(f"iteration {iteration} was not reached")
