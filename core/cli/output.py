"""What commands print, on any terminal."""

import io
import sys


def any_text() -> None:
    """From now on a character that the terminal's encoding lacks is printed as an escape, and one that cannot be read is replaced."""
    for stream, errors in ((sys.stdout, "backslashreplace"), (sys.stderr, "backslashreplace"), (sys.stdin, "replace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def print_file(text: str) -> None:
    """Print the content of a file: into a file or a pipe as UTF-8, as such files are read, whatever the locale."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    else:
        sys.stdout.write(text)
