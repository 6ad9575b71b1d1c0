"""Errors of reading a model's files, as one line each that names the files and the fix."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coevolve import UserError
from coevolve.endpoint import line

from ..library_logging import quiet


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Inside it any error becomes a UserError that names `path`, and the model libraries write neither advice nor progress bars."""
    try:
        with quiet():
            yield
    except UserError:
        raise
    except Exception as error:  # a reader of files that others wrote may raise anything
        fix = "fetch or save it again" if Path(path).is_dir() else "check the name and the connection to the hub, or name a local folder"
        raise UserError(f"model {path!r} cannot be read ({type(error).__name__}: {line(error)}); {fix}") from error
