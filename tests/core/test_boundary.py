"""Errors of code that is not ours become one line of a class of ours, at one boundary."""

import traceback

import pytest

from coevolve import CoevolveError, InfrastructureFault, UserError, error_line, one_line
from coevolve.core.errors import boundary, translated
from coevolve.core.isolation.checked_environment import checked
from coevolve.testing import Stockroom, StockroomOptions


def test_an_error_is_named_with_the_place_where_it_happened() -> None:
    with pytest.raises(InfrastructureFault) as caught, boundary(InfrastructureFault, "environment failed in step"):
        raise ValueError("burst\n  pipe")
    assert str(caught.value) == "environment failed in step: ValueError: burst pipe"
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_fix_follows_the_error() -> None:
    with pytest.raises(UserError, match=r"^cannot start \(KeyError: 'x'\): mend it$"), boundary(UserError, "cannot start", fix="mend it"):
        raise KeyError("x")


@pytest.mark.parametrize("error", [UserError("mend it"), OSError("full"), KeyboardInterrupt(), SystemExit(3)])
def test_what_is_kept_or_not_caught_passes_as_it_is(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, boundary(InfrastructureFault, "here", catch=CoevolveError, keep=(UserError,)):
        raise error
    assert caught.value is error


def test_a_translation_may_leave_an_error_alone() -> None:
    @translated(lambda error: UserError("a value") if isinstance(error, ValueError) else None)
    def fail(error: Exception) -> None:
        raise error

    with pytest.raises(UserError, match="a value"):
        fail(ValueError())
    with pytest.raises(LookupError):
        fail(LookupError())


def test_texts_become_one_line() -> None:
    assert one_line("a\tb\n c ") == "a b c"
    assert one_line("x" * 50, limit=10) == "xxxxxxx..." and one_line("x" * 10, limit=10) == "x" * 10
    assert error_line(ValueError()) == "ValueError"
    assert error_line(UserError("mend\nit"), bare=(UserError,)) == "mend it"


def test_a_traceback_through_a_stand_in_shows_the_method() -> None:
    room = checked(Stockroom(StockroomOptions()))
    with room.open(room.tasks("train")[0]) as episode, pytest.raises(AttributeError) as caught:
        episode.step(3)  # type: ignore[arg-type]  # what an environment cannot take
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[1:] == ["step", "_forward", "step"]
