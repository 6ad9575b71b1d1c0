"""Folders that hostile code has filled are removed whole, and nothing beside them."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from coevolve.environments.appworld.engine.removal import empty, remove


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory where there is a file system for it: removing a folder may wait for a disk."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


def nested(folder: Path, depth: int) -> None:
    """Make `depth` folders, each in the one before, of which the path is longer than any call takes."""
    opened = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deeper", dir_fd=opened)
        below = os.open("deeper", os.O_RDONLY, dir_fd=opened)
        os.close(opened)
        opened = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=opened))
    os.close(opened)


@pytest.mark.parametrize("depth", [0, 1, 200, 201, 1_500, 5_000])
def test_nested_folders(quick: Path, depth: int) -> None:
    folder = quick / "folder"
    folder.mkdir()
    nested(folder, depth)
    (quick / "beside").write_text("")
    remove(folder)
    assert [path.name for path in quick.iterdir()] == ["beside"]


def test_what_links_point_to_stays(tmp_path: Path) -> None:
    kept, folder = tmp_path / "kept", tmp_path / "folder"
    (kept / "below").mkdir(parents=True)
    (kept / "below" / "file").write_text("text")
    (folder / "sub").mkdir(parents=True)
    for place in (folder, folder / "sub"):
        (place / "to a folder").symlink_to(kept)
        (place / "to a file").symlink_to(kept / "below" / "file")
        (place / "to nothing").symlink_to("nothing")
        os.link(kept / "below" / "file", place / "hard")
    os.mkfifo(folder / "sub" / "fifo")
    remove(folder)
    assert not folder.exists() and (kept / "below" / "file").read_text() == "text"
    link = tmp_path / "link"
    link.symlink_to(kept)
    remove(link)
    assert not link.is_symlink() and (kept / "below" / "file").exists()


def test_folders_that_nobody_may_enter(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "a" / "b" / "c").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_text("")
    for place in (folder / "a" / "b" / "c", folder / "a" / "b", folder / "a"):
        place.chmod(0)
    remove(folder)
    assert not folder.exists()


def test_names_and_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a" * 255, "new\nline", "-rf", "ü", os.fsdecode(b"\xff\xfe"), *map(str, range(30))):
        (folder / name).mkdir()
        (folder / name / "x").write_text("")
    remove(folder)
    assert not folder.exists()


def test_a_folder_is_emptied_a_part_at_a_time(quick: Path) -> None:
    nested(quick, 250)
    rounds = 1
    while not empty(quick, 0.0):
        rounds += 1
    assert rounds > 10 and list(quick.iterdir()) == []


def test_nothing_is_raised_for_what_is_not_there(tmp_path: Path) -> None:
    remove(tmp_path / "nothing")
    assert empty(tmp_path / "nothing")
