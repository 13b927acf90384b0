"""Symbolic sizes: arithmetic, what is decided about them, what is refused."""

from math import prod

import numpy as np
import pytest

from relay_tune.ir.dim import Symbol
from relay_tune.tensor.size import (
    UndecidedSizeError,
    ceiling_quotient,
    dim_of,
    example_side,
    is_integer,
    is_multiple,
    nominal,
    size_value,
    surely_less,
    symbolic_size,
    without_constant,
)

N = symbolic_size(Symbol("n"), 64)
M = symbolic_size(Symbol("m"), 10)


def test_arithmetic_is_remembered_and_done_for_the_example() -> None:
    size = prod([N, 4, M]) + sum([N, 1]) - 2 * M
    assert str(size) == "4 * m * n - 2 * m + n + 1"
    assert nominal(size) == 64 * 4 * 10 + 64 + 1 - 20
    assert size_value(dim_of(size), {"n": 3, "m": 5}) == 3 * 4 * 5 + 3 + 1 - 10


def test_nothing_is_made_where_nothing_changes() -> None:
    assert N + 0 is N and 0 + N is N and N * 1 is N and 1 * N is N
    for number in (0.0, 1.0):
        with pytest.raises(UndecidedSizeError, match="which is no integer"):
            N + number
        with pytest.raises(UndecidedSizeError, match="which is no integer"):
            N * number


def test_what_has_no_symbol_is_a_plain_number() -> None:
    for size in ((N * 8) // N, N - N + 8, 8 * N // (2 * N) + 4, (N * 8) % 4 + 8):
        assert type(size) is int and size == 8


@pytest.mark.parametrize("divisor", [1, 4, 14])
def test_quotients_and_rests_for_all_sizes(divisor: int) -> None:
    sizes = (N // divisor, N % divisor, ceiling_quotient(N, divisor))
    for n in range(1, 40):
        found = [size_value(dim_of(size), {"n": n}) for size in sizes]
        assert found == [n // divisor, n % divisor, -(-n // divisor)]


def test_a_symbolic_size_is_no_number() -> None:
    assert not isinstance(N, int) and is_integer(N) and is_integer(3) and not is_integer(3.0)
    assert divmod(0, N) == (0, 0) and str(divmod(N * 6 + 1, 3)) == "(2 * n, 1)"


def test_equality_is_equality_for_all_sizes() -> None:
    assert N + M == M + N and N != M and N != 64 and N != 1
    assert len({N, 2 * N - N, M}) == 2


def test_comparisons_that_hold_whatever_the_sizes_are() -> None:
    assert N < N + 1 and N >= 1 and N * M > 0 and N // 8 * 8 <= N and N - N // 8 * 8 < 8
    assert ceiling_quotient(N, 16) > 0 and max(N, 1) == N and min(N, N + M) == N
    assert not surely_less(N, 10) and surely_less(-1, N - 1)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: N < 10,
        lambda: N > M,
        lambda: max(N, 2),
        lambda: int(N),
        lambda: 7 // N,
        lambda: (N + 1) // M,
        lambda: N / 2,
        lambda: 1 / N,
        lambda: float(N),
        lambda: N & 1,
        lambda: N >> 1,
        lambda: range(N),
        lambda: N**2,
        lambda: N.bit_length(),
        lambda: [1, 2][:N],
        lambda: [0] * N,
        lambda: np.empty(N),
        lambda: np.zeros((2, N)),
        lambda: divmod(7, N),
    ],
)
def test_what_depends_on_the_size_is_refused(ask: object) -> None:
    with pytest.raises(UndecidedSizeError):
        ask()  # type: ignore[operator]


def test_divisibility() -> None:
    assert is_multiple(N * M * 6, 3 * N) and is_multiple(0, N) and is_multiple(N, N)
    assert not is_multiple(N, 2) and not is_multiple(4, N)


def test_sizes_without_their_constants_are_equal_where_the_difference_is_a_number() -> None:
    assert without_constant(N * M + 5) == without_constant(M * N) == N * M
    assert without_constant(N + 1) == without_constant(N) == N
    assert without_constant(N // 2 - 3) == N // 2
    assert without_constant(7) == 0


def test_images_of_few_channels_are_large_in_the_example_and_others_small() -> None:
    sides = [example_side(channels) for channels in (1, 32, 48, 64, 128, 512)]
    assert sides == [128, 128, 104, 88, 28, 14]
