"""Check that a folder is a run."""

from os.path import isfile
from pathlib import Path

from ..errors import UserError


def run_file(folder: Path, name: str = "config.toml") -> Path:
    """A file that the folder of every run has. UserError when it is not there."""
    file = folder / name
    if not isfile(file):  # Path.is_file raises for a name that is too long
        raise UserError(f"{folder} is not a run folder: it has no {name}; name the folder that `coevolve run` printed")
    return file
