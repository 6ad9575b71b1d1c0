"""What commands print, on any terminal."""

import io
import logging
import sys
import traceback
from types import TracebackType

from ..text import printable


def any_text() -> None:
    """From now on no text ends a command or acts on the terminal, in tracebacks and log lines too.

    A character that the terminal's encoding lacks is printed as an escape, and one that cannot be read is replaced.
    """
    for stream, errors in ((sys.stdout, "backslashreplace"), (sys.stderr, "backslashreplace"), (sys.stdin, "replace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
    sys.excepthook = _show_traceback
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Printable())


def _show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    say_error("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"))


class _Printable(logging.Formatter):
    """Log lines without control sequences."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def say(text: object, end: str = "\n") -> None:
    """Print a text on standard output; what a terminal would act on is escaped."""
    print(printable(text), end=end)


def say_error(text: object) -> None:
    """The same on standard error."""
    print(printable(text), file=sys.stderr)


def print_file(text: str) -> None:
    """Print the content of a TOML file: into a file or a pipe as UTF-8, as such files are read, whatever the locale."""
    text = printable(text)
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    else:
        sys.stdout.write(text)
