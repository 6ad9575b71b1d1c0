import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve.plugins.validators.grounding import SpokenText
from coevolve.plugins.validators.spoken_forms import dates, numbers, times


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("five", 5),
        ("Twenty five of them", 25),
        ("two thousand five hundred", 2500),
        ("$2,500 please", 2500),
        ("2.5k", 2500),
        ("a dozen", 12),
        ("20%", 0.2),
        ("half of it", 0.5),
        ("the third", 3),
        ("twice", 2),
        ("1 million", 1e6),
    ],
)
def test_numbers_as_people_write_them(text: str, number: float) -> None:
    assert number in numbers(text)


@pytest.mark.parametrize(("text", "number"), [("version v25", 25), ("2,500", 500), ("12.5", 5), ("often", 10), ("none", 1)])
def test_parts_of_other_things_are_no_numbers(text: str, number: float) -> None:
    assert number not in numbers(text)


@given(st.integers(0, 10**9))
def test_a_number_in_digits_is_always_found(number: int) -> None:
    assert float(number) in numbers(f"take {number} of it") and float(number) in numbers(f"take {number:,}.")


@pytest.mark.parametrize(
    "text", ["December 10, 2026", "10 Dec 2026", "the 10th of December 2026", "2026-12-10", "12/10/2026", "10.12.2026", "Dec. 10th, 2026"]
)
def test_dates_as_people_write_them(text: str) -> None:
    assert (2026, 12, 10) in dates(text)


def test_a_date_is_known_with_its_year_or_with_no_other_year() -> None:
    for said, known in (("on December 10", True), ("on December 10 in 2026", True), ("on December 10, 2025", False), ("on May 10", False)):
        text = SpokenText()
        text.ask(said)
        assert text.states("2026-12-10") is known, said


def test_times_as_people_write_them() -> None:
    assert (15, 0) in times("at 3 pm") and (15, 30) in times("3:30 p.m.") and (9, 5) in times("9:05") and (9, 0) not in times("9 people")


@pytest.mark.parametrize(
    ("said", "value", "known"),
    [
        ("the morning run playlist", "Morning_Run", True),
        ("tag it #travel", "travel", True),
        ("4444 5555 6666 7777", "4444555566667777", True),
        ("how many kilometers", "km", True),
        ("we go to Rome", "Rom", False),
        ("documents and reports", "documents/reports", True),
        ("the run", "morning", False),
    ],
)
def test_texts_as_people_write_them(said: str, value: str, known: bool) -> None:
    text = SpokenText()
    text.ask(said)
    assert text.states(value) is known


def test_a_computed_number_needs_words_that_ask_for_it() -> None:
    for said, known in (("Pull out half of it.", True), ("Pull it out.", False)):
        text = SpokenText()
        text.ask(said)
        text.add('{"balance": 50000}')
        assert text.states(25000) is known
    result = SpokenText()
    result.ask("Put it in.")
    result.add("half of 50000 is left, or 10.56688")
    assert not result.states(25000), "only the user's words ask for a computation"
    assert result.states(10.57) and not result.states(10.6688)
