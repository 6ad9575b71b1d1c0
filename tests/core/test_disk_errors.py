"""Errors of the disk name the place that is full or cannot be written, also where that is the folder for temporary files."""

import errno
import os
import shutil
import tempfile
from collections import namedtuple
from pathlib import Path

import pytest

from coevolve import CoevolveError, UserError
from coevolve.core.run.folder import check_new, disk_errors

Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("full", ["run", "temporary"])
def test_the_full_disk_is_named(named: bool, full: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, temporary = tmp_path / "run", tmp_path / "temporary"
    run.mkdir()
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(1 << 40, 0, 0 if Path(place).name == full else 1 << 39))
    file = tmp_path / full / "adapter.safetensors"
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *([str(file)] if named else []))
    with pytest.raises(CoevolveError) as caught, disk_errors(run):
        raise error
    assert str(caught.value).startswith(f"the disk of {tmp_path / full}") and ("TMPDIR" in str(caught.value)) == (full == "temporary")


def test_a_folder_for_temporary_files_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with pytest.raises(UserError, match="set TMPDIR"), disk_errors(tmp_path / "run"):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "temporary" / "x"))


def test_names_that_no_folder_can_have(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"File name too long; choose another --out"):
        check_new(tmp_path / ("x" * 300))
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"link to .*nowhere, which is not there: choose another --out, or remove the link"):
        check_new(tmp_path / "link")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(UserError, match="choose another --out"):
        check_new(tmp_path / "circle")
    check_new(tmp_path / "new")
    (tmp_path / "made").mkdir()
    (tmp_path / "good").symlink_to(tmp_path / "made")
    check_new(tmp_path / "good")
