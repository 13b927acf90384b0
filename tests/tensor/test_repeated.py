"""Indices with one division."""

from itertools import product

import pytest

from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis, binary, index_value
from relay_tune.tensor.repeated import Repeated, counted_form, repeated_form, stepped_form

I, O = Axis("i", 4), Axis("o", 32)  # noqa: E741


def test_a_division_in_a_sum():
    found = repeated_form((O // 4) * 4 + I * 3 + 7)
    assert found == Repeated(Affine({I: 3}, 7), 4, Affine({O: 1}), 4)
    assert found.smooth == Affine({I: 3, O: 1}, 7)


def test_it_is_what_the_index_is():
    index = ((O + 8) // 4 + I) * 2 + 1
    found = repeated_form(index)
    for i, o in product(range(I.extent), range(O.extent)):
        plain = found.plain.constant + found.plain.coefficient(I) * i
        quotient = (found.divided.constant + o) // found.divisor
        assert plain + found.factor * quotient == ((o + 8) // 4 + i) * 2 + 1


@pytest.mark.parametrize(
    "index", [I + O, O // 4 + O // 2, O % 4, index_value(3) - O // 4, (O // 4) // 2]
)
def test_others_are_none(index):
    assert repeated_form(index) is None


def test_places_of_several_rows_are_counted_along_a_row():
    position = binary("min", O * 2 + 1, 31)
    row, column = position // 8, position % 8
    assert counted_form(row * 40 + column * 5 + I) == Affine({O: 10, I: 1}, 5)
    assert counted_form(row // 3) == Affine({})
    assert counted_form(row % 3 + column - I) == Affine({O: 2, I: -1}, 1)


def test_places_of_several_phases_are_counted_on_average():
    position = binary("min", O * 2 + 1, 31)
    row, column = position // 8, position % 8
    along = column // 2 * 12 + column % 2
    assert counted_form(row // 2 * 80 + row % 2 * 40 + along + I) == Affine({O: 12, I: 1}, 6)
    assert counted_form(column // 2 * 3) is None


def test_places_that_stay_at_an_end_are_counted_up_to_it():
    assert counted_form(binary("min", O * 2 + I, 31)) == Affine({O: 2, I: 1})


@pytest.mark.parametrize("index", [I + O, O // 4, O % 4 + I, binary("max", O, 31), I * O])
def test_other_indices_are_not_counted(index):
    assert counted_form(index) is None


def test_several_divisions_grow_as_the_index_does():
    assert stepped_form((O // 2) * 64 + (I // 3) * 256 + I * 8) == Affine({O: 32, I: 93})


@pytest.mark.parametrize("index", [I + O, O // 4, O % 4 + I // 2, O // 2 - I // 2])
def test_others_have_no_steps(index):
    assert stepped_form(index) is None
