"""What is decided about sizes before they are known."""

from __future__ import annotations

import pytest

from relay_tune.frontend.onnx_import.symbolic_rules import (
    greatest,
    is_at_least_zero,
    is_equal,
    is_less,
    least,
)
from relay_tune.ir.dim import UNKNOWN, Dim, Symbol
from relay_tune.ir.dim_arithmetic import add, floor_divide, multiply
from relay_tune.ir.dim_quotient import exact_quotient

N, M = Symbol("n"), Symbol("m")


@pytest.mark.parametrize(
    ("left", "right", "less", "equal"),
    [
        (N, add(N, 1), 1, 0),
        (N, -1, 0, 0),
        (N, 0, 0, UNKNOWN),
        (N, 1, UNKNOWN, UNKNOWN),
        (N, N, 0, 1),
        (N, M, UNKNOWN, UNKNOWN),
        (add(N, M), N, 0, UNKNOWN),
        (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
        (2, 3, 1, 0),
    ],
)
def test_comparisons(left: Dim, right: Dim, less: Dim, equal: Dim) -> None:
    assert is_less(left, right) == less
    assert is_equal(left, right) == equal


def test_an_empty_size_is_a_size() -> None:
    assert is_at_least_zero(N)
    assert not is_at_least_zero(add(N, -1))
    assert least(N, add(N, 2)) == N
    assert greatest(N, add(N, 2)) == add(N, 2)
    assert least(N, M) == UNKNOWN


@pytest.mark.parametrize(
    ("dividend", "divisor", "expected"),
    [
        (multiply(N, M), M, N),
        (multiply(multiply(N, M), 8), multiply(N, 4), multiply(M, 2)),
        (multiply(floor_divide(N, 4), M), M, floor_divide(N, 4)),
        (add(N, M), add(N, M), 1),
        (multiply(multiply(add(N, 1), add(M, 1)), 12), add(M, 1), multiply(add(N, 1), 12)),
        (add(multiply(add(N, 1), add(M, 1)), 1), add(M, 1), None),
        (multiply(add(N, -1), add(N, 1)), add(N, 1), add(N, -1)),
        (0, N, 0),
        (multiply(N, 3), 2, None),
        (N, M, None),
        (N, 0, None),
        (UNKNOWN, N, None),
    ],
)
def test_exact_quotients(dividend: Dim, divisor: Dim, expected: Dim | None) -> None:
    assert exact_quotient(dividend, divisor) == expected
