"""Checks of a data root: missing files, and the engine's own verification."""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coevolve import UserError

from . import home

SPLITS = ("train", "dev", "test_normal", "test_challenge")
"""The benchmark's splits; reference solutions of the last two are not part of its data."""
GROUND_TRUTH = ("metadata.json", "public_data.json", "private_data.json", "answer.json", "test_data.json", "evaluation.py")
VERIFY_SECONDS = 3_600.0


def task_ids(root: Path, split: str) -> tuple[str, ...]:
    """Ids of a split's tasks, in the benchmark's order; empty when the data lacks the split."""
    file = root / "data" / "datasets" / f"{split}.txt"
    if not file.is_file():
        return ()
    return tuple(line.split(":")[0].strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip())


def lacking(root: Path) -> list[str]:
    """One line for each file that the engine needs and `root` lacks, and for each wrong version; the engine itself would only warn."""
    return list(_lacking(root / "data"))


def _lacking(data: Path) -> Iterator[str]:
    databases = {path.stem for path in (data / "base_dbs").glob("*.db")}
    if len(databases) < 12:
        yield f"{data / 'base_dbs'} holds {len(databases)} of 12 databases"
    if len(list((data / "api_docs" / "standard").glob("*.json"))) < 11:
        yield f"{data / 'api_docs' / 'standard'} holds fewer than 11 files"
    found = [(split, task) for split in SPLITS for task in task_ids(data.parent, split)]
    if not any(split == "train" for split, _ in found):
        yield f"{data / 'datasets' / 'train.txt'} names no task"
    for _, task in found:
        yield from _lacking_in_task(data / "tasks" / task, databases)


def _lacking_in_task(task: Path, databases: set[str]) -> Iterator[str]:
    try:
        version = json.loads((task / "specs.json").read_text(encoding="utf-8"))["db_version"]
    except (OSError, ValueError, KeyError, TypeError):
        yield f"{task / 'specs.json'} cannot be read"
        return
    if version != home.DATA:
        yield f"{task} is for databases of version {version}, not {home.DATA}"
    for name in sorted(databases):
        if not (task / "dbs" / f"{name}.jsonl").is_file():
            yield f"{task / 'dbs' / name}.jsonl is missing"
    for name in GROUND_TRUTH:
        if not (task / "ground_truth" / name).is_file():
            yield f"{task / 'ground_truth' / name} is missing"


def verify(root: Path) -> dict[str, Any]:
    """Run the engine's own verification, which carries out and scores every reference solution of train and dev.

    Returns {"passed": n, "total": n}. Raises UserError when a solution fails, or after VERIFY_SECONDS.
    """
    # Unbuffered, because it ends without flushing what it printed.
    command = [str(home.python()), "-I", "-B", "-u", "-m", "appworld.cli", "verify", "tasks"]
    bare = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    with tempfile.TemporaryDirectory(prefix="coevolve-appworld-") as scratch:
        # The engine writes beside the data: give it a root of links, so that the data folder itself is only read.
        (Path(scratch) / "data").symlink_to(root / "data")
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=VERIFY_SECONDS,
                stdin=subprocess.DEVNULL,
                cwd=scratch,
                env=bare | {"HOME": scratch, "APPWORLD_ROOT": scratch, "APPWORLD_CACHE": f"{scratch}/cache"},
            )
        except subprocess.TimeoutExpired:
            raise UserError(
                f"the engine's verification did not finish within {VERIFY_SECONDS:g} s; try again, or --set verify=no"
            ) from None
        finally:
            shutil.rmtree(Path(scratch) / "experiments", ignore_errors=True)
    found = re.search(r"Passed (\d+)/(\d+) tasks", done.stdout)
    if found is None:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise UserError(
            f"the engine's verification of {root} broke off ({last}); the data is damaged: run coevolve env setup appworld again"
        )
    passed, total = map(int, found.groups())
    if passed < total:
        bad = " ".join(done.stdout.partition("Failed task_ids:")[2].partition("Please")[0].split())
        raise UserError(f"{total - passed} of {total} reference solutions fail in {root}: {bad}")
    return {"passed": passed, "total": total}
