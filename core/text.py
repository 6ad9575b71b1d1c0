"""Texts and errors as one short line, for error messages, reports and the store; the texts of files that users write."""

from pathlib import Path


def read_text(file: Path) -> str:
    """The text of a file that a user writes: UTF-8, whatever the locale, without the byte order mark that some editors put first.

    OSError for a file that cannot be read; ValueError, which names the fix, for one in another encoding.
    """
    try:
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8 text; save it in the encoding UTF-8") from error


def one_line(text: object, limit: int | None = None) -> str:
    """`text` with every run of white space as one blank, cut to `limit` characters (an ellipsis of three dots included).

    >>> one_line("two\\n  lines")
    'two lines'
    >>> one_line("a long text", limit=9)
    'a long...'
    """
    words = " ".join(str(text).split())
    return words if limit is None or len(words) <= limit else f"{words[: limit - 3]}..."


def error_line(error: BaseException, bare: tuple[type[BaseException], ...] = ()) -> str:
    """An error's class and text as one line; its text alone for the classes in `bare`, whose texts say everything.

    >>> error_line(ValueError("no such\\nshelf"))
    'ValueError: no such shelf'
    >>> error_line(KeyboardInterrupt())
    'KeyboardInterrupt'
    """
    words = one_line(error)
    if isinstance(error, bare):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
