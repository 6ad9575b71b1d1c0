"""Give files the permissions that the user's umask gives: some libraries keep what they write to its owner."""

import os
import stat
from contextlib import suppress
from pathlib import Path


def share(folder: Path) -> None:
    """Add to every file and folder below `folder` the permissions that the umask leaves; those of others' files stay as they are."""
    mask = os.umask(0o077)
    os.umask(mask)
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink():
            continue
        with suppress(OSError):
            mode = stat.S_IMODE(path.stat().st_mode)
            wanted = mode | ((0o777 if path.is_dir() else 0o666) & ~mask)
            if wanted != mode:
                path.chmod(wanted)
