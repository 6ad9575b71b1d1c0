import pytest

from coevolve.plugins.validators.answers import is_derivable

PAID = [{"to": "Ann", "amount": 20.5}, {"to": "Me", "amount": 4.25}, {"to": "Ann", "amount": 10.0}, {"to": "Me", "amount": 1.5}]


@pytest.mark.parametrize(("figure", "derivable"), [(24.75, True), (30.5, True), (5.75, True), (9.06, True), (24.8, True), (61.37, False)])
def test_totals_of_groups_and_their_difference_are_figures(figure: float, derivable: bool) -> None:
    assert is_derivable(figure, "By how much do the totals differ?", [("payments", PAID)]) is derivable
