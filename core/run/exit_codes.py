"""Exit codes and last lines of a command that Ctrl-C, SIGTERM or a fault stops; a run's line names the command that resumes it."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

from ..errors import CoevolveError, UserError
from ..text import command_line, printable
from .launcher import follows, launched


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which schedulers send before they kill: the run ends as at Ctrl-C."""


def _terminate(number: int, frame: object) -> None:
    raise _Terminated


@contextmanager
def resumable(folder: Path | None) -> Iterator[None]:
    """Turn an interrupt or a fault into one line and an exit code. The line names the resume command once `folder` holds a run.

    Only rank 0 has the `folder`. SIGTERM, by which launchers stop ranks, counts as an interrupt.
    """
    if launched():
        signal.signal(signal.SIGTERM, signal.default_int_handler)

    def how(change: str = "") -> str:
        sets = ("--set", change) if change else ()
        return f"; go on with: {command_line('coevolve', 'resume', folder, *sets)}" if folder and (folder / "config.toml").is_file() else ""

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _terminate) if main else None
    try:
        yield
    except UserError as error:
        if follows():  # an error in the run itself is this rank's own
            raise typer.Exit(fail(code_of(error), str(error), own=True)) from error
        raise
    except CoevolveError as error:
        raise typer.Exit(fail(code_of(error), f"{error}{how(error.change)}")) from error
    except KeyboardInterrupt as stop:
        raise typer.Exit(fail(code_of(stop), f"stopped{how()}")) from None
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def code_of(error: BaseException) -> int:
    """The exit code of a command that `error` ends."""
    codes = ((UserError, 2), (CoevolveError, 3), (_Terminated, 143), (KeyboardInterrupt, 130))
    return next((code for kind, code in codes if isinstance(error, kind)), 1)


def fail(code: int, text: str, *, own: bool = False) -> int:
    """Print one line on stderr and return `code`.

    Of several ranks on one machine only the first prints a user error (code 2), because all read the same settings; `own` marks an error of
    this rank alone. torchrun repeats the line at the end of its own output.
    """
    line = f"coevolve: {' '.join(text.split())}"
    if own or code != 2 or not follows() or os.environ.get("LOCAL_RANK", "0") == "0":
        print(printable(line), file=sys.stderr)
    if file := os.environ.get("TORCHELASTIC_ERROR_FILE"):
        with suppress(OSError):
            extra = {"py_callstack": line, "timestamp": str(int(time.time()))}
            Path(file).write_text(json.dumps({"message": {"message": line, "extraInfo": extra}}), "utf-8")
    return code
