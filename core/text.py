"""Texts and errors as one short line, for error messages, reports and the store."""


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
