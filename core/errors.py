"""Errors that a user can cause, and infrastructure faults, which never become a score.

A `UserError` is shown as one line without a traceback, so its text must name the thing and the fix. Every other exception
keeps its traceback.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from .text import error_line

LISTED = 20
"""Most names that an error lists."""


class CoevolveError(Exception):
    """Base of every error that this package raises on purpose.

    `change` names the setting that a resume must change to get past the error, such as "policy.max_context=LARGER".
    """

    def __init__(self, *words: object, change: str = "") -> None:
        super().__init__(*words)
        self.change = change


class UserError(CoevolveError):
    """Something the user can mend; the text is one line that names the thing and the fix (exit code 2)."""


class InfrastructureFault(CoevolveError):
    """The environment, an engine or a service failed: never a score, never in an advantage or a history."""


class WorkerLost(CoevolveError):
    """A worker of an executor is lost (killed, crashed, its machine gone). Core replaces it and repeats its calls."""


class TooManyFaults(CoevolveError):
    """The circuit breaker: too many infrastructure faults to go on; the run can be resumed (exit code 3)."""


@contextmanager
def translated(translate: Callable[[Exception], CoevolveError | None]) -> Iterator[None]:
    """Raise `translate(error)` in place of an error of the block; an error for which it returns None passes unchanged.

    Usable as a context manager and as a decorator. Keyboard interrupts and exits always pass.
    """
    try:
        yield
    except Exception as error:
        fault = translate(error)
        if fault is None:
            raise
        raise fault from error


def boundary(
    kind: type[CoevolveError],
    where: str,
    *,
    catch: type[Exception] = Exception,
    keep: tuple[type[Exception], ...] = (),
    fix: str = "",
) -> AbstractContextManager[None]:
    """Turn an error of code that is not ours into one line of class `kind` that names where it happened, and the fix where there is one.

    Only errors of class `catch` are turned, and none of the classes in `keep`.

        with boundary(InfrastructureFault, "environment failed in step"):
            episode.step(text)       # InfrastructureFault: environment failed in step: ValueError: burst pipe
    """

    def translate(error: Exception) -> CoevolveError | None:
        if isinstance(error, keep) or not isinstance(error, catch):
            return None
        return kind(f"{where} ({error_line(error)}): {fix}" if fix else f"{where}: {error_line(error)}")

    return translated(translate)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the nearest of `known`, else the list of what there is.

    >>> did_you_mean("unifrom", ["uniform", "learnability"])
    " (did you mean 'uniform'?)"
    >>> did_you_mean("zzz", ["b", "a"])
    ' (there is: a, b)'
    """
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f" (did you mean {near[0]!r}?)"
    more = f", ... {len(known) - LISTED} more" if len(known) > LISTED else ""
    return f" (there is: {', '.join(known[:LISTED])}{more})" if known else " (there is none)"
