"""Turn an error while a model's files are read into one line that names the files and the fix."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coevolve import UserError, one_line

from ..library_logging import quiet


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Inside the block, any error becomes a UserError that names `path`, and the model libraries print no advice and no progress bars."""
    try:
        with quiet():
            yield
    except UserError:
        raise
    except Exception as error:  # a reader of untrusted files may raise anything
        fix = "fetch or save it again" if Path(path).is_dir() else "check the name and the connection to the hub, or name a local folder"
        raise UserError(f"model {path!r} cannot be read ({type(error).__name__}: {one_line(error, 200)}); {fix}") from error
