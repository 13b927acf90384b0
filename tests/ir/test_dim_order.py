"""What is known of sizes for all values of their symbols."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.ir.dim import Dim, Symbol
from relay_tune.ir.dim_arithmetic import (
    add,
    floor_divide,
    maximum,
    minimum,
    multiply,
    substitute,
    subtract,
)
from relay_tune.ir.dim_order import is_never_negative

N = Symbol("n")


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (subtract(N, 1), True),
        (subtract(N, 2), False),
        (subtract(Symbol("n", 3), 3), True),
        (subtract(maximum(N, 4), 4), True),
        (subtract(minimum(N, 4), 1), True),
        (subtract(minimum(N, 4), 2), False),
        (subtract(4, minimum(N, 4)), True),
        (subtract(N, minimum(N, 4)), True),
        (subtract(add(N, 1), multiply(2, maximum(floor_divide(N, 2), 1))), True),
        (subtract(N, multiply(2, maximum(floor_divide(N, 2), 1))), False),
        (subtract(floor_divide(add(N, 3), 4), floor_divide(add(N, 2), 4)), True),
        (subtract(floor_divide(add(N, 2), 4), floor_divide(add(N, 3), 4)), False),
        (subtract(floor_divide(add(N, 3), 4), floor_divide(add(N, 2), 3)), False),
    ],
)
def test_signs_of_sizes(dim: Dim, expected: bool) -> None:
    assert is_never_negative(dim) is expected


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 20), st.integers(1, 20))
def test_what_is_never_negative_is_not(data: st.DataObject, n: int, m: int) -> None:
    dim: Dim = data.draw(st.sampled_from([N, Symbol("m")]))
    for _ in range(data.draw(st.integers(1, 6))):
        other = data.draw(st.sampled_from([N, Symbol("m"), -3, -1, 2, 5]))
        operation = data.draw(st.sampled_from([add, subtract, maximum, minimum, floor_divide]))
        if operation is floor_divide:
            other = data.draw(st.integers(1, 4))
        dim = operation(dim, other)
    value = substitute(dim, {"n": n, "m": m})
    assert isinstance(value, int)
    assert value >= 0 or not is_never_negative(dim)
