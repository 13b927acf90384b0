"""Between which numbers a size lies, by the bounds of its symbols."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay_tune.ir.dim import UNKNOWN, Dim, Symbol
from relay_tune.ir.dim_arithmetic import (
    add,
    floor_divide,
    maximum,
    multiply,
    positive_part,
    substitute,
    subtract,
)
from relay_tune.ir.dim_bounds import dim_bounds
from relay_tune.ir.dim_order import is_never_negative

N = Symbol("n", most=100)
M = Symbol("m", least=2, most=7)
ANY = Symbol("any")


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (5, (5, 5)),
        (UNKNOWN, (None, None)),
        (N, (1, 100)),
        (add(multiply(2, N), 3), (5, 203)),
        (floor_divide(N, 4), (0, 25)),
        (multiply(N, M), (2, 700)),
        (subtract(N, M), (-6, 98)),
        (subtract(3, N), (-97, 2)),
        (positive_part(subtract(N, 50)), (0, 50)),
        (multiply(N, subtract(M, 10)), (-998, 690)),
        (add(N, ANY), (2, None)),
        (subtract(N, ANY), (None, 99)),
        (multiply(ANY, N), (1, None)),
    ],
)
def test_bounds_are_those_of_the_terms(dim: Dim, expected: tuple[int | None, int | None]) -> None:
    assert dim_bounds(dim) == expected


def test_what_is_bounded_is_compared_with_numbers() -> None:
    assert is_never_negative(subtract(200, multiply(2, N)))
    assert not is_never_negative(subtract(199, multiply(2, N)))
    assert not is_never_negative(subtract(200, ANY))


@st.composite
def dims(draw: st.DrawFn) -> Dim:
    dim: Dim = draw(st.sampled_from([N, M]))
    for _ in range(draw(st.integers(0, 4))):
        other = draw(st.one_of(st.integers(-9, 9), st.sampled_from([N, M])))
        change = draw(st.sampled_from([add, subtract, multiply, maximum]))
        dim = change(dim, other)
        if draw(st.booleans()):
            dim = floor_divide(dim, draw(st.integers(1, 5)))
    return dim


@given(dims(), st.integers(1, 100), st.integers(2, 7))
def test_no_value_lies_outside(dim: Dim, n: int, m: int) -> None:
    value = substitute(dim, {"n": n, "m": m})
    low, high = dim_bounds(dim)
    assert isinstance(value, int)
    assert low is None or low <= value
    assert high is None or value <= high
