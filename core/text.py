"""Texts and errors as one short line, for error messages, reports and the store; as a terminal may show them; and from users' files."""

import re
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters other than a tab and the end of a line, line separators, marks that reverse the order of letters, and surrogates."""


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


def printable(text: object) -> str:
    r"""`text` with each character that a terminal acts on as an escape: models, tasks, plugins and paths may hold any.

    The escapes are those of JSON and TOML, so that such a text keeps its meaning.

    >>> print(printable("red \x1b[31malarm"))
    red \u001b[31malarm
    """
    return _ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text).replace("\r\n", "\n"))


def terminal_text(text: object, style: str = "") -> "Text":
    """`text` for rich's console and tables, which show it as it is: printable, and without markup, emoji codes and highlights."""
    from rich.text import Text

    return Text(printable(text), style)


def command_line(*words: object) -> str:
    """A command that a user can copy: each word is quoted for the shell where it needs that.

    >>> command_line("coevolve", "show", Path("runs/a b"))
    "coevolve show 'runs/a b'"
    """
    return " ".join(quote(str(word)) for word in words)
