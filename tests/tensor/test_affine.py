from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.tensor.affine import (
    ZERO,
    Affine,
    axis_affine,
    constant,
    parted_form,
    split_quotient,
    variable,
)
from relay_tune.tensor.expression import Axis, binary, cast, literal

EXTENTS = {"x": 3, "y": 4, "z": 2}
numbers = st.integers(-12, 12)
forms = st.builds(
    lambda terms, number: Affine({v: c for v, c in terms.items() if c}, number),
    st.dictionaries(st.sampled_from(sorted(EXTENTS)), numbers),
    numbers,
)


def extent(name: object) -> tuple[int, int]:
    return 0, EXTENTS[str(name)] - 1


def value(form: Affine, point: dict[str, int]) -> int:
    return form.constant + sum(factor * point[str(name)] for name, factor in form.terms.items())


def points() -> list[dict[str, int]]:
    ranges = (range(size) for size in EXTENTS.values())
    return [dict(zip(EXTENTS, numbers, strict=True)) for numbers in product(*ranges)]


@settings(max_examples=60, deadline=None)
@given(forms, forms, numbers, numbers)
def test_arithmetic_on_forms_is_arithmetic_on_their_values(first, second, factor, amount):
    combined = (first + second.scale(factor)).shift(amount)
    for point in points():
        assert (
            value(combined, point) == value(first, point) + factor * value(second, point) + amount
        )
    assert all(combined.terms.values())


@settings(max_examples=60, deadline=None)
@given(forms)
def test_bounds_are_the_extreme_values(form):
    values = [value(form, point) for point in points()]
    assert form.bounds(extent) == (min(values), max(values))


@settings(max_examples=200, deadline=None)
@given(forms, st.integers(1, 12))
def test_split_quotient_is_division(form, divisor):
    parts = split_quotient(form, divisor, extent)
    if parts is None:
        return
    for point in points():
        found = tuple(value(part, point) for part in parts)
        assert found == divmod(value(form, point), divisor)


def test_split_quotient_of_a_tiled_index():
    form = Affine({"x": 8, "y": 2, "z": 1}, 16)
    assert split_quotient(form, 8, extent) == (Affine({"x": 1}, 2), Affine({"y": 2, "z": 1}))


def test_split_quotient_gives_up_where_the_rest_leaves_a_period():
    assert split_quotient(Affine({"x": 8, "y": 2, "z": 1}, 1), 8, extent) is None
    assert split_quotient(Affine({"x": -1}), 8, extent) is None


def test_variables_come_and_go():
    form = variable("x").scale(3).shift(5)
    assert (form.coefficient("x"), form.coefficient("y")) == (3, 0)
    assert form.without("x") == constant(5)
    assert form.without("y") is form
    assert (form + variable("x").scale(-3)).is_constant
    assert form.scale(0) == ZERO


def test_axis_affine_of_index_expressions():
    i, j = Axis("i", 5), Axis("j", 7)
    assert axis_affine((i + 2) * 3 - j) == Affine({i: 3, j: -1}, 6)
    assert axis_affine(binary("mul", literal(4, "int64"), i)) == Affine({i: 4})
    assert axis_affine(i - i) == ZERO


@pytest.mark.parametrize(
    "index",
    [
        lambda i, j: i * j,
        lambda i, j: i // 2,
        lambda i, j: i + j % 3,
        lambda i, j: cast(cast(i, "int32"), "int64"),
    ],
)
def test_axis_affine_refuses_what_is_not_affine(index):
    assert axis_affine(index(Axis("i", 5), Axis("j", 7))) is None


def test_offsets_have_a_form_over_axes_and_over_what_is_not_affine():
    i, j = Axis("i", 12), Axis("j", 4)
    row, column = i // 5, i % 5
    form = parted_form((3, 8), (row * 2 + j - 1, (column + j) * 3 + row))
    assert form == Affine({row: 17, j: 11, column: 3}, -8)
    product = i * j
    assert parted_form((9,), (product - product + 7,)) == constant(7)
    assert parted_form((2, 3), (i, j)) == axis_affine(i * 3 + j)
