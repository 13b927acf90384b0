"""Winograd's minimal filtering of integers, in which nothing is rounded.

The interpolation points are those of Lavin and Gray (see `transforms`), 0, 1, -1 and for m = 4 also
2 and -2. The rows of their matrices are scaled to integers, and each result is a known multiple of
that of the convolution:

    m = 4:   24 y[0],  12 y[1],  6 y[2],  6 y[3]         along one dimension
    m = 2:    2 y[0],   2 y[1]

Of bytes, all transformed data and taps fit int16: in two dimensions with m = 4 no element of the
data is beyond 17,340 (68 * 255), and none of the taps beyond 12,495 (49 * 255). Sums are modulo
2^32, so are the transforms of results. A multiple by 2^s * q with an odd q is divided exactly by
multiplying by the inverse of q modulo 2^32 and shifting by s: that gives y where 2^s * y fits 32
bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay_tune.schedule.rewrites.winograd.transforms import (
    Filtering,
    Filterings,
    PlaneFiltering,
    data_2,
    result_2,
)
from relay_tune.tensor.element_at import element_at
from relay_tune.tensor.expression import Scalar, binary, literal

BITS = 32
"""Of the integers that sums are."""


def _data_4(d: Sequence[Scalar]) -> list[Scalar]:
    even, odd = d[4] - d[2] * 4, d[3] - d[1] * 4
    near, far = d[4] - d[2], (d[3] - d[1]) * 2
    return [
        (d[0] - d[2]) * 4 + near,
        even + odd,
        even - odd,
        near + far,
        near - far,
        (d[1] - d[3]) * 4 + (d[5] - d[3]),
    ]


def _result_4(t: Sequence[Scalar]) -> list[Scalar]:
    sum_1, sum_2 = t[1] + t[2], t[3] + t[4]
    difference_1, difference_2 = t[1] - t[2], t[3] - t[4]
    return [
        t[0] - sum_1 * 4 + sum_2,
        difference_2 - difference_1 * 2,
        sum_2 - sum_1,
        difference_2 * 2 - difference_1 + t[5],
    ]


INTEGER_FILTERINGS: Filterings = {
    (2, 3, 1): Filtering(
        2,
        2,
        4,
        np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]]),
        data_2,
        result_2,
        (2, 2),
    ),
    (4, 3, 1): Filtering(
        4,
        4,
        6,
        np.array([[6, 0, 0], [1, 1, 1], [1, -1, 1], [1, 2, 4], [1, -2, 4], [0, 0, 6]]),
        _data_4,
        _result_4,
        (24, 12, 6, 6),
    ),
}
"""By the outputs of a tile, the taps and the stride.

With a stride of 2 a tile takes 25 products of int16 for 36 of bytes, which are twice as fast or as
fast."""


def spare_bits(filtering: PlaneFiltering) -> int:
    """How many bits a result needs beside its own, until it is divided."""
    return sum(
        max((_shift(divisor) for divisor in each.divisors), default=0)
        for each in (filtering.rows, filtering.columns)
    )


def exactly_divided(
    multiple: Scalar, filtering: PlaneFiltering, at: tuple[Scalar, Scalar]
) -> Scalar:
    """The result of which the element `at` of a tile has the multiple."""
    most = spare_bits(filtering)
    rows, columns = ((each.divisors or (1,)) for each in (filtering.rows, filtering.columns))
    factors = [
        element_at([_factor(row * column, most) for column in columns], at[1]) for row in rows
    ]
    return binary("shr", multiple * element_at(factors, at[0]), most)


def _shift(divisor: int) -> int:
    """How often a number can be halved."""
    return (divisor & -divisor).bit_length() - 1


def _factor(divisor: int, shift: int) -> Scalar:
    """What makes 2^shift * y of divisor * y, modulo 2^32."""
    own = _shift(divisor)
    factor = (pow(divisor >> own, -1, 1 << BITS) << (shift - own)) % (1 << BITS)
    return literal(factor - (factor >> (BITS - 1) << BITS), "int32")
