"""Fourier transforms of n = r c numbers by two transforms of r and of c numbers.

With n numbers as r rows of c columns, x[j c + m], and k = s + r t

    X[s + r t] = sum(m) w(c)^(m t) ( w(n)^(m s) ( sum(j) w(r)^(j s) x[j c + m] ) )

where w(n) = exp(-2 pi i / n): n (r + c) products in place of n^2. The inner sum is a product of the
transposed data [.., m, j] with a matrix [j, s], the outer one of the transposed results [.., s, m]
with a matrix [m, t]. J. W. Cooley and J. W. Tukey, "An Algorithm for the Machine
Calculation of Complex Fourier Series" (Math. Comp. 1965); D. H. Bailey, "FFTs in External or
Hierarchical Memory" (1990), calls it the four-step algorithm.

Where only a run knows n, it also finds r, the largest divisor that is at most the root of n.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from relay_tune.frontend.onnx_import.build import (
    Builder,
    dtype_of,
    is_known,
    known_integer,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass

LARGEST_DIVISOR = 512
"""Divisors up to this are tried when a run tells the length."""

WORTH = 4
"""One product of matrices takes less time than two of this part of its multiplications."""

Complex = tuple[Expr, Expr | None]
"""The real and the imaginary parts, None where all of them are 0."""


@dataclass(frozen=True)
class Transform:
    """Which sums a transform of the last axis computes.

    Attributes:
        number: how many elements are transformed, an int64 scalar.
        bins: how many results are wanted, as a dimension.
        bin_number: the same as an int64 scalar.
        is_inverse: whether the exponents are positive, and the sums divided by the number.
        is_real: whether real parts alone are wanted.
    """

    number: Expr
    bins: Dim
    bin_number: Expr
    is_inverse: bool = False
    is_real: bool = False


def divisor_of(length: int) -> int:
    """The largest divisor that is at most the root."""
    return next(each for each in range(isqrt(length), 0, -1) if length % each == 0)


def most_columns(length: int) -> int:
    """The larger one of the two divisors, whose square is the size of the largest table."""
    return length // divisor_of(length)


def runs_in_two_steps(length: int, bins: int) -> bool:
    """Whether a known length has divisors by which two steps are faster than one."""
    rows = divisor_of(length)
    columns = length // rows
    return WORTH * length * (rows + 2 * -(-bins // rows)) <= length * bins and columns > 1


def in_two_steps(build: Builder, real: Expr, imaginary: Expr | None, how: Transform) -> Complex:
    """The transform of the last axis."""
    rows = build.once(_rows(build, how.number))
    columns = build.once(build.call("floor_divide", how.number, rows))
    wave = _wave(build, how, dtype_of(real))
    j, m = _below(build, rows), _below(build, columns)
    above = build.call("add", how.bin_number, build.call("subtract", rows, build.constant(1)))
    t = _below(build, build.call("floor_divide", above, rows))

    inner = _looked_up(build, wave, _product(build, _outer(build, j, j), rows, columns))
    twiddle = _looked_up(build, wave, _outer(build, m, j))
    outer = _looked_up(build, wave, _product(build, _outer(build, m, t), columns, rows))

    if how.is_inverse:  # by parts: float16 has neither n nor its inverse where n is large
        inner, twiddle = _divided(build, inner, rows), _divided(build, twiddle, columns)
    data = [_columns(build, each, j, m) for each in (real, imaginary) if each is not None]
    first = _multiplied(build, "nn.matmul", (data[0], data[1] if data[1:] else None), inner)
    a, b = _multiplied(build, "multiply", first, twiddle)
    assert b is not None
    turned = (_transposed(build, a), _transposed(build, b))
    second = _multiplied(build, "nn.matmul", turned, outer, is_real=how.is_real)
    found = [_in_a_row(build, each, how) for each in second if each is not None]
    return found[0], found[1] if found[1:] else None


def _rows(build: Builder, number: Expr) -> Expr:
    """The largest divisor that is at most the root, an int64 scalar."""
    if is_known(number):
        return build.constant(divisor_of(known_integer(number, "the length")), "int64")
    tried = np.arange(1, LARGEST_DIVISOR + 1)
    divisors, one = build.constant(tried), build.constant(1)
    rest = build.call("floor_mod", number, divisors)
    divides = build.call("equal", rest, build.constant(0))
    is_small = build.call("less_equal", build.constant(tried * tried), number)
    fits = build.call("logical_and", divides, is_small)
    return build.call("max", build.call("where", fits, divisors, one))


def _below(build: Builder, number: Expr) -> Expr:
    """0, 1, .. below a number."""
    if is_known(number):
        return build.constant(np.arange(known_integer(number, "a length")))
    return build.once(range_at_run_time(build, build.constant(0), number))


def _wave(build: Builder, how: Transform, dtype: str) -> tuple[Expr, Expr]:
    """The powers of exp(-2 pi i / n), exact to the element type; n is their period."""
    whole = build.call("cast", how.number, dtype="float64")
    share = build.call(
        "divide", build.call("cast", _below(build, how.number), dtype="float64"), whole
    )
    turn = 2 * np.pi if how.is_inverse else -2 * np.pi
    angle = build.call("multiply", share, build.constant(turn, "float64"))
    cosine, sine = (
        build.once(build.call("cast", build.call(name, angle), dtype=dtype))
        for name in ("cos", "sin")
    )
    return cosine, sine


def _outer(build: Builder, left: Expr, right: Expr) -> Expr:
    """The products of two vectors, [left, right]."""
    return build.call("multiply", build.call("expand_dims", left, axis=1), right)


def _product(build: Builder, turns: Expr, period: Expr, step: Expr) -> Expr:
    return build.call("multiply", build.call("floor_mod", turns, period), step)


def _looked_up(build: Builder, wave: tuple[Expr, Expr], powers: Expr) -> tuple[Expr, Expr]:
    cosine, sine = (build.call("take", each, powers, axis=0, mode="fast") for each in wave)
    return cosine, sine


def _divided(build: Builder, numbers: tuple[Expr, Expr], divisor: Expr) -> tuple[Expr, Expr]:
    scale = build.call("cast", divisor, dtype=dtype_of(numbers[0]))
    real, imaginary = (build.call("divide", each, scale) for each in numbers)
    return real, imaginary


def _columns(build: Builder, data: Expr, j: Expr, m: Expr) -> Expr:
    """x[.., j c + m] as [.., m, j]."""
    axis = rank_of(data) - 1
    if is_known(j) and is_known(m):
        rows, columns = (static_dim(shape_of(each)[0]) for each in (j, m))
        shape = (*(0,) * axis, rows, columns)
        return _transposed(build, build.call("reshape", data, newshape=shape))
    count = build.call("take", build.call("shape_of", m, dtype="int64"), build.constant(0), axis=0)
    begin = build.call("multiply", j, count)
    positions = build.call("add", build.call("expand_dims", m, axis=1), begin)
    return build.call("take", data, positions, axis=axis, mode="fast")


def _transposed(build: Builder, data: Expr) -> Expr:
    """With its last two axes exchanged."""
    axis = rank_of(data) - 1
    return build.call("transpose", data, axes=(*range(axis - 1), axis, axis - 1))


def _multiplied(
    build: Builder, product: str, left: Complex, right: Complex, *, is_real: bool = False
) -> Complex:
    """A product of complex numbers, of matrices or element by element."""
    (a, b), (c, d) = left, right

    def sum_of(sign: str, *factors: tuple[Expr | None, Expr | None]) -> Expr | None:
        terms = [build.call(product, x, y) for x, y in factors if x is not None and y is not None]
        return build.call(sign, *terms) if len(terms) > 1 else (terms[0] if terms else None)

    real = sum_of("subtract", (a, c), (b, d))
    assert real is not None
    return real, None if is_real else sum_of("add", (a, d), (b, c))


def _in_a_row(build: Builder, data: Expr, how: Transform) -> Expr:
    """[.., s, t] as [.., k], without what is behind the wanted results."""
    axis = rank_of(data) - 2
    row = build.call("reshape", _transposed(build, data), newshape=(*(0,) * axis, -1))
    if isinstance(how.bins, int) and is_known(how.number):
        return part(build, row, axis, 0, how.bins)
    wanted = _below(build, how.bin_number)
    if not isinstance(how.bins, UnknownDim):
        wanted = build.with_shape(wanted, (how.bins,))
    return build.call("take", row, wanted, axis=axis, mode="fast")
